package proxy_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

func TestPlaceOfAnAddress(t *testing.T) {
	t.Parallel()
	const public, private = "a public address", "an address of a private network"
	const here, never = "an address of this machine", "an address that no name may lead to"
	own := netip.MustParseAddr("203.0.113.99")
	for address, want := range map[string]string{
		"203.0.113.7": public, "8.8.8.8": public, "2606:4700::1111": public, "::ffff:8.8.8.8": public, "64:ff9b::8.8.8.8": public,
		"2002:808:808::1": public, "2a00:1450:4001:800::200e": public, "2a02::5efe:8.8.8.8": public,

		"10.0.0.1": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.1.1": private, "100.64.0.1": private, "198.18.0.1": private,
		"192.0.0.1": private, "fc00::1": private, "fd12:3456::1": private, "fec0::1": private, "64:ff9b:1::1": private, "::ffff:10.0.0.1": private,
		"64:ff9b::10.0.0.1": private, "2002:a00:1::1": private, "2a02::5efe:10.0.0.1": private, "2a02::200:5efe:10.0.0.1": private, "::10.0.0.1": private,

		"127.0.0.1": here, "127.255.255.254": here, "::1": here, "::ffff:127.0.0.1": here, "64:ff9b::127.0.0.1": here, "2002:7f00:1::": here,
		"203.0.113.99": here, "::ffff:203.0.113.99": here, "64:ff9b::203.0.113.99": here, "::127.0.0.1": here,

		"0.0.0.0": never, "0.1.2.3": never, "::": never, "::ffff:0.0.0.0": never, "169.254.169.254": never, "::ffff:169.254.169.254": never,
		"64:ff9b::169.254.169.254": never, "2002:a9fe:a9fe::": never, "fe80::1": never, "224.0.0.1": never, "ff02::1": never, "255.255.255.255": never,
		"240.0.0.1": never, "2001:0:5ef5:79fd::1": never, "100::1": never, "fd00:ec2::254": never, "fd20:ce::254": never, "100.100.100.200": never,
		"192.0.0.192": never, "168.63.129.16": never, "fe80::1%eth0": never,
	} {
		assert.Equal(t, want, proxy.PlaceForTest(netip.MustParseAddr(address), own), address)
	}
}
