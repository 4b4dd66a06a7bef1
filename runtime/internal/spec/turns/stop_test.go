package turns_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
)

// Why a turn has ended: of several reasons the most authoritative is reported, and all
// are kept.

// stopper answers stop when a tool has run.
type stopper struct{ hook.Nop }

func (stopper) AfterTool(context.Context, *hook.ToolCall, hook.ToolOutcome) (hook.OutcomeDecision, error) {
	return hook.StopOutcome("enough"), nil
}

func TestSpecOfSeveralReasonsTheMostAuthoritativeIsReported(t *testing.T) {
	t.Parallel()
	var w *rig.World
	stop := rig.Does("stop", func(ctx context.Context) message.ToolResult {
		dialog.Stop(w.Conv)
		<-ctx.Done()
		return message.TextResult("stopped")
	})
	w = rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "stop", `{}`))), rig.Box(stop), stopper{})
	out, err := w.Try(t.Context(), "1")
	require.NoError(t, err)
	assert.Equal(t, hook.StopStopRequested, out.Stop)
	assert.Equal(t, []hook.StopSignal{
		{Reason: hook.StopStopRequested, By: "H1", Text: "enough"}, {Reason: hook.StopUserRequested},
	}, out.Signals.Slice())
}

func TestSpecStopReasons(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		limits  hook.Limits
		replies []message.ModelStream
		stop    hook.StopReason
		signals []hook.StopReason
		history []string
	}{
		{"an answer", hook.Limits{}, []message.ModelStream{rig.Says("hi")}, hook.StopCompleted, []hook.StopReason{hook.StopCompleted},
			[]string{"user 1", "assistant hi"}},
		{"nothing: an empty reply is not kept", hook.Limits{}, []message.ModelStream{rig.Says(" \n")}, hook.StopNoAction, []hook.StopReason{hook.StopNoAction},
			[]string{"user 1"}},
		{"cut off", hook.Limits{}, []message.ModelStream{rig.Chunks(rig.Text("half an ans"), rig.Finish(message.FinishLength))}, hook.StopMaxTokens, []hook.StopReason{hook.StopMaxTokens},
			[]string{"user 1", "assistant half an ans"}},
		{"filtered", hook.Limits{}, []message.ModelStream{rig.Chunks(rig.Text("I"), rig.Finish(message.FinishFilter))}, hook.StopRefused, []hook.StopReason{hook.StopRefused},
			[]string{"user 1", "assistant I"}},
		{"too many steps", hook.Limits{Steps: 1}, []message.ModelStream{rig.Calls(rig.Call("c1", "echo", `{}`))}, hook.StopStepsLimit, []hook.StopReason{hook.StopStepsLimit},
			[]string{"user 1", "assistant [c1 echo {}]", "tool c1 echo: echo:"}},
		{"too many tokens", hook.Limits{Steps: 1, Tokens: 10}, []message.ModelStream{rig.Calls(rig.Call("c1", "echo", `{}`))}, hook.StopTokenLimit, []hook.StopReason{hook.StopTokenLimit},
			[]string{"user 1", "assistant [c1 echo {}]", "tool c1 echo: echo:"}},
		{"arguments that are no JSON: the model is told", hook.Limits{}, []message.ModelStream{rig.Calls(rig.Call("c1", "echo", `{"s":`)), rig.Says("sorry")}, hook.StopCompleted, []hook.StopReason{hook.StopCompleted},
			[]string{"user 1", `assistant [c1 echo {"unparsed_arguments":"{\"s\":"}]`, "tool c1 echo invalid_arguments: ", "assistant sorry"}},
		{"arguments that were cut off: the model is told", hook.Limits{}, []message.ModelStream{rig.Finishes(message.FinishLength, rig.Call("c1", "echo", `{"s":`)), rig.Says("shorter")}, hook.StopCompleted, []hook.StopReason{hook.StopCompleted},
			[]string{"user 1", `assistant [c1 echo {"unparsed_arguments":"{\"s\":"}]`, "tool c1 echo invalid_arguments: The answer was cut off at its token limit", "assistant shorter"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := rig.Box(rig.Named("echo"))
			w := rig.StartWith(t, rig.Plays(c.replies...), hook.AgentConfig{Name: "a", Limits: c.limits}, nil, b)
			out, err := w.Try(t.Context(), "1")
			assert.Equal(t, c.stop, out.Stop)
			assert.Equal(t, c.stop == hook.StopError, err != nil)
			var signals []hook.StopReason
			for _, s := range out.Signals.All() {
				signals = append(signals, s.Reason)
			}
			assert.Equal(t, c.signals, signals)
			lines := w.History()
			require.Len(t, lines, len(c.history), "%q", lines)
			for i, line := range lines {
				assert.Contains(t, line, c.history[i])
			}
			assert.Equal(t, "user 1", lines[0])
		})
	}
}
