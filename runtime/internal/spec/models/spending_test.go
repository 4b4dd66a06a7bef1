package models_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// What the runtime asks a ledger of spending, and what a reached limit does.

// perPriced is perToken for ledgers; "novel" has no price.
func perPriced(model string, u message.Usage) (hook.Cost, bool) {
	if model == "novel" {
		return 0, false
	}
	return rig.PerToken(model, u), true
}

// payer is a world whose spending is kept.
type payer struct {
	*rig.World
	kept *mem.Store
}

func spendsWithin(t *testing.T, m *rig.Model, l spending.Limits, hooks ...hook.Hook) *payer {
	t.Helper()
	kept := mem.New(&mem.Options{Journal: true})
	ledger, err := spending.New(kept, &spending.Options{Limits: l, Price: perPriced})
	require.NoError(t, err)
	cfg := hook.AgentConfig{Name: "a", Model: message.Model{Name: "main", MaxTokens: 1}}
	return &payer{rig.StartWith(t, m, cfg, &runtime.Options{Store: kept, Project: "/p", Spending: ledger}, hooks...), kept}
}

// rows returns what was spent, without days.
func (p *payer) rows() []store.Spent {
	p.T.Helper()
	out, err := p.kept.Spent(p.T.Context(), store.SpendingFilter{})
	require.NoError(p.T, err)
	for i := range out {
		assert.Equal(p.T, time.Now().Format(time.DateOnly), out[i].Day)
		out[i].Day = ""
	}
	return out
}

// total returns the sum of all rows.
func (p *payer) total() (s store.Spent) {
	for _, row := range p.rows() {
		s = s.Add(row)
	}
	return s
}

func askModel(name string) rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: name}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		reply, err := env.Call.Host().CallModel(ctx, message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(reply.Text())
	}}
}

func runB() rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: "delegate", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("x"), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
		return message.TextResult(string(out.Stop) + " " + out.Text())
	}}
}

// Whoever makes a request, it is in the accounts: there is no second way to the provider.
func TestSpecEveryRequestToAModelIsCounted(t *testing.T) {
	t.Parallel()
	gone := &provider.Error{Class: message.FailureNetwork, Err: errors.New("gone")}
	twice := point.WrapModelFunc(func(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
		return func(yield func(message.Chunk, error) bool) {
			_, _ = provider.Collect(next.Stream(ctx))
			next.Stream(ctx)(yield)
		}
	})
	again := point.AfterModelFunc(func(_ context.Context, s *hook.Step, r message.ModelReply) (hook.ReplyDecision, error) {
		if r.Text() == "bad" {
			return hook.RetryReply("better"), nil
		}
		return hook.ReplyDecision{}, nil
	})
	compacts := point.BeforeStepFunc(func(ctx context.Context, s *hook.Step) (hook.StepDecision, error) {
		if s.Turn().Number() == 3 {
			_, _ = s.Host().Compact(ctx, "full", hook.CompactOptions{Keep: 1})
		}
		return hook.StepDecision{}, nil
	})
	for name, tt := range map[string]struct {
		replies []message.ModelStream
		hook    hook.Hook
		turns   int
		calls   int64
	}{
		"steps":                  {[]message.ModelStream{rig.Calls(rig.Call("1", "echo", `{}`)), rig.Says("done")}, hook.Nop{}, 1, 2},
		"retries after text":     {[]message.ModelStream{rig.Fails(gone, "half"), rig.Says("done")}, onErrors(hook.RetryFailure(time.Nanosecond)), 1, 2},
		"fallback models":        {[]message.ModelStream{rig.Fails(gone, "half"), rig.Says("done")}, onErrors(hook.FallbackFailure("dear")), 1, 2},
		"refused replies":        {[]message.ModelStream{rig.Says("bad"), rig.Says("bad"), rig.Says("good")}, again, 1, 3},
		"calls of tools":         {[]message.ModelStream{rig.Calls(rig.Call("1", "ask", `{}`), rig.Call("2", "ask", `{}`)), rig.Says("x"), rig.Says("y"), rig.Says("done")}, hook.Nop{}, 1, 4},
		"children":               {[]message.ModelStream{rig.Calls(rig.Call("1", "delegate", `{}`)), rig.Says("child"), rig.Says("done")}, hook.Nop{}, 1, 3},
		"wraps":                  {[]message.ModelStream{rig.Says("first"), rig.Says("second")}, twice, 1, 2},
		"summaries within turns": {[]message.ModelStream{rig.Says("1"), rig.Says("2"), rig.Says("The summary."), rig.Says("3")}, compacts, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := spendsWithin(t, rig.Plays(tt.replies...), spending.Limits{Day: hook.Dollar}, tt.hook, rig.Box(rig.Named("echo"), askModel("ask"), runB()))
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Model: message.Model{Name: "dear"}})
			require.NoError(t, err)
			for range tt.turns {
				w.Send("go")
			}
			assert.EqualValues(t, tt.calls, len(w.Model.Requests))
			assert.Equal(t, tt.calls, w.total().Calls)
			for _, row := range w.rows() {
				assert.Equal(t, "/p", row.Project)
				want := row.Usage.Total()
				if row.Model == "dear" {
					want *= 1000
				}
				assert.Equal(t, hook.Cost(want), row.Cost)
			}
		})
	}
	t.Run("summaries outside of turns", func(t *testing.T) {
		t.Parallel()
		w := spendsWithin(t, rig.Plays(rig.Says("1"), rig.Says("2"), rig.Says("The summary.")), spending.Limits{})
		w.Send("go")
		w.Send("go")
		_, err := w.Conv.Compact(t.Context(), keepOne)
		require.NoError(t, err)
		assert.EqualValues(t, 3, w.total().Calls)
	})
	t.Run("children count for their own agent and model", func(t *testing.T) {
		t.Parallel()
		w := spendsWithin(t, rig.Plays(rig.Calls(rig.Call("1", "delegate", `{}`)), rig.Says("child"), rig.Says("done")), spending.Limits{}, rig.Box(runB()))
		_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Model: message.Model{Name: "dear"}})
		require.NoError(t, err)
		_, err = dialog.Send(t.Context(), w.Conv, message.TextInput("go"), &runtime.TurnOptions{Token: "ci"})
		require.NoError(t, err)
		u := message.Usage{Input: 10, Output: 5}
		assert.Equal(t, []store.Spent{
			{SpentKey: store.SpentKey{Project: "/p", Agent: "a", Model: "main", Token: "ci"}, Calls: 2, Usage: u.Add(u), Cost: 30},
			{SpentKey: store.SpentKey{Project: "/p", Agent: "b", Model: "dear", Token: "ci"}, Calls: 1, Usage: u, Cost: 15_000},
		}, w.rows())
	})
}

// A limit that is reached within a turn cuts no tool: its result is stored, and the next request
// is not made.
func TestSpecALimitOnSpendingEndsTheTurnBeforeTheNextRequest(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]spending.Limits{
		"turn":          {Turn: 15},
		"day":           {Day: 15},
		"project.day":   {Project: spending.Scope{Day: 15}},
		"project.total": {Project: spending.Scope{Total: 15}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			errs := point.OnModelErrorFunc(func(context.Context, *hook.Step, message.ModelFailure) (hook.FailureDecision, error) {
				asked++
				return hook.FallbackFailure("spare"), nil
			})
			w := spendsWithin(t, rig.Plays(rig.Calls(rig.Call("1", "echo", `{"s":"x"}`)), rig.Says("never")), l, rig.Box(rig.Named("echo")), errs)
			out := w.Send("go")
			assert.Equal(t, hook.StopCostLimit, out.Stop)
			require.NoError(t, out.Err)
			require.Equal(t, 1, out.Signals.Len())
			assert.Contains(t, out.Signals.At(0).Text, "spending limit reached: $0.0000 spent")
			assert.Contains(t, out.Signals.At(0).Text, "raise "+name+" in spending.Limits")
			assert.Contains(t, string(out.Signals.At(0).Context), `"limit":"`+name+`"`)
			assert.Len(t, w.Model.Requests, 1)
			assert.Equal(t, []string{"user go", `assistant [1 echo {"s":"x"}]`, "tool 1 echo: echo:x"}, w.History())
			assert.Equal(t, 1, out.Steps, "the second step has asked no model")
			assert.Zero(t, asked, "a limit is no failure of the model")
			if name == "turn" {
				w.Model.Replies = []message.ModelStream{nil, rig.Says("again")}
				assert.Equal(t, hook.StopCompleted, w.Send("again").Stop, "the next turn has its own")
				return
			}
			assert.Equal(t, hook.StopCostLimit, w.Send("again").Stop)
			assert.Len(t, w.Model.Requests, 1)
		})
	}
}

func TestSpecALimitOnSpendingReachesHooksAndChildren(t *testing.T) {
	t.Parallel()
	h := &titles{req: message.ModelRequest{Messages: message.MessagesOf(message.UserText("x"))}}
	w := spendsWithin(t, rig.Plays(rig.Says("hi"), rig.Says("never")), spending.Limits{Turn: 15}, h)
	assert.Equal(t, hook.StopCompleted, w.Send("go").Stop, "the answer is there")
	require.ErrorIs(t, h.err, hook.ErrBudget)
	require.ErrorContains(t, h.err, "spending limit reached")
	assert.Len(t, w.Model.Requests, 1)

	w = spendsWithin(t, rig.Plays(rig.Calls(rig.Call("1", "delegate", `{}`)), rig.Says("never")), spending.Limits{Turn: 15}, rig.Box(runB()))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Model: message.Model{Name: "dear"}})
	require.NoError(t, err)
	assert.Equal(t, hook.StopCostLimit, w.Send("go").Stop)
	assert.Equal(t, []string{"cost_limit "}, w.Results(), "the child has asked no model")
	assert.Len(t, w.Model.Requests, 1)
}

func TestSpecAModelWithoutAPriceIsSaidOnceATurnOrRefused(t *testing.T) {
	t.Parallel()
	novel := func(refuse bool) *payer {
		w := spendsWithin(t, rig.Plays(rig.Calls(rig.Call("1", "echo", `{}`)), rig.Says("done"), rig.Says("again")), spending.Limits{Day: hook.Dollar, RefuseUnknown: refuse},
			rig.Box(rig.Named("echo")), point.RewriteRequestFunc(func(_ context.Context, _ *hook.Step, r message.ModelRequest) (message.ModelRequest, error) {
				r.Model.Name = "novel"
				return r, nil
			}))
		return w
	}
	w := novel(false)
	w.Send("go")
	require.Len(t, w.EventsOf(event.Diagnostic), 1)
	assert.Contains(t, w.EventsOf(event.Diagnostic)[0].Text, "there is no price for the model novel")
	w.Send("go")
	assert.Len(t, w.EventsOf(event.Diagnostic), 2)
	assert.EqualValues(t, 3, w.total().Unpriced)

	w = novel(true)
	out := w.Send("go")
	assert.Equal(t, hook.StopCostLimit, out.Stop)
	assert.Contains(t, out.Signals.At(0).Text, `there is no price for the model "novel"`)
	assert.Empty(t, w.Model.Requests)
	assert.Empty(t, w.rows())
}

// What was cancelled or cut off is counted by estimate, what was refused not at all.
func TestSpecRequestsWithoutUsageAreEstimated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply message.ModelStream
		want  int64
	}{
		"cut off":             {rig.Chunks(rig.Text("12345678")), 1},
		"failed after text":   {rig.Fails(errors.New("gone"), "12345678"), 1},
		"too slow":            {rig.Fails(&provider.Error{Class: message.FailureTimeout, Err: errors.New("late")}), 1},
		"refused":             {rig.Fails(&provider.Error{Class: message.FailureAuth, Err: errors.New("no")}), 0},
		"not reached":         {rig.Fails(&provider.Error{Class: message.FailureNetwork, Err: errors.New("no")}), 0},
		"a finish and no use": {rig.Chunks(rig.Text("12345678"), message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}), 1},
		"the provider panics": {func(func(message.Chunk, error) bool) { panic("boom") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := spendsWithin(t, rig.Plays(tt.reply), spending.Limits{Day: hook.Dollar})
			_, _ = w.Try(t.Context(), "12345678")
			got := w.total()
			assert.Equal(t, tt.want, got.Calls)
			assert.Equal(t, tt.want, got.Estimated)
			assert.Equal(t, 2*tt.want, got.Usage.Input)
			assert.Equal(t, hook.Cost(got.Usage.Total()), got.Cost)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		w := spendsWithin(t, rig.Plays(func(yield func(message.Chunk, error) bool) {
			if yield(rig.Text("12345678"), nil) {
				cancel()
				yield(message.Chunk{}, context.Canceled)
			}
		}), spending.Limits{Day: hook.Dollar})
		_, err := w.Try(ctx, "12345678")
		require.Error(t, err)
		assert.Equal(t, message.Usage{Input: 2, Output: 2}, w.total().Usage)
		assert.EqualValues(t, 1, w.total().Estimated)
	})
}

// brokenAccounts is a store that keeps conversations, and no money.
type brokenAccounts struct{ store.Spending }

func (brokenAccounts) Settle(context.Context, int64, store.Spent) error {
	return errors.New("disk full")
}

func (brokenAccounts) Reserve(context.Context, store.Reservation, []store.SpendingLimit) (int64, error) {
	return 0, errors.New("disk full")
}

func TestSpecAccountsThatCannotBeWrittenAreToldAndLimitsThatCannotBeCheckedHold(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]spending.Limits{"no limit": {}, "a limit": {Day: hook.Dollar}} {
		ledger, err := spending.New(brokenAccounts{}, &spending.Options{Limits: l, Price: perPriced})
		require.NoError(t, err)
		w := rig.StartWith(t, rig.Plays(rig.Says("hi")), hook.AgentConfig{Name: "a"}, &runtime.Options{Spending: ledger})
		out, err := w.Try(t.Context(), "go")
		if name == "no limit" {
			require.NoError(t, err)
			require.Len(t, w.EventsOf(event.Diagnostic), 1)
			assert.Contains(t, w.EventsOf(event.Diagnostic)[0].Text, "is not written down: disk full")
			assert.Equal(t, hook.StopCompleted, out.Stop)
			continue
		}
		assert.Equal(t, hook.StopError, out.Stop)
		require.ErrorContains(t, err, "the limits cannot be checked, so no model is asked: disk full")
		assert.Empty(t, w.Model.Requests)
	}
}

// A turn that another process resumes goes on with the token and what it had spent.
func TestSpecAResumedTurnKeepsItsTokenAndWhatItHasSpent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limited := func(s store.Spending) *spending.Ledger {
		ledger, err := spending.New(s, &spending.Options{Limits: spending.Limits{Turn: 15}, Price: perPriced})
		require.NoError(t, err)
		return ledger
	}
	g := rig.NewGate("wait")
	s := rig.OpenSQLite(t, dir)
	p := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("1", "wait", `{}`))), runtime.Options{Spending: limited(s)}, rig.Box(g.Tool))
	p.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		o.Token = "ci"
		return dialog.Send(ctx, p.Conv, message.TextInput("go"), o)
	})
	<-g.Reached
	p.Dies()

	q := rig.Boot(t, dir, rig.Plays(rig.Says("never")), runtime.Options{Spending: limited(s)}, rig.Box(rig.Named("wait")))
	q.Resumes()
	out := q.Ends()
	require.NoError(t, out.Returned)
	assert.Equal(t, hook.StopCostLimit, out.Stop)
	assert.Empty(t, q.Model.Requests, "the turn had spent all of it")
	rows, err := s.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, "ci", rows[0].Token)
	assert.Equal(t, hook.Cost(15), rows[0].Cost)

	later := rig.Boot(t, dir, rig.Plays(rig.Calls(rig.Call("2", "wait", `{}`))), runtime.Options{Spending: limited(s)}, rig.Box(rig.Named("wait")))
	assert.Equal(t, hook.StopCostLimit, later.Send("more").Stop)
	rows, err = s.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	assert.Len(t, rows, 2, "the next turn is the local user's")
}

// What AfterStep is told is what all calls of the turn's own have cost, each at its own price.
func TestSpecAStepKnowsWhatItHasCost(t *testing.T) {
	t.Parallel()
	var costs []hook.Cost
	steps := point.AfterStepFunc(func(_ context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
		if s.Turn().Agent().Name == "a" {
			costs = append(costs, o.Cost)
		}
		return hook.StepDecision{}, nil
	})
	w := spendsWithin(t, rig.Plays(rig.Calls(rig.Call("1", "ask", `{}`)), rig.Says("x"), rig.Calls(rig.Call("2", "delegate", `{}`)), rig.Says("child"), rig.Says("done")), spending.Limits{},
		steps, rig.Box(askModel("ask"), runB()))
	_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b", Model: message.Model{Name: "dear"}})
	require.NoError(t, err)
	assert.Equal(t, hook.Cost(4*15+15_000), w.Send("go").Cost)
	assert.Equal(t, []hook.Cost{30, 15, 15}, costs, "with the calls of tools, without children, which have steps of their own")
}
