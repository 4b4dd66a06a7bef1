package tenant_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/tenant"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		project string
		want    tenant.ID
	}{
		{"", tenant.ID{}},
		{"/srv/harbour", tenant.ID{Root: "/srv/harbour"}},
		{"/srv/a:/b", tenant.ID{Root: "/srv/a:/b"}},
		{"alice:/srv/harbour", tenant.ID{Owner: "alice", Root: "/srv/harbour"}},
		{"alice:/srv/a:/b", tenant.ID{Owner: "alice", Root: "/srv/a:/b"}},
		{"alice", tenant.ID{Root: "alice"}},
		{"alice:srv", tenant.ID{Root: "alice:srv"}},
		{"Alice:/srv", tenant.ID{Root: "Alice:/srv"}},
		{":/srv", tenant.ID{Root: ":/srv"}},
		{`c:\harbour`, tenant.ID{Root: `c:\harbour`}},
	} {
		assert.Equal(t, tt.want, tenant.Parse(tt.project), tt.project)
		assert.Equal(t, tt.project, tt.want.String(), "a name says which tenant it is, and no other")
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"alice": true, "a": true, "7": true, "a.b-c_d": true, strings.Repeat("a", 64): true,
		"": false, "Alice": false, ".": false, "..": false, "a/b": false, "a:b": false, "a b": false, "-a": false, "ä": false,
		strings.Repeat("a", 65): false, "a\n": false,
	} {
		if err := tenant.CheckOwner(name); ok {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorContains(t, err, "small letters", name)
		}
	}
}
