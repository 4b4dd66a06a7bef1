package laws_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// stage is a runtime over one hook with the agent "a" and one conversation with it.
type stage struct {
	rt    *runtime.Runtime
	conv  *runtime.Conversation
	store *mem.Store
	// events are those that clients have got, children's too; hear, if it is not nil,
	// gets each.
	events []hook.Event
	hear   func(hook.Event)
}

// open makes a stage; its runtime has to be closed. Agents are registered in the
// order of their configurations, and "a" with everything if there are none.
func open(t *testing.T, h hook.Hook, model provider.Provider, o runtime.Options, agents ...hook.AgentConfig) *stage {
	t.Helper()
	if len(agents) == 0 {
		agents = []hook.AgentConfig{{Name: "a"}}
	}
	s := &stage{store: mem.New(nil)}
	if o.Store == nil {
		o.Store = s.store
	}
	ids := 0
	o.NewID = func() string { ids++; return fmt.Sprint("t", ids) }
	s.rt = runtime.New(h, model, &o)
	require.NoError(t, s.rt.Open(context.Background()))
	for _, cfg := range agents {
		_, err := s.rt.Register(context.Background(), cfg)
		require.NoError(t, err)
	}
	var err error
	s.conv, err = dialog.Conversation(context.Background(), s.rt, "a", "ann")
	require.NoError(t, err)
	return s
}

// send runs a turn, however it ends.
func (s *stage) send(ctx context.Context, text string) (hook.TurnOutcome, error) {
	return dialog.Send(ctx, s.conv, message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		s.events = append(s.events, ev)
		if s.hear != nil {
			s.hear(ev)
		}
	}})
}

// history is what the store has.
func (s *stage) history(t *testing.T) []message.Message {
	t.Helper()
	ms, err := s.store.Messages(context.Background(), s.conv.ID())
	require.NoError(t, err)
	return ms
}

func (s *stage) close(t *testing.T) {
	t.Helper()
	require.NoError(t, s.rt.Close(context.Background()))
}

// model is one that plays another script in each turn.
type model struct{ *script.Script }

// goexit is how a tool ends its goroutine.
func goexit() { goruntime.Goexit() }

// tool is one of an owner's: what it does with its arguments.
type tool struct {
	message.Tool
	run func(ctx context.Context, env *hook.Env) message.ToolResult
}

// Run implements hook.Runner.
func (t *tool) Run(ctx context.Context, env *hook.Env) message.ToolResult { return t.run(ctx, env) }

// schemas are the descriptors of tools.
func schemas(tools []tool) []message.Tool {
	out := make([]message.Tool, len(tools))
	for i, t := range tools {
		out[i] = t.Tool
	}
	return out
}

// find returns the tool of that name, or nil.
func find(tools []tool, name string) *tool {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// rounds is how many random sets of hooks are played for each law.
var rounds = flag.Int("laws.rounds", 2_000, "play so many random sets of hooks for each law")

// turns are how many turns of each law are played on each of both composites, which
// makes as many as there are rounds of the laws without a runtime.
func turns() int { return *rounds / 2 }

// enough tells whether a law has been played often enough: until everything has
// occurred that has to, but not for ever.
func enough(played int, seen map[string]int, want []string) bool {
	return played >= turns() && (played >= 10*turns() || len(unseen(seen, want)) == 0)
}

// unseen is what has to occur and has not.
func unseen(seen map[string]int, want []string) (out []string) {
	for _, what := range want {
		if seen[what] == 0 {
			out = append(out, what)
		}
	}
	return out
}

// assertSeen fails if something has not occurred that has to.
func assertSeen(t *testing.T, seen map[string]int, want []string) {
	t.Helper()
	assert.Empty(t, unseen(seen, want), "this never happened")
}

// requireCaught plays rounds until the check of a law finds something, which it has
// to where the law is broken.
func requireCaught(t *testing.T, how string, seed uint64, check func(*rand.Rand) error) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2_000 {
		if check(r) != nil {
			return
		}
	}
	t.Errorf("the check does not see that the law is broken: %s", how)
}
