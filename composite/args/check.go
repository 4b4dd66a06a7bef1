package args

import (
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/format"
)

// MinLen refuses the last string if it has fewer than n characters (runes).
func (d *Decoder) MinLen(s string, n int) {
	if utf8.RuneCountInString(s) < n {
		d.Refuse(fmt.Sprintf("must have at least %d %s", n, plural(n, "character")))
	}
}

// MaxLen refuses the last string if it has more than n characters (runes).
func (d *Decoder) MaxLen(s string, n int) {
	if len(s) > n && utf8.RuneCountInString(s) > n {
		d.Refuse(fmt.Sprintf("must have at most %d %s", n, plural(n, "character")))
	}
}

// Pattern refuses the last string if the expression matches nowhere in it.
func (d *Decoder) Pattern(s string, re *regexp.Regexp) {
	if !re.MatchString(s) {
		d.Refuse("must match " + re.String())
	}
}

// Format refuses the last string if it does not have the named format of JSON
// Schema: date-time, date, time, email, hostname, ipv4, ipv6, uri or uuid.
func (d *Decoder) Format(s, name string) {
	if d.err == nil && !format.Has(s, name) {
		d.Refuse("must have the format " + name)
	}
}
