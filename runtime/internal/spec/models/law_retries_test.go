package models_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/allocs"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Laws 12 and 13 with whatever hooks answer: retries are capped and counted, and a
// client that drops the deltas of failed attempts has shown the text of the history.

// unlucky is a model that often fails, and a hook at every point that may ask for
// another reply.
type unlucky struct {
	hook.Nop
	*rand.Rand
	// calls are those of the model by step, repairs those of OnInvalidTool by call,
	// failures the reported failed calls by step.
	calls, repairs, failures map[string]int
	asked                    int
	pairs                    map[string]int
}

func newUnlucky(seed uint64) *unlucky {
	return &unlucky{Rand: rand.New(rand.NewPCG(seed, 12)), calls: map[string]int{}, repairs: map[string]int{}, failures: map[string]int{}, pairs: map[string]int{}}
}

// Stream implements provider.Provider.
func (u *unlucky) Stream(context.Context, message.ModelRequest) message.ModelStream {
	u.asked++
	word := fmt.Sprintf("word%d ", u.asked)
	switch u.IntN(6) {
	case 0:
		return rig.Fails(&provider.Error{Class: message.FailureOverloaded, RetryAfter: time.Duration(u.IntN(3)) * time.Second, Err: errors.New("busy")}, word)
	case 1:
		return rig.Fails(errors.New("gone"))
	case 2:
		return rig.Chunks(rig.Text(word))
	case 3:
		return rig.Says(word, "end")
	}
	tool := []string{"echo", "echo", "ecko", "hidden"}[u.IntN(4)]
	args := []string{`{}`, `{}`, `{"x":"1"}`, `{"s":`}[u.IntN(4)]
	cs := []message.Chunk{rig.Text(word)}
	for i := range 1 + u.IntN(2) {
		cs = append(cs, message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("c%d_%d", u.asked, i), Tool: tool},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: args}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return rig.Chunks(append(cs, rig.Finish(message.FinishTools))...)
}

func step(s *hook.Step) string { return fmt.Sprintf("%s.%d", s.Turn().ID(), s.Number()) }

func (u *unlucky) WrapModel(ctx context.Context, s *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	u.calls[step(s)]++
	return next.Stream(ctx)
}

func (u *unlucky) OnModelError(_ context.Context, s *hook.Step, f message.ModelFailure) (hook.FailureDecision, error) {
	u.failures[step(s)]++
	u.pairs["failure "+string(f.Class)]++
	if f.Attempt != u.calls[step(s)] {
		return hook.FailureDecision{}, fmt.Errorf("attempt %d is told as %d", u.calls[step(s)], f.Attempt)
	}
	switch u.IntN(8) {
	case 0:
		return hook.FailureDecision{}, nil
	case 1:
		return hook.RespondFailure(message.ModelReply{Content: message.ListOf(message.TextBlock(fmt.Sprintf("instead%d", u.asked)))}), nil
	case 2:
		return hook.FallbackFailure("spare"), nil
	case 3:
		panic("boom")
	}
	return hook.RetryFailure(time.Duration(u.IntN(3)) * time.Second), nil
}

func (u *unlucky) OnInvalidTool(_ context.Context, _ *hook.Step, c hook.InvalidCall) (hook.RepairDecision, error) {
	u.repairs[c.Call.Step().Turn().ID()+c.Call.ID()]++
	u.pairs["invalid "+string(c.Failure)]++
	switch u.IntN(6) {
	case 0:
		return hook.RepairDecision{}, nil
	case 1:
		return hook.RetryInvalid("again"), nil
	case 2:
		return hook.RenameTool([]string{"echo", "nobody", "hidden"}[u.IntN(3)]), nil
	}
	return hook.RepairArgs([]message.JSON{`{}`, `{"y":"2"}`, "{"}[u.IntN(3)]), nil
}

func (u *unlucky) AfterModel(context.Context, *hook.Step, message.ModelReply) (hook.ReplyDecision, error) {
	if u.IntN(3) == 0 {
		return hook.RetryReply("better"), nil
	}
	return hook.ReplyDecision{}, nil
}

func TestLawRetriesAreCappedWhateverHooksAnswer(t *testing.T) {
	t.Parallel()
	seeds, seen := uint64(10_000), map[string]int{}
	if testing.Short() || !allocs.Counted {
		seeds = 1_000
	}
	most, capped := 0, 0
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			u := newUnlucky(seed)
			b := rig.Box(rig.Named("echo"), rig.Named("hidden"))
			b.Scope.Tools = []string{"echo"}
			w := startProvider(t, u.Stream, hook.Limits{Steps: 4}, u, b)
			out, err := w.Try(t.Context(), "go")
			for at, n := range u.calls {
				require.LessOrEqual(t, n, 24+3, "step %s asks the model at most 24 times after failures, and 3 times after refused replies", at)
				most = max(most, n)
			}
			for id, n := range u.repairs {
				require.LessOrEqual(t, n, 2, "call %s is repaired at most twice", id)
			}
			if errors.Is(err, runtime.ErrRetries) {
				capped++
				require.Contains(t, rig.Reasons(out), hook.StopRetryLimit)
			} else {
				require.Equal(t, errors.Is(err, runtime.ErrArguments), slices.Contains(rig.Reasons(out), hook.StopRetryLimit))
			}
			require.Empty(t, w.EventsOf(event.Error)[min(1, len(w.EventsOf(event.Error))):], "one error at most")
			requireShownIsSaid(t, w, out)
			rig.AssertBrackets(t, w)
			for pair, n := range u.pairs {
				seen[pair] += n
			}
			require.NoError(t, w.Runtime.Close(t.Context()))
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	assert.Greater(t, most, 6, "some step has asked often")
	assert.NotZero(t, capped)
	for _, pair := range []string{"failure overloaded", "failure unknown", "failure network", "invalid not_registered", "invalid not_available", "invalid invalid_arguments"} {
		assert.NotZero(t, seen[pair], pair)
	}
}

// requireShownIsSaid plays a client that shows deltas and drops those of the step
// whose attempt failed: of every step that has ended it has shown the text of the history.
func requireShownIsSaid(t *testing.T, w *rig.World, out hook.TurnOutcome) {
	t.Helper()
	shown, now := []string{}, ""
	for _, ev := range w.Events {
		switch ev.Kind {
		case event.StepStart, event.TurnRetried:
			now = ""
		case event.TextDelta:
			now += ev.Text
		case event.StepEnd:
			shown = append(shown, now)
		}
	}
	ms, err := w.Store.Messages(t.Context(), w.Conv.ID())
	require.NoError(t, err)
	said := []string{}
	for _, m := range ms {
		if m.Role == message.RoleAssistant {
			said = append(said, m.Text())
		}
	}
	require.GreaterOrEqual(t, len(shown), len(said))
	require.Equal(t, said, shown[:len(said)])
	if out.Stop == hook.StopCompleted {
		require.Equal(t, strings.TrimSpace(said[len(said)-1]), strings.TrimSpace(shown[len(shown)-1]))
	}
}
