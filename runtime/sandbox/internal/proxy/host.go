// Package proxy is the way from a sandbox to named hosts: an HTTP proxy that admits these and no others.
package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Host is a host that may be reached. The zero Host is none; [ParseHost] makes one.
type Host struct {
	// name is in lower case, without a dot at its end; of a wildcard, what follows "*.".
	name string
	// port is 0 for 80 and 443.
	port int
	wild bool
}

// ParseHost reads "api.example.com", "api.example.com:8443", "*.example.com" for its subdomains, or an IP address.
func ParseHost(text string) (Host, error) {
	const form = `write a name such as api.example.com, api.example.com:8443 or *.example.com`
	var h Host
	name := text
	if host, port, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return Host{}, fmt.Errorf("%q is no port; %s", port, form)
		}
		name, h.port = host, n
	}
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		name, h.wild = rest, true
		if !strings.Contains(name, ".") {
			return Host{}, fmt.Errorf("%q would be all hosts of a top-level domain; %s", text, form)
		}
	}
	clean, ok := plain(name)
	if !ok {
		return Host{}, fmt.Errorf("%q is no name of a host; %s", text, form)
	}
	if _, err := netip.ParseAddr(clean); err == nil && h.wild {
		return Host{}, fmt.Errorf("%q: an address has no subdomains; %s", text, form)
	}
	h.name = clean
	return h, nil
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

// plain returns the name in the only form that is compared: letters, digits, hyphens and dots, in lower case, or an IP address. Anything
// else is no name: a NUL byte, an escape or a letter that looks like another could be read differently by who resolves it.
func plain(name string) (string, bool) {
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
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

// admits reports whether the host admits a name and a port, which are plain.
func (h Host) admits(name string, port int) bool {
	if h.port == 0 && port != 80 && port != 443 || h.port != 0 && h.port != port {
		return false
	}
	if h.wild {
		return strings.HasSuffix(name, "."+h.name)
	}
	return h.name == name
}

// errPrivate is the error for a name whose addresses may not be reached.
var errPrivate = errors.New("it leads to an address of this machine or of a private network")

// reachable reports whether an address may be reached under a name that was admitted. A public name that leads into a private network is
// how an attacker who owns the name gets there; one that is local by its form was named by the person for that. The place where clouds
// keep their secrets has to be named as an address.
func (h Host) reachable(a netip.Addr) bool {
	a = a.Unmap()
	if own, err := netip.ParseAddr(h.name); err == nil {
		return own == a
	}
	switch {
	case a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast(), a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return false
	case a.IsLoopback():
		return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
	case a.IsPrivate(), in(a, "100.64.0.0/10", "198.18.0.0/15", "64:ff9b::/96", "2002::/16", "64:ff9b:1::/48", "0.0.0.0/8", "192.0.0.0/24"):
		return h.local()
	}
	return true
}

// local reports whether the name is one of a private network by its form.
func (h Host) local() bool {
	if !strings.Contains(h.name, ".") {
		return true
	}
	for _, end := range []string{".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".private", ".localdomain"} {
		if strings.HasSuffix("."+h.name, end) {
			return true
		}
	}
	return false
}

func in(a netip.Addr, prefixes ...string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}
