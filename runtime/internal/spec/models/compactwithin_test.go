package models_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// What Host.Compact offers to hooks.

// full has the conversation compacted at the requests with these numbers, from 1. Requests for
// a summary count, too.
type full struct {
	hook.Nop
	at       []int
	o        hook.CompactOptions
	requests int
	made     []hook.Compacted
	errs     []error
}

func (f *full) RewriteRequest(ctx context.Context, s *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	f.requests++
	if slices.Contains(f.at, f.requests) {
		made, err := s.Host().Compact(ctx, "the window is full", f.o)
		f.made, f.errs = append(f.made, made), append(f.errs, err)
	}
	return req, nil
}

func requestTexts(req message.ModelRequest) (out []string) {
	for _, m := range req.Messages.All() {
		out = append(out, strings.TrimPrefix(m.Text(), rig.SummaryHead))
	}
	return out
}

func TestSpecAHookCompactsWithinATurn(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return mem.New(nil) },
		"sqlite": func(t *testing.T) store.Store { return rig.OpenSQLite(t, t.TempDir()) },
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &full{at: []int{4}, o: hook.CompactOptions{Keep: 1}}
			var told []hook.Compaction
			sees := point.BeforeCompactionFunc(func(_ context.Context, _ *hook.Conversation, c hook.Compaction) (hook.CompactionDecision, error) {
				told = append(told, c)
				return hook.CompactionDecision{}, nil
			})
			m := rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("three"), rig.Says("They counted."), rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("four"), rig.Says("five"))
			w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{ContextWindow: 9000, MaxTokens: 70}}, &runtime.Options{Store: open(t)}, f, sees, rig.Box(rig.Named("echo")))
			for _, line := range []string{"1", "2", "3"} {
				w.Send(line)
			}
			out := w.Send("4")
			require.Equal(t, []error{nil}, f.errs)
			assert.Equal(t, "They counted.", f.made[0].Summary)
			assert.Equal(t, 4, f.made[0].Removed)
			assert.Equal(t, []string{"They counted.", "3", "three", "4"}, requestTexts(m.Requests[4]), "the request is made anew")
			assert.Equal(t, []string{"They counted.", "3", "three", "4"}, requestTexts(m.Requests[5])[:4], "and so are those behind it")
			assert.Equal(t, message.Usage{Input: 30, Output: 15}, out.Usage, "the summary's tokens are the turn's")
			require.Len(t, told, 1)
			assert.True(t, told[0].Auto)
			assert.Equal(t, int64(9000), told[0].Budget.Limit)
			assert.Equal(t, int64(70), told[0].Budget.Reserved)
			require.Len(t, w.EventsOf(event.CompactionAuto), 1)
			assert.Equal(t, "the window is full", w.EventsOf(event.CompactionAuto)[0].Text)
			assert.Equal(t, rig.SummaryHead+"They counted.", strings.TrimPrefix(w.History()[0], "user "), "the store has it when the turn has ended")
			archive, err := w.Conv.Archive(t.Context())
			require.NoError(t, err)
			assert.Len(t, archive, 4, "nothing is lost")

			w.Send("5")
			assert.Equal(t, []string{"They counted.", "3", "three", "4"}, requestTexts(m.Requests[6])[:4])
			require.NoError(t, w.Runtime.Close(t.Context()))
		})
	}
}

func TestSpecTwoCompactionsWithinATurn(t *testing.T) {
	t.Parallel()
	f := &full{at: []int{4, 7}, o: hook.CompactOptions{Keep: 1}}
	m := rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("three"), rig.Says("First."), rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("Second."), rig.Says("four"))
	blocks := point.TurnContextFunc(func(context.Context, *hook.Turn) ([]hook.ContextBlock, error) {
		return []hook.ContextBlock{{Domain: "d", ID: "i", Text: "aside"}}, nil
	})
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, nil, f, blocks, rig.Box(rig.Named("echo")))
	for _, line := range []string{"1", "2", "3"} {
		w.Send(line)
	}
	w.Send("4")
	require.Equal(t, []error{nil, nil}, f.errs)
	last := requestTexts(m.Requests[6])
	assert.Equal(t, []string{"Second.", "3", "three"}, last[:3])
	assert.Equal(t, "4", last[3])
	assert.Contains(t, last[4], "aside", "what hooks contribute stays where it is")
	assert.Equal(t, rig.SummaryHead+"Second.", strings.TrimPrefix(w.History()[0], "user "))
}

func TestSpecACompactionWithinATurnFails(t *testing.T) {
	t.Parallel()
	f := &full{at: []int{1, 3}, o: hook.CompactOptions{Keep: -1}}
	gone := errors.New("gone")
	m := rig.Plays(rig.Says("one"), rig.Says("two"), rig.Fails(gone), rig.Says("three"))
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, nil, f)
	for _, line := range []string{"1", "2", "3"} {
		w.Send(line)
	}
	require.Len(t, f.errs, 2)
	require.ErrorIs(t, f.errs[0], runtime.ErrNothingToCompact)
	require.ErrorIs(t, f.errs[1], gone)
	assert.Equal(t, []string{"1", "one", "2", "two", "3"}, requestTexts(m.Requests[3]), "the turn goes on with what it has")
	assert.Len(t, w.History(), 6)
	_, err := w.Runtime.Agent("a")
	require.NoError(t, err)
}

func TestSpecNobodyCompactsOutsideATurn(t *testing.T) {
	t.Parallel()
	w := rig.Start(t, rig.Plays(rig.Says("one")))
	reg, err := w.Runtime.Agent("a")
	require.NoError(t, err)
	_, err = reg.Config().Host().Compact(t.Context(), "why", hook.CompactOptions{})
	require.ErrorIs(t, err, hook.ErrNoTurn)
}
