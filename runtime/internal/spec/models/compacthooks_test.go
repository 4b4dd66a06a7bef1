package models_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// What BeforeCompaction and AfterCompaction see and may do.

// compacts is at both points.
type compacts struct {
	hook.Nop
	answer hook.CompactionDecision
	err    error
	before []hook.Compaction
	after  []hook.Compacted
	// stored is the history at the time of AfterCompaction.
	stored []string
	w      *rig.World
}

func (c *compacts) BeforeCompaction(_ context.Context, _ *hook.Conversation, what hook.Compaction) (hook.CompactionDecision, error) {
	c.before = append(c.before, what)
	return c.answer, c.err
}

func (c *compacts) AfterCompaction(ctx context.Context, conversation *hook.Conversation, what hook.Compacted) {
	c.after = append(c.after, what)
	if ctx.Err() == nil && conversation.ID() == c.w.Conv.ID() {
		c.stored = c.w.History()
	}
}

// talks has a conversation of two turns, of which the first is to be archived.
func (c *compacts) talks(t *testing.T, m *rig.Model, hooks ...hook.Hook) *rig.World {
	t.Helper()
	m.Replies = append([]message.ModelStream{rig.Says("one"), rig.Says("two")}, m.Replies...)
	w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{MaxTokens: 500}}, nil, append([]hook.Hook{c}, hooks...)...)
	c.w = w
	w.Send("first")
	w.Send("second")
	return w
}

var keepOne = &runtime.CompactOptions{Keep: 1}

const summaryLine = "user Summary of the earlier part of this conversation, which is not shown any more:\n\n"

func TestSpecTheViewOfACompaction(t *testing.T) {
	t.Parallel()
	c := &compacts{}
	w := c.talks(t, rig.Plays(rig.Says("The summary.")))
	made, err := w.Conv.Compact(t.Context(), keepOne)
	require.NoError(t, err)

	require.Len(t, c.before, 1)
	b := c.before[0]
	require.Equal(t, 2, b.Messages.Len())
	assert.Equal(t, "first", b.Messages.At(0).Text())
	assert.Equal(t, "one", b.Messages.At(1).Text())
	assert.Equal(t, hook.TokenBudget{Used: 2 + 1 + 2 + 1, Reserved: 500}, b.Budget)
	assert.False(t, b.Auto)

	require.Len(t, c.after, 1, "exactly once")
	assert.Equal(t, 2, c.after[0].Removed)
	assert.Equal(t, "The summary.", c.after[0].Summary)
	assert.Equal(t, int64(6), c.after[0].Before)
	assert.Equal(t, int64(len(summaryLine)-len("user ")+len("The summary.")+3)/4+3, c.after[0].After)
	assert.Equal(t, []string{summaryLine + "The summary.", "user second", "assistant two"}, c.stored, "after it is stored")
	assert.Equal(t, runtime.Compacted{Summary: "The summary.", Archived: 2, Kept: 2, Usage: message.Usage{Input: 10, Output: 5}}, made)
}

func TestSpecASkippedCompactionChangesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer hook.CompactionDecision
		text   string
	}{
		"with a reason": {hook.SkipCompaction("a release is going on"), "runtime: a hook has skipped the compaction: a release is going on"},
		"without":       {hook.SkipCompaction(""), "runtime: a hook has skipped the compaction"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &compacts{answer: tc.answer}
			w := c.talks(t, rig.Plays(rig.Says("never")))
			_, err := w.Conv.Compact(t.Context(), keepOne)
			require.ErrorIs(t, err, runtime.ErrSkipped)
			assert.ErrorContains(t, err, tc.text)
			assert.Empty(t, c.after)
			assert.Len(t, w.Model.Requests, 2, "no model is asked")
			assert.Equal(t, []string{"user first", "assistant one", "user second", "assistant two"}, w.History())
		})
	}
	t.Run("by one of several: it is named", func(t *testing.T) {
		t.Parallel()
		c := &compacts{answer: hook.SupplyCompaction("mine")}
		skips := point.BeforeCompactionFunc(func(context.Context, *hook.Conversation, hook.Compaction) (hook.CompactionDecision, error) {
			return hook.SkipCompaction("no"), nil
		})
		w := c.talks(t, rig.Plays(), skips)
		_, err := w.Conv.Compact(t.Context(), keepOne)
		require.ErrorIs(t, err, runtime.ErrSkipped)
		assert.ErrorContains(t, err, "H1: no")
	})
}

func TestSpecHintsReachWhoWritesTheSummary(t *testing.T) {
	t.Parallel()
	c := &compacts{answer: hook.HintCompaction("the ticket's number")}
	more := point.BeforeCompactionFunc(func(context.Context, *hook.Conversation, hook.Compaction) (hook.CompactionDecision, error) {
		return hook.HintCompaction("who has to be asked"), nil
	})
	w := c.talks(t, rig.Plays(rig.Says("The summary.")), more)
	_, err := w.Conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1, Focus: "colours"})
	require.NoError(t, err)
	asked := w.Model.Requests[2].Messages.At(0).Text()
	assert.Contains(t, asked, "\nPay attention to this besides: colours\n\nPay attention to this besides: the ticket's number\n\nPay attention to this besides: who has to be asked\n")
}

func TestSpecASuppliedSummaryTakesTheModelsPlace(t *testing.T) {
	t.Parallel()
	t.Run("as it is", func(t *testing.T) {
		t.Parallel()
		c := &compacts{answer: hook.SupplyCompaction(" Mine. \n")}
		w := c.talks(t, rig.Plays())
		made, err := w.Conv.Compact(t.Context(), keepOne)
		require.NoError(t, err)
		assert.Equal(t, runtime.Compacted{Summary: "Mine.", Archived: 2, Kept: 2}, made)
		assert.Len(t, w.Model.Requests, 2)
		assert.Equal(t, summaryLine+"Mine.", w.History()[0])
		require.Len(t, c.after, 1)
	})
	for name, tc := range map[string]struct{ summary, text string }{
		"empty": {" \n", "it is empty"}, "too long": {string(make([]byte, 17_000)), "it has 17000 bytes of at most 16000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &compacts{answer: hook.SupplyCompaction(tc.summary)}
			w := c.talks(t, rig.Plays())
			_, err := w.Conv.Compact(t.Context(), keepOne)
			require.ErrorIs(t, err, runtime.ErrSummary)
			assert.ErrorContains(t, err, tc.text)
			assert.Empty(t, c.after)
			assert.Len(t, w.History(), 4)
		})
	}
}

// failing fails at both points, and counts the events of its failures.
type failing struct {
	hook.Nop
	fail   func() error
	failed []hook.Point
}

func (f *failing) BeforeCompaction(context.Context, *hook.Conversation, hook.Compaction) (hook.CompactionDecision, error) {
	return hook.SkipCompaction("no"), f.fail()
}

func (f *failing) AfterCompaction(context.Context, *hook.Conversation, hook.Compacted) { panic("boom") }

func (f *failing) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == event.HookFailed {
		f.failed = append(f.failed, ev.Detail().Point)
	}
}

func TestSpecAHookThatFailsAtACompactionHasNoOpinion(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func() error{"error": func() error { return errors.New("broken") }, "panic": func() error { panic("boom") }} {
		for members, others := range map[string][]hook.Hook{"alone": nil, "in a composite": {hook.Nop{}}} {
			t.Run(name+" "+members, func(t *testing.T) {
				t.Parallel()
				h := &failing{fail: fail}
				w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("The summary.")), append([]hook.Hook{h}, others...)...)
				w.Send("first")
				w.Send("second")
				_, err := w.Conv.Compact(t.Context(), keepOne)
				require.NoError(t, err)
				assert.Len(t, w.History(), 3)
				assert.Equal(t, []hook.Point{point.BeforeCompaction, point.AfterCompaction}, h.failed)
			})
		}
	}
}

func TestSpecACompactionWithoutEffectEmitsNothing(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]message.ModelStream{
		"no summary":       rig.Says(" "),
		"a failed model":   rig.Fails(errors.New("gone")),
		"a reply cut off":  rig.Chunks(rig.Text("The sum"), rig.Finish(message.FinishLength)),
		"a stream cut off": rig.Chunks(rig.Text("The sum")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &compacts{}
			w := c.talks(t, rig.Plays(last))
			_, err := w.Conv.Compact(t.Context(), keepOne)
			require.Error(t, err)
			assert.Len(t, c.before, 1)
			assert.Empty(t, c.after)
			assert.Len(t, w.History(), 4)
		})
	}
	t.Run("nothing to compact: nobody is asked", func(t *testing.T) {
		t.Parallel()
		c := &compacts{}
		w := c.talks(t, rig.Plays())
		_, err := w.Conv.Compact(t.Context(), nil)
		require.ErrorIs(t, err, runtime.ErrNothingToCompact)
		assert.Empty(t, c.before)
	})
	t.Run("a turn came between", func(t *testing.T) {
		t.Parallel()
		c := &compacts{}
		w := c.talks(t, rig.Plays())
		w.Model.Replies = append(w.Model.Replies, func(yield func(message.Chunk, error) bool) {
			w.Send("third")
			rig.Says("The summary.")(yield)
		})
		_, err := w.Conv.Compact(t.Context(), keepOne)
		require.ErrorIs(t, err, store.ErrConflict)
		assert.Empty(t, c.after)
	})
}

func TestSpecOnModelErrorHelpsACompactionToo(t *testing.T) {
	t.Parallel()
	talk := func(t *testing.T, h hook.Hook, replies ...message.ModelStream) *rig.World {
		w := rig.StartWith(t, rig.Plays(append([]message.ModelStream{rig.Says("one"), rig.Says("two")}, replies...)...), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main"}},
			&runtime.Options{Store: mem.New(nil), Price: func(_ string, u message.Usage) hook.Cost { return hook.Cost(u.Total()) }}, h)
		w.Send("first")
		w.Send("second")
		return w
	}
	gone := &provider.Error{Class: message.FailureNetwork, Err: errors.New("gone")}
	t.Run("retry and fallback", func(t *testing.T) {
		t.Parallel()
		w := talk(t, onErrors(hook.RetryFailure(time.Nanosecond), hook.FallbackFailure("spare")), rig.Fails(gone), rig.Fails(gone), rig.Says("The summary."))
		made, err := w.Conv.Compact(t.Context(), keepOne)
		require.NoError(t, err)
		assert.Equal(t, []string{"main", "main", "main", "main", "spare"}, models(w.Model))
		assert.Equal(t, hook.Cost(15), made.Cost)
	})
	t.Run("respond", func(t *testing.T) {
		t.Parallel()
		w := talk(t, onErrors(hook.RespondFailure(message.ModelReply{Content: message.ListOf(message.TextBlock("Mine."))})), rig.Fails(gone))
		made, err := w.Conv.Compact(t.Context(), keepOne)
		require.NoError(t, err)
		assert.Equal(t, "Mine.", made.Summary)
	})
	t.Run("capped", func(t *testing.T) {
		t.Parallel()
		h := onErrors(hook.RetryFailure(0))
		w := talk(t, h, append(slices.Repeat([]message.ModelStream{rig.Fails(gone)}, 24), rig.Says("never"))...)
		_, err := w.Conv.Compact(t.Context(), keepOne)
		require.ErrorIs(t, err, runtime.ErrRetries)
		require.ErrorIs(t, err, gone)
		assert.Len(t, h.seen, 24)
	})
}
