package calls_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// D2: whatever decides about a turn has a bound by default; only people may take their time.

func TestSpecALateGateEndsTheTurn(t *testing.T) {
	t.Parallel()
	obeys := func(ctx context.Context) { <-ctx.Done() }
	deaf := func(context.Context) { time.Sleep(10 * time.Minute) }
	for name, how := range map[string]func(context.Context){"obeys its context": obeys, "ignores its context": deaf} {
		gates := map[string]hook.Hook{
			"BeforeTurn": point.BeforeTurnFunc(func(ctx context.Context, _ *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
				how(ctx)
				return hook.TurnDecision{}, nil
			}),
			"BeforeTool": point.BeforeToolFunc(func(ctx context.Context, _ *hook.ToolCall) (hook.ToolDecision, error) {
				how(ctx)
				return hook.ToolDecision{}, nil
			}),
			"RewriteArgs": point.RewriteArgsFunc(func(ctx context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
				how(ctx)
				return args, nil
			}),
		}
		for at, gate := range gates {
			t.Run(at+" "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "echo", `{}`)), rig.Says("done")), gate, rig.Box(rig.Named("echo")))
					began := time.Now()
					out, err := w.Try(t.Context(), "1")
					require.ErrorIs(t, err, runtime.ErrLateGate)
					assert.ErrorContains(t, err, "H0 at "+at+", within 30s")
					assert.Equal(t, hook.StopError, out.Stop)
					assert.Less(t, time.Since(began), time.Minute)
					assert.Subset(t, []string{"cancelled before it started"}, w.Results(), "no tool ran")
					time.Sleep(time.Hour) // the gate comes back
					require.NoError(t, w.Runtime.Close(t.Context()))
				})
			})
		}
	}
}

func TestSpecAGateMayWaitForPeopleAgentsAndModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asks := point.BeforeTurnFunc(func(ctx context.Context, turn *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
			_, err := turn.Host().Ask(ctx, hook.Inquiry{ID: "q", Questions: message.ListOf(hook.Question{Text: "Now?"})})
			return hook.TurnDecision{}, err
		})
		judged := point.BeforeStepFunc(func(ctx context.Context, s *hook.Step) (hook.StepDecision, error) {
			_, err := s.Turn().Host().CallModel(ctx, message.ModelRequest{Messages: message.MessagesOf(message.UserText("may it?"))})
			return hook.StepDecision{}, err
		})
		slow := func(yield func(message.Chunk, error) bool) {
			time.Sleep(time.Hour)
			rig.Says("yes")(yield)
		}
		w := rig.Start(t, rig.Plays(slow, rig.Says("done")), asks, judged)
		began := time.Now()
		answered := make(chan error, 1)
		go func() {
			time.Sleep(time.Hour)
			id := w.Runtime.Pending()[0].Conversation
			answered <- w.Runtime.Answer(id, "q", "ann", hook.Response{Given: message.ListOf(hook.Given{Text: "yes"})})
		}()
		assert.Equal(t, "done", w.Send("1").Text())
		require.NoError(t, <-answered)
		assert.GreaterOrEqual(t, time.Since(began), 2*time.Hour)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

func TestSpecTheBoundOfGatesCanBeChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		gate time.Duration
		late bool
	}{{0, true}, {2 * time.Minute, false}, {-1, false}} {
		synctest.Test(t, func(t *testing.T) {
			gate := point.BeforeTurnFunc(func(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
				time.Sleep(time.Minute)
				return hook.TurnDecision{}, nil
			})
			w := rig.StartWith(t, rig.Plays(rig.Says("done")), hook.AgentConfig{Name: "a"}, &runtime.Options{Limits: runtime.Limits{Gate: tc.gate}}, gate)
			_, err := w.Try(t.Context(), "1")
			if tc.late {
				require.ErrorIs(t, err, runtime.ErrLateGate)
			} else {
				require.NoError(t, err)
			}
			time.Sleep(time.Hour)
			require.NoError(t, w.Runtime.Close(t.Context()))
		})
	}
}
