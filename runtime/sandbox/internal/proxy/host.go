// Package proxy is the way from a sandbox to named hosts: an HTTP proxy that admits these and no others.
//
// A host is admitted by its name, in one plain form of letters, digits, hyphens and dots; see [ParseHost]. The proxy looks the name up
// itself, checks the address and connects to that address, so a name cannot lead elsewhere after the check. A name that was not admitted
// is never looked up: a query to its name server would carry data out.
//
// The first bytes of a tunnel are read, and not changed. If they begin TLS, the name in them must be admitted too, or absent; a tunnel to
// port 443 must begin with TLS, unless the port was named. What TLS hides stays hidden: a server for many names, such as that of a content
// network, can be asked for another one by the header Host, or by an encrypted name. Who admits such a host trusts its operator.
//
// If this process itself has a proxy (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), hosts are reached through it. That one looks the names up, so
// addresses are not checked then, only names.
package proxy

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Host is a host that may be reached. The zero Host is none; [ParseHost] makes one.
type Host struct {
	// name is in the form of plain; of a wildcard, what follows "*.".
	name string
	// port is 0 for 80 and 443.
	port int
	wild bool
}

// ParseHost reads "api.example.com" for the ports 80 and 443, "api.example.com:8443" for this port, "*.example.com" for all names below
// example.com but not itself, or an IP address, alone or with a port. An error says what to write instead.
func ParseHost(text string) (Host, error) {
	name, h := text, Host{}
	if _, rest, ok := strings.Cut(text, "://"); ok {
		authority := rest[:strings.IndexAny(rest+"/", "/?#")]
		return Host{}, wrong(text, "is a whole address; write only its host: %q", authority[strings.LastIndexByte(authority, '@')+1:])
	}
	if host, port, err := net.SplitHostPort(text); err == nil {
		n, ok := portOf(port)
		if !ok {
			return Host{}, wrong(text, "has no port from 1 to 65535 behind the colon; write a name such as api.example.com or api.example.com:8443")
		}
		name, h.port = host, n
	}
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		name, h.wild = rest, true
	}
	clean, ok := plain(name)
	if !ok {
		return Host{}, wrong(text, "%s; write a name such as api.example.com, api.example.com:8443 or *.example.com", fault(name))
	}
	h.name = clean
	a, err := netip.ParseAddr(clean)
	switch {
	case err == nil && h.wild:
		return Host{}, wrong(text, "means the names below an address, which has none; write %s", clean)
	case err == nil && (a.IsUnspecified() || a.IsMulticast()):
		return Host{}, wrong(text, "is the address of no host; write a name such as api.example.com, or the address of one host")
	case h.wild && !strings.Contains(clean, "."):
		return Host{}, wrong(text, "would be every host of a top-level domain; write a name such as *.example.%s", clean)
	}
	return h, nil
}

func wrong(text, format string, args ...any) error {
	return fmt.Errorf("%q "+format, append([]any{text}, args...)...)
}

// fault says why a text is no name of a host.
func fault(name string) string {
	for _, r := range name {
		switch {
		case r > '~':
			return "has letters beyond ASCII, which can look like others (such a name has a form that begins with xn--)"
		case r == '*':
			return `has a "*" that is not the whole first part`
		case r == '/' || r == '@' || r == '?' || r == '#':
			return fmt.Sprintf("has a %q, so it is more than a host", r)
		}
	}
	return "is no name of a host (letters, digits, hyphens and dots) and no full address"
}

// portOf reads a port in its only form, "443".
func portOf(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 65535 && strconv.Itoa(n) == text
}

// String writes the host as ParseHost reads it.
func (h Host) String() string {
	name := h.name
	if h.wild {
		name = "*." + name
	}
	if h.port == 0 {
		return name
	}
	return net.JoinHostPort(name, strconv.Itoa(h.port))
}

// plain returns the name in the only form that is compared: letters, digits, hyphens, underscores and dots, in lower case, or an IP
// address. Anything else is no name: a NUL byte, an escape or a letter that looks like another could be read differently by who resolves it.
func plain(name string) (string, bool) {
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().String(), a.Zone() == ""
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if name == "" || len(name) > 253 {
		return "", false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return "", false
		}
		for i := range len(label) {
			c := label[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return "", false
			}
		}
	}
	// A last label of digits makes an address for some resolvers: 127.1, 0x7f.1, 2130706433.
	last := name[strings.LastIndexByte(name, '.')+1:]
	return name, strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// admits reports whether the host admits a name, which is plain, and a port.
func (h Host) admits(name string, port int) bool {
	if h.port == 0 && port != 80 && port != 443 || h.port != 0 && h.port != port {
		return false
	}
	if h.wild {
		return strings.HasSuffix(name, "."+h.name)
	}
	return h.name != "" && h.name == name
}

// target is what a program asked for and may have, in plain form.
type target struct {
	name string
	port int
	// exact: the port was named by the grant.
	exact bool
}

// find returns the target of a name, which is plain, and a port, if a host admits it.
func find(hosts []Host, name string, port int) (t target, ok bool) {
	t = target{name: name, port: port}
	for _, h := range hosts {
		if h.admits(name, port) {
			ok, t.exact = true, t.exact || h.port != 0
		}
	}
	return t, ok
}

// host returns the smallest grant that admits the target.
func (t target) host() Host {
	if t.port == 80 || t.port == 443 {
		return Host{name: t.name}
	}
	return Host{name: t.name, port: t.port}
}

func (t target) address() string { return net.JoinHostPort(t.name, strconv.Itoa(t.port)) }

// parseTarget reads an authority, "api.example.com:443", in which the port may be missing if there is a standard one. It takes nothing that
// is not in plain form.
func parseTarget(authority string, standard int) (t target, ok bool) {
	t = target{name: authority, port: standard}
	host, port, err := net.SplitHostPort(authority)
	switch {
	case err == nil:
		if t.port, ok = portOf(port); !ok {
			return t, false
		}
		t.name = host
	case strings.HasPrefix(authority, "[") && strings.HasSuffix(authority, "]"):
		t.name = authority[1 : len(authority)-1]
	}
	t.name, ok = plain(t.name)
	return t, ok && t.port != 0
}
