package args

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// MinLen refuses the string just read if it has fewer than n characters (runes).
func (d *Decoder) MinLen(s string, n int) {
	if utf8.RuneCountInString(s) < n {
		d.Refuse(fmt.Sprintf("must have at least %d %s", n, plural(n, "character")))
	}
}

// MaxLen refuses the string just read if it has more than n characters (runes).
func (d *Decoder) MaxLen(s string, n int) {
	if len(s) > n && utf8.RuneCountInString(s) > n {
		d.Refuse(fmt.Sprintf("must have at most %d %s", n, plural(n, "character")))
	}
}

// Pattern refuses the string just read if the expression matches nowhere in it.
func (d *Decoder) Pattern(s string, re *regexp.Regexp) {
	if !re.MatchString(s) {
		d.Refuse("must match " + re.String())
	}
}

// Format refuses the string just read if it has not the named format of JSON
// Schema: date-time, date, time, email, hostname, ipv4, ipv6, uri or uuid.
func (d *Decoder) Format(s, format string) {
	if d.err == nil && !hasFormat(s, format) {
		d.Refuse("must have the format " + format)
	}
}

var (
	emailForm    = regexp.MustCompile(`^[^\s@<>"]+@[^\s@<>"]+$`)
	hostnameForm = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
	uuidForm     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

func hasFormat(s, format string) bool {
	switch format {
	case "date-time":
		return new(time.Time).UnmarshalText([]byte(s)) == nil
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "time":
		return new(time.Time).UnmarshalText([]byte("2006-01-02T"+s)) == nil
	case "email":
		return emailForm.MatchString(s)
	case "hostname":
		return len(s) <= 253 && hostnameForm.MatchString(s)
	case "ipv4":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && !strings.Contains(s, "%")
	case "uri":
		u, err := url.Parse(s)
		return err == nil && u.IsAbs()
	case "uuid":
		return uuidForm.MatchString(s)
	}
	return false
}
