package proxy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/proxy"
)

func TestParseHost(t *testing.T) {
	t.Parallel()
	const name, full = "write a name such as api.example.com", "is no name of a host"
	tests := []struct{ text, want, wrong string }{
		{"api.example.com", "api.example.com", ""},
		{"API.Example.com.", "api.example.com", ""},
		{"*.example.com", "*.example.com", ""},
		{"*.example.com:8443", "*.example.com:8443", ""},
		{"localhost:3000", "localhost:3000", ""},
		{"127.0.0.1:80", "127.0.0.1:80", ""},
		{"[::1]:80", "[::1]:80", ""},
		{"::1", "::1", ""},
		{"::ffff:10.0.0.1", "10.0.0.1", ""},
		{"a_b.example", "a_b.example", ""},
		{"xn--bcher-kva.example", "xn--bcher-kva.example", ""},
		{"", "", full},
		{"*", "", `has a "*" that is not the whole first part`},
		{"*.com", "", "every host of a top-level domain; write a name such as *.example.com"},
		{"a.*.b", "", `has a "*"`},
		{"a*.example.com", "", `has a "*"`},
		{"a b", "", full},
		{"a\x00.example.com", "", full},
		{"a%2eexample.com", "", full},
		{"exämple.com", "", "letters beyond ASCII"},
		{"аpi.example.com", "", "letters beyond ASCII"},
		{"a..b", "", full},
		{"a.b..", "", full},
		{".example.com", "", full},
		{"-a.b", "", full},
		{"a:0", "", "no port from 1 to 65535"},
		{"a:99999", "", "no port from 1 to 65535"},
		{"a:+80", "", "no port from 1 to 65535"},
		{"a:080", "", "no port from 1 to 65535"},
		{"a:", "", "no port from 1 to 65535"},
		{"https://user:pw@a.b:8443/x?y", "", `is a whole address; write only its host: "a.b:8443"`},
		{"http://", "", `is a whole address`},
		{"a.b/c", "", `has a '/', so it is more than a host`},
		{"user@a.b", "", `has a '@', so it is more than a host`},
		{"*.10.0.0.1", "", "write 10.0.0.1"},
		{"127.1", "", full},
		{"2130706433", "", full},
		{"0x7f.0x1", "", full},
		{"fe80::1%eth0", "", full},
		{"[[::1]]", "", full},
		{"0.0.0.0", "", "is the address of no host"},
		{"::", "", "is the address of no host"},
		{"224.0.0.1", "", "is the address of no host"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			h, err := proxy.ParseHost(tt.text)
			if tt.wrong != "" {
				require.ErrorContains(t, err, tt.wrong)
				if tt.wrong == full {
					assert.ErrorContains(t, err, name, "it says what to write")
				}
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, h.String())
			again, err := proxy.ParseHost(h.String())
			require.NoError(t, err)
			assert.Equal(t, h, again)
		})
	}
}

func FuzzParseHost(f *testing.F) {
	for _, text := range []string{"api.example.com:8443", "*.example.com", "[::1]:80", "a\x00.b", "http://a@b/"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := proxy.ParseHost(text)
		if err != nil {
			return
		}
		again, err := proxy.ParseHost(h.String())
		require.NoError(t, err)
		assert.Equal(t, h, again)
		assert.Regexp(t, `^(\*\.)?[a-z0-9_.:\[\]-]+$`, h.String())
	})
}
