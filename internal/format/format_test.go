package format_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/format"
)

func TestHas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ yes, no []string }{
		"date-time": {[]string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.25+02:00"}, []string{"", "2026-01-02", "2026-01-02t03:04:05z", "2026-01-02T24:00:00Z", "2026-02-30T00:00:00Z", "2026-01-02T03:04:05", "2026-01-02T3:04:05Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05+24:00", "2026-01-02T03:04:60Z"}},
		"date":      {[]string{"2026-01-02", "2024-02-29"}, []string{"", "2026-1-2", "2025-02-29", "2026-01-02T00:00:00Z"}},
		"time":      {[]string{"03:04:05Z", "03:04:05.5-01:00"}, []string{"", "03:04", "03:04:05", "24:00:00Z"}},
		"email":     {[]string{"a@b.example", "a.b+c@d"}, []string{"", "a", "@b", "a@", "a..b@c", ".a@b", "a b@c", "a@b c", `"a b"@c`, "a@[192.0.2.1]", strings.Repeat("a", 65) + "@b"}},
		"hostname":  {[]string{"a", "a.example", "1.2"}, []string{"", "-a", "a-", "a..b", "a_b", "a.", strings.Repeat("a", 64), "é.example"}},
		"ipv4":      {[]string{"192.0.2.1"}, []string{"", "192.0.2", "192.0.2.256", "192.0.02.1", "::ffff:192.0.2.1", "+1.2.3.4"}},
		"ipv6":      {[]string{"::1", "2001:db8::192.0.2.1"}, []string{"", "192.0.2.1", "fe80::1%eth0", ":::"}},
		"uri":       {[]string{"https://a.example/b?c#d", "mailto:a@b", "http://[::1]/"}, []string{"", "a.example", "/a", "http://a/b c", "http://a/%zz", "http://a/é", `http://a/"`}},
		"uuid":      {[]string{"123e4567-e89b-12d3-A456-426614174000"}, []string{"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g"}},
	}
	for _, name := range format.Names() {
		for _, s := range tests[name].yes {
			assert.True(t, format.Has(s, name), "%s %q", name, s)
		}
		for _, s := range append(tests[name].no, "\n") {
			assert.False(t, format.Has(s, name), "%s %q", name, s)
		}
		assert.NotEmpty(t, tests[name].yes, name)
	}
	assert.Len(t, tests, len(format.Names()))
	assert.False(t, format.Has("a", "url"), "no such format")
}
