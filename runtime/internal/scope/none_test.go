package scope_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
)

// No list of tools is all of them, an empty one is none: in the agent's configuration and in the scope of an owner.
func TestNilIsAllAndEmptyIsNone(t *testing.T) {
	t.Parallel()
	all := []string{"axe", "saw"}
	for _, c := range []struct {
		name       string
		agent, own []string
		want       []string
	}{
		{"neither says anything", nil, nil, all},
		{"the agent wants none", []string{}, nil, []string{}},
		{"the owner gives none", nil, []string{}, []string{}},
		{"the agent wants one", []string{"saw"}, nil, []string{"saw"}},
		{"the owner gives one", nil, []string{"axe"}, []string{"axe"}},
	} {
		v := viewOf(t, shed{tools: all, scope: hook.Scope{Tools: c.own}}, &hook.AgentConfig{Name: "a", Tools: c.agent})
		assert.Equal(t, c.want, v.Callable().Slice(), c.name)
	}
}
