package composite_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
)

// taker takes calls of one tool.
type taker struct {
	hook.Nop
	tool string
}

func (t *taker) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Invocation{}, call.Name() == t.tool
}

// TestBinds: a member is found by its path through composites, groups and prefixes.
func TestBinds(t *testing.T) {
	t.Parallel()
	inner, err := composite.New(&struct {
		Store *taker `hook:"prefix=st_,dynamic"`
		Extra []hook.Hook
	}{Store: &taker{tool: "read"}, Extra: []hook.Hook{hook.Nop{}, &taker{tool: "more"}}})
	require.NoError(t, err)
	outer, err := composite.New(&struct {
		Core  *composite.Composite `hook:"prefix=c_"`
		Plain *taker               `hook:"dynamic"`
	}{Core: inner, Plain: &taker{tool: "plain"}})
	require.NoError(t, err)
	for _, tt := range []struct{ path, tool, want string }{
		{"Plain", "plain", ""},
		{"Core.Store", "c_st_read", ""},
		{"Core.Extra[1]", "c_more", ""},
		{"", "plain", ""},
		{"Plain", "other", "Plain does not bind calls of it"},
		{"", "other", "its contributor does not bind calls of it"},
		{"Core.Extra[0]", "c_more", "Core.Extra[0] does not bind calls of it"},
		{"Core.Store", "read", "Core.Store has no tools of that name: they begin with its prefix"},
		{"Core.Extra[2]", "c_more", "there is no subsystem Core.Extra[2]"},
		{"Plain.Store", "plain", "there is no subsystem Plain.Store"},
		{"Plai", "plain", "there is no subsystem Plai"},
	} {
		err := outer.Binds(t.Context(), tt.path, hooktest.Call(nil, tt.tool, "{}"))
		if tt.want == "" {
			assert.NoError(t, err, strings.TrimSpace(tt.path+" "+tt.tool))
			continue
		}
		assert.EqualError(t, err, tt.want)
	}
}
