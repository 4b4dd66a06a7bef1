package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/memory"
)

// A turn that has ended has its job, also if it was only settled: a write broke off, and a later message
// or another process ended it.

// failingStore is a store that fails each write from one on.
type failingStore struct {
	*mem.Store
	// left is how many writes there are before the first that fails; negative is no limit.
	left  int
	cause error
}

func (s *failingStore) write(make func() error) error {
	if s.left == 0 {
		return s.cause
	}
	s.left--
	return make()
}

func (s *failingStore) Append(ctx context.Context, id string, a store.Append) (v int64, err error) {
	err = s.write(func() error { v, err = s.Store.Append(ctx, id, a); return err })
	return v, err
}

func (s *failingStore) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	err = s.write(func() error { first, err = s.Store.Note(ctx, id, n); return err })
	return first, err
}

// process is a process over the store. Its conversation is the same each time.
func process(t *testing.T, s store.Store, m hook.Hook) (*runtime.Runtime, *runtime.Conversation) {
	t.Helper()
	rt := runtime.New(m, script.New(script.Rule{When: &script.When{}, Say: "Noted."}), &runtime.Options{Store: s, Gone: func(string) bool { return true }})
	require.NoError(t, rt.Open(t.Context()))
	agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("memory", `{"extraction":"auto"}`))
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return rt, conv
}

// without says how many completed turns of ann's lack a job of memory, and how many jobs lack such a turn.
func without(t *testing.T, s *mem.Store) (jobs, turns int) {
	t.Helper()
	all, err := s.Jobs(t.Context(), store.JobFilter{Kind: memory.JobKind})
	require.NoError(t, err)
	recs, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, recs, 1)
	stored, err := s.Messages(t.Context(), recs[0].ID)
	require.NoError(t, err)
	for _, m := range stored {
		if m.Role == message.RoleAssistant {
			turns++
		}
	}
	return max(0, turns-len(all)), max(0, len(all)-turns)
}

// settled runs a turn whose writes fail from the n-th on. Then there is room again, and the same process
// or the next one settles it by a further message. It reports whether no write failed.
func settled(t *testing.T, s *failingStore, m hook.Hook, die bool) (whole bool) {
	t.Helper()
	rt, conv := process(t, s, m)
	_, _ = conv.Send(t.Context(), message.TextInput(teaTurn), nil)
	if whole = s.left != 0; die {
		s.left = 0
		_ = rt.Close(t.Context())
		rt, conv = process(t, s.Store, m)
	}
	s.left = -1
	out, err := conv.Send(t.Context(), message.TextInput("I live in Bergen."), nil)
	require.NoError(t, errors.Join(err, out.Err))
	require.NoError(t, rt.Close(t.Context()))
	return whole
}

func TestASettledTurnHasItsJob(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"full": store.ErrFull, "without an answer": errors.New("connection reset")} {
		for _, die := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", the process dies: ", die), func(t *testing.T) {
				t.Parallel()
				for n, whole := 1, false; !whole; n++ {
					s := &failingStore{Store: mem.New(&mem.Options{Journal: true}), left: n, cause: cause}
					whole = settled(t, s, keeping{fresh(t)}, die)
					jobs, turns := without(t, s.Store)
					assert.Equal(t, []int{0, 0}, []int{jobs, turns}, "turns without a job, and jobs without a turn; the writes fail from number %d on", n+1)
				}
			})
		}
	}
}

// keeping keeps the file open when the runtime that uses it is closed.
type keeping struct{ *memory.Memory }

func (keeping) OnClose(context.Context) error { return nil }

// What the classifier or another hook has decided about the turn holds for its settlement.
func TestASettledTurnKeepsItsPolicy(t *testing.T) {
	t.Parallel()
	none := point.TurnPolicyFunc(func(context.Context, *hook.Turn) ([]hook.Policy, error) {
		return []hook.Policy{{Domain: memory.PolicyDomain, Key: "extraction", Value: "off", Weight: 1}}, nil
	})
	for n, whole := 1, false; !whole; n++ {
		c, err := composite.New(&struct{ None, Memory hook.Hook }{none, keeping{fresh(t)}})
		require.NoError(t, err)
		s := &failingStore{Store: mem.New(&mem.Options{Journal: true}), left: n, cause: store.ErrFull}
		whole = settled(t, s, c, true)
		all, err := s.Jobs(t.Context(), store.JobFilter{Kind: memory.JobKind})
		require.NoError(t, err)
		assert.Empty(t, all)
	}
}
