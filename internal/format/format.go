// Package format checks strings for formats of JSON Schema. The generator uses it for defaults and the decoder for arguments, so
// that both agree.
package format

import (
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Names are the formats, in the order of the manual.
func Names() []string {
	return []string{"date-time", "date", "time", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
}

var (
	dateTimeForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$`)
	emailForm    = regexp.MustCompile("^[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*$")
	hostnameForm = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`)
	uuidForm     = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	uriForm      = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:([a-zA-Z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9a-fA-F]{2})*$`)
)

// Has reports whether s has the named format; false for a name that is not in [Names].
func Has(s, name string) bool {
	switch name {
	case "date-time":
		return DateTime(s)
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "time":
		return DateTime("2006-01-02T" + s)
	case "email":
		return email(s)
	case "hostname":
		return hostname(s)
	case "ipv4":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == "" && !strings.Contains(s, "%")
	case "uri":
		_, err := url.Parse(s)
		return err == nil && uriForm.MatchString(s)
	case "uuid":
		return uuidForm.MatchString(s)
	}
	return false
}

// DateTime reports whether s is a time of RFC 3339. Package time alone reads more: hours of one digit, fractions behind a comma,
// offsets of a day and longer. It reads neither leap seconds nor T and Z in lower case, so neither do we.
func DateTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil && dateTimeForm.MatchString(s)
}

// hostname is RFC 1123 section 2.1, without the dot of the root.
func hostname(s string) bool { return len(s) <= 253 && hostnameForm.MatchString(s) }

// email is a dot-atom and a host name (RFC 5321 section 4.1.2). It refuses the standard's quoted local parts and addresses in
// brackets, which are not in use.
func email(s string) bool {
	at := strings.LastIndexByte(s, '@')
	return at > 0 && at <= 64 && len(s) <= 254 && emailForm.MatchString(s[:at]) && hostname(s[at+1:])
}
