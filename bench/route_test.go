package bench_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/routes/tools512"
	"github.com/grapnel-go/grapnel/bench/routes/tools64"
	"github.com/grapnel-go/grapnel/bench/routes/tools8"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// routing is one of the generated packages of bench/routes: so many tools of six
// owners. The benchmarks call one tool in the middle, always the same, so a switch
// has its branches predicted.
type routing struct {
	tools, owner int
	middle       string

	// The routers; each says who owns a name, or -1.
	asSwitch, asMap, asWalk func(name string) int

	composite hook.Hook
	bind      func(call *hook.ToolCall) hook.Invocation

	benchSwitch, benchMap, benchWalk func(b *testing.B, name string)
	benchLimit, benchGrapnel         func(b *testing.B, call *hook.ToolCall)
}

func routings() []routing {
	a8, a64, a512 := tools8.New(), tools64.New(), tools512.New()
	o8, o64, o512 := a8.Owners(), a64.Owners(), a512.Owners()
	return []routing{
		{8, tools8.MiddleOwner, tools8.Middle, tools8.Switch, in(tools8.Map()),
			func(name string) int { return tools8.Walk(o8, name) },
			a8, func(call *hook.ToolCall) hook.Invocation { return tools8.Bind(a8, call) },
			tools8.BenchSwitch, tools8.BenchMap, tools8.BenchWalk, tools8.BenchLimit, tools8.BenchGrapnel},
		{64, tools64.MiddleOwner, tools64.Middle, tools64.Switch, in(tools64.Map()),
			func(name string) int { return tools64.Walk(o64, name) },
			a64, func(call *hook.ToolCall) hook.Invocation { return tools64.Bind(a64, call) },
			tools64.BenchSwitch, tools64.BenchMap, tools64.BenchWalk, tools64.BenchLimit, tools64.BenchGrapnel},
		{512, tools512.MiddleOwner, tools512.Middle, tools512.Switch, in(tools512.Map()),
			func(name string) int { return tools512.Walk(o512, name) },
			a512, func(call *hook.ToolCall) hook.Invocation { return tools512.Bind(a512, call) },
			tools512.BenchSwitch, tools512.BenchMap, tools512.BenchWalk, tools512.BenchLimit, tools512.BenchGrapnel},
	}
}

// in routes by a map.
func in(owners map[string]int) func(name string) int {
	return func(name string) int {
		if owner, ok := owners[name]; ok {
			return owner
		}
		return -1
	}
}

const routeArgs = `{"title":"Shopping list","limit":25}`

func routed(name string) *hook.ToolCall {
	return hook.NewToolCall(hook.ToolCallData{ID: "1", Tool: message.Tool{Name: name}, Args: routeArgs})
}

// BenchmarkRoute measures a call by name. switch, map and walk say who owns it and
// no more; walk asks six owners for their lists. grapnel is the composite's
// Dispatch, which also binds: it decodes and validates the arguments. limit is that
// binding alone, called by hand, so grapnel less limit is what the route costs.
func BenchmarkRoute(b *testing.B) {
	for _, r := range routings() {
		b.Run(fmt.Sprintf("tools=%d", r.tools), func(b *testing.B) {
			b.Run("switch", func(b *testing.B) { r.benchSwitch(b, r.middle) })
			b.Run("map", func(b *testing.B) { r.benchMap(b, r.middle) })
			b.Run("walk", func(b *testing.B) { r.benchWalk(b, r.middle) })
			b.Run("limit", func(b *testing.B) { r.benchLimit(b, routed(r.middle)) })
			b.Run("grapnel", func(b *testing.B) { r.benchGrapnel(b, routed(r.middle)) })
		})
	}
}

// wrongRoutes counts the tools of the composite that the router sends to somebody
// else than owns them, and the strangers that it knows.
func wrongRoutes(r routing, route func(name string) int) (wrong int) {
	for _, t := range r.composite.Schema() {
		var owner, k int
		if _, err := fmt.Sscanf(t.Name, "owner%d_tool_%d", &owner, &k); err != nil || route(t.Name) != owner {
			wrong++
		}
	}
	for _, stranger := range []string{"", "owner6_tool_0", "owner0_tool_512", "Owner0_tool_0"} {
		if route(stranger) != -1 {
			wrong++
		}
	}
	return wrong
}

func TestRoutes(t *testing.T) {
	for _, r := range routings() {
		t.Run(fmt.Sprintf("tools=%d", r.tools), func(t *testing.T) {
			require.Len(t, r.composite.Schema(), r.tools)
			for name, route := range map[string]func(string) int{"switch": r.asSwitch, "map": r.asMap, "walk": r.asWalk} {
				assert.Zero(t, wrongRoutes(r, route), name)
			}
			// Who binds is in the type of what is bound: the route and the owner agree.
			assert.Zero(t, wrongRoutes(r, func(name string) int {
				inv, ok := r.composite.Dispatch(t.Context(), routed(name))
				if !ok {
					return -1
				}
				require.Nil(t, inv.Err(), name)
				return ownerOf(t, inv)
			}), "grapnel")
			assert.Equal(t, r.owner, ownerOf(t, r.bind(routed(r.middle))), "limit")
			assert.Equal(t, fmt.Sprintf("%T", r.bind(routed(r.middle)).Runner()), fmt.Sprintf("%T", runner(t, r, r.middle)), "the same binding")
		})
	}
}

func runner(t *testing.T, r routing, name string) hook.Runner {
	inv, ok := r.composite.Dispatch(t.Context(), routed(name))
	require.True(t, ok)
	return inv.Runner()
}

// ownerOf reads it off the name of the type that hookgen has written.
func ownerOf(t *testing.T, inv hook.Invocation) (owner int) {
	var size, k int
	_, err := fmt.Sscanf(fmt.Sprintf("%T", inv.Runner()), "*tools%d.owner%dTool%dCall", &size, &owner, &k)
	require.NoError(t, err, "%T", inv.Runner())
	return owner
}

// A router that is wrong about one name or takes everybody is found.
func TestWrongRoutesAreFound(t *testing.T) {
	r := routings()[1]
	for name, bad := range map[string]func(string) int{
		"one wrong": func(name string) int {
			if name == "owner1_tool_3" {
				return 2
			}
			return r.asSwitch(name)
		},
		"one owner has all":        func(string) int { return r.owner },
		"strangers are somebody's": func(name string) int { return max(0, r.asMap(name)) },
	} {
		assert.NotZero(t, wrongRoutes(r, bad), name)
	}
}
