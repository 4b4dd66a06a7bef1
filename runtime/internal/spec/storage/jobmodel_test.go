package storage_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/spending"
)

// A job asks a model within the limits of its agent, and outside of any turn.

// queuesAfterTurn queues one job at the end of each turn.
func queuesAfterTurn(t *testing.T) hook.Hook {
	return point.AfterTurnFunc(func(ctx context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
		assert.NoError(t, turn.Host().Enqueue(ctx, hook.Job{Kind: "sum", Key: turn.ID()}))
	})
}

var sumUp = message.ModelRequest{
	System: "Sum up.", Messages: message.MessagesOf(message.UserText("hello")),
	Tools: message.NewToolSet([]message.Tool{{Name: "x"}}), Model: message.Model{Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}},
}

func TestSpecAJobAsksTheModelOfItsAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reply message.ModelReply
		var host hook.Host
		o := &runtime.Options{Price: rig.PerToken, Jobs: handles("sum", func(ctx context.Context, j runtime.JobRun) (err error) {
			host = j.Host
			reply, err = j.Host.CallModel(ctx, sumUp)
			_, asked := j.Host.Ask(ctx, hook.Inquiry{})
			assert.ErrorIs(t, asked, hook.ErrNoTurn, "there is still no turn")
			return err
		})}
		points := 0
		counts := point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
			points++
			return hook.ModelDecision{}, nil
		})
		m := rig.Plays(rig.Says("hi"), rig.Says("A sum"))
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a", Model: message.Model{Name: "main", MaxTokens: 70}}, o, queuesAfterTurn(t), counts)
		out := w.Send("1")
		synctest.Wait()
		assert.Equal(t, []string{"succeeded 1"}, jobsOf(t, w.Store))
		assert.Equal(t, "A sum", reply.Text())
		want := sumUp
		want.Tools, want.Model = nil, message.Model{Name: "main", MaxTokens: 70}
		require.Len(t, m.Requests, 2)
		assert.Equal(t, want, m.Requests[1])
		assert.Equal(t, 1, points, "the request of the turn")
		assert.Equal(t, message.Usage{Input: 10, Output: 5}, out.Usage, "the turn has ended, and pays nothing for it")
		assert.Equal(t, []string{"user 1", "assistant hi"}, w.History())
		_, err := host.CallModel(t.Context(), sumUp)
		assert.ErrorIs(t, err, hook.ErrNoTurn, "the attempt has ended")
		assert.Len(t, m.Requests, 2)
	})
}

func TestSpecAJobSpendsWithinTheLimitsOfItsAgent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokens int64
		limits spending.Limits
		want   []error
	}{
		"tokens":   {1, spending.Limits{}, []error{nil, hook.ErrBudget}},
		"money":    {0, spending.Limits{Turn: 1}, []error{nil, hook.ErrBudget}},
		"no limit": {0, spending.Limits{}, []error{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var got []error
				ledger, err := spending.New(nil, &spending.Options{Price: func(_ string, u message.Usage) (hook.Cost, bool) { return hook.Cost(u.Total()), true }, Limits: c.limits})
				require.NoError(t, err)
				o := &runtime.Options{Spending: ledger, Jobs: handles("sum", func(ctx context.Context, j runtime.JobRun) error {
					for range c.want {
						_, err := j.Host.CallModel(ctx, sumUp)
						got = append(got, err)
					}
					return nil
				})}
				answer := point.BeforeModelFunc(func(context.Context, *hook.Step, message.ModelRequest) (hook.ModelDecision, error) {
					return hook.RespondModel(message.ModelReply{Content: message.ListOf(message.TextBlock("canned")), Finish: message.FinishStop}), nil
				})
				w := rig.StartWith(t, rig.Plays(rig.Says("1"), rig.Says("2")), hook.AgentConfig{Name: "a", Model: message.Model{Name: "main", MaxTokens: 70}, Limits: hook.Limits{Tokens: c.tokens}}, o, queuesAfterTurn(t), answer)
				w.Send("1")
				synctest.Wait()
				require.Len(t, got, len(c.want))
				for i, want := range c.want {
					assert.ErrorIs(t, got[i], want)
				}
			})
		})
	}
}

func TestSpecAJobOutsideAConversationAsksNoModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("none")
		o := &runtime.Options{Jobs: handles("sum", func(ctx context.Context, j runtime.JobRun) error {
			_, failed = j.Host.CallModel(ctx, sumUp)
			return nil
		})}
		var host hook.Host
		opens := point.OnOpenFunc(func(_ context.Context, h hook.Host) error { host = h; return nil })
		m := rig.Plays(rig.Says("never"))
		w := rig.StartWith(t, m, hook.AgentConfig{Name: "a"}, o, opens)
		require.NoError(t, host.Enqueue(t.Context(), hook.Job{Kind: "sum", Key: "1"}))
		synctest.Wait()
		assert.ErrorIs(t, failed, hook.ErrNoTurn)
		assert.Empty(t, m.Requests)
		assert.Empty(t, w.EventsOf(event.Usage))
	})
}
