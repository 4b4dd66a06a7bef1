package proxy

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// place says where an address leads.
type place int

const (
	public  place = iota
	private       // a private network, or a name's way around one
	here          // this machine
	never         // no host, or the place where clouds keep their secrets
)

// String says it in a sentence: "it leads to 10.0.0.1, …".
func (p place) String() string {
	return [...]string{"a public address", "an address of a private network", "an address of this machine", "an address that no name may lead to"}[p]
}

// prefixes returns networks by what they are. Go's own predicates cover the rest.
func prefixes(p place) []string {
	if p == private {
		return []string{"100.64.0.0/10", "198.18.0.0/15", "192.0.0.0/24", "64:ff9b:1::/48", "fec0::/10"}
	}
	return []string{
		"0.0.0.0/8", "240.0.0.0/4", "192.88.99.0/24", "2001::/32", "100::/64",
		// Services of clouds for their machines, beside 169.254.0.0/16, which is link-local: two of Amazon's form, Google's, Alibaba's,
		// Oracle's and Azure's.
		"fd00:ec2::/32", "fd20:ce::254/128", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32",
	}
}

func in(a netip.Addr, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return netip.MustParsePrefix(p).Contains(a) })
}

// placeOf returns where an address leads; own are the addresses of this machine. An IPv6 address that carries one of IPv4 leads to that.
func placeOf(a netip.Addr, own []netip.Addr) place {
	a = a.WithZone("").Unmap()
	switch {
	case a.IsLoopback():
		return here
	case !a.IsValid(), a.IsUnspecified(), a.IsMulticast(), a.IsLinkLocalUnicast(), in(a, prefixes(never)):
		return never
	case slices.Contains(own, a):
		return here
	case a.IsPrivate(), in(a, prefixes(private)):
		return private
	}
	if inner, ok := carried(a); ok {
		return placeOf(inner, own)
	}
	return public
}

// carried returns the IPv4 address to which a translator or tunnel takes what is sent to an IPv6 address: NAT64, 6to4, ISATAP, and the old
// form ::a.b.c.d.
func carried(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case in(a, []string{"64:ff9b::/96", "::/96"}), string(b[9:12]) == "\x00\x5e\xfe" && b[8]&^2 == 0:
		return last, true
	case in(a, []string{"2002::/16"}):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return a, false
}

// reachable reports whether a target may be reached at an address, and where the address leads. A public name that leads into a private
// network is how an attacker who owns the name gets there. A name that is local by its form was named by the person for that. Any address
// can be named itself.
func reachable(hosts []Host, t target, a netip.Addr, own []netip.Addr) (place, bool) {
	where := placeOf(a, own)
	if _, named := find(hosts, a.WithZone("").Unmap().String(), t.port); named {
		return where, true
	}
	switch where {
	case public:
		return where, true
	case private:
		return where, local(t.name)
	case here:
		return where, a.Unmap().IsLoopback() && (t.name == "localhost" || strings.HasSuffix(t.name, ".localhost")) || !a.Unmap().IsLoopback() && local(t.name)
	}
	return where, false
}

// local reports whether the name is one of a private network by its form: nobody can own it in public.
func local(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	for _, end := range []string{".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".private", ".localdomain"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// machine returns the addresses of this machine's interfaces.
func machine() (own []netip.Addr) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().WithZone("").Unmap())
		}
	}
	return own
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}
