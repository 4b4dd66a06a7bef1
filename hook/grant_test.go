package hook_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// normal returns a grant that stands for all that allow the same.
func normal(g hook.Grant) hook.Grant {
	if g.Void {
		return hook.Grant{Void: true}
	}
	if g.Root != "" {
		g.Root = path.Clean(g.Root)
	}
	return g
}

// drawAnyGrant also draws void grants.
func drawAnyGrant(t *rapid.T) hook.Grant {
	g := drawGrant(t)
	g.Void = rapid.IntRange(0, 9).Draw(t, "void") == 0
	return g
}

func below(p, dir string) bool {
	if p, dir = path.Clean(p), path.Clean(dir); dir == "/" {
		return strings.HasPrefix(p, "/")
	}
	return p == dir || strings.HasPrefix(p, dir+"/")
}

func TestGrantIntersect(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(t *rapid.T) {
		a, b, c := drawAnyGrant(t), drawAnyGrant(t), drawAnyGrant(t)
		ab := a.Intersect(b)
		require.Equal(t, normal(ab), normal(b.Intersect(a)), "commutative")
		require.Equal(t, normal(ab.Intersect(c)), normal(a.Intersect(b.Intersect(c))), "associative")
		require.Equal(t, normal(a), normal(a.Intersect(a)), "idempotent")
		require.Equal(t, normal(a), normal(a.Intersect(hook.Grant{})), "the zero grant adds no limit")
		for _, g := range []hook.Grant{a, b} {
			require.True(t, !g.Void || ab.Void)
			require.True(t, !g.ReadOnly || ab.ReadOnly)
			require.True(t, !g.NoNetwork || ab.NoNetwork)
			require.True(t, g.Timeout == 0 || ab.Timeout > 0 && ab.Timeout <= g.Timeout)
			require.True(t, g.MaxOutput == 0 || ab.MaxOutput > 0 && ab.MaxOutput <= g.MaxOutput)
			if g.Root != "" && !ab.Void {
				require.True(t, ab.Root != "" && below(ab.Root, g.Root), "%q within %q", ab.Root, g.Root)
			}
			require.True(t, g.Root == "" || ab.Root != "", "a root never turns into no limit, not even in a void grant")
		}
	})
}

func TestGrantRoots(t *testing.T) {
	cases := []struct {
		a, b string
		want hook.Grant
	}{
		{"", "", hook.Grant{}},
		{"/a", "", hook.Grant{Root: "/a"}},
		{"/a", "/a/b", hook.Grant{Root: "/a/b"}},
		{"/", "/a", hook.Grant{Root: "/a"}},
		{"/a/", "/a", hook.Grant{Root: "/a"}},
		{"/a", "/ab", hook.Grant{Root: "/a", Void: true}},
		{"/a/../b", "/a", hook.Grant{Root: "/a", Void: true}},
		{"/b", "/c", hook.Grant{Root: "/b", Void: true}},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, hook.Grant{Root: c.a}.Intersect(hook.Grant{Root: c.b}), "%q and %q", c.a, c.b)
		assert.Equal(t, c.want, hook.Grant{Root: c.b}.Intersect(hook.Grant{Root: c.a}), "%q and %q", c.b, c.a)
	}
	got := hook.Grant{Timeout: time.Second}.Intersect(hook.Grant{MaxOutput: 7})
	assert.Equal(t, hook.Grant{Timeout: time.Second, MaxOutput: 7}, got, "0 is no bound")
}
