package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime"
)

// severe is an error with the canary as its cause.
func severe(s hook.Severity, public string) error {
	return &hook.Error{Severity: s, Public: public, Err: errors.New(canary)}
}

// TestSpecHowFarAnErrorReaches: a contributor fails open by default, and an error that weighs more ends the turn.
func TestSpecHowFarAnErrorReaches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		severity hook.Severity
		stop     hook.StopReason
		told     int
	}{
		{"", hook.StopCompleted, 1},
		{"no such severity", hook.StopCompleted, 1},
		{hook.SeveritySilent, hook.StopCompleted, 0},
		{hook.SeverityDegraded, hook.StopCompleted, 1},
		{hook.SeverityConversation, hook.StopError, 1},
		{hook.SeverityFatal, hook.StopError, 1},
	} {
		t.Run(string(tc.severity), func(t *testing.T) {
			t.Parallel()
			heard := 0
			fails := &adds{
				sections: func(*hook.Turn) ([]hook.PromptSection, error) {
					return nil, severe(tc.severity, "the vault\n is closed")
				},
				event: func(ev hook.Event) {
					if f := ev.Failure(); f != nil && strings.Contains(f.Error(), canary) {
						heard++
					}
				},
			}
			w := start(t, plays(says("one"), says("two")), fails)
			out, _ := w.try(t.Context(), "go")
			assert.Equal(t, tc.stop, out.Stop)
			assert.Len(t, w.eventsOf(event.HookFailed), tc.told)
			if tc.stop == hook.StopCompleted {
				assert.Equal(t, 1, heard, "hooks hear of every failure, with its cause")
			}
			for _, ev := range w.events {
				assert.NotContains(t, ev.Text, canary, "the cause is for hooks only")
				if ev.Kind == event.HookFailed || ev.Kind == event.Error {
					assert.Contains(t, ev.Text, "PromptSections: the vault is closed")
				}
			}
			next, err := w.try(t.Context(), "again")
			if tc.severity == hook.SeverityFatal {
				require.ErrorIs(t, err, runtime.ErrAgentHalted)
				assert.ErrorContains(t, err, "the vault is closed; update the agent or register it again")
				assert.NotContains(t, err.Error(), canary)
				return
			}
			require.NotErrorIs(t, err, runtime.ErrAgentHalted)
			assert.Equal(t, tc.stop, next.Stop)
		})
	}
}

// TestSpecNoSeverityOpensAGate: a gate that fails stays closed however light it says that its error is, and so does a member
// that a tag closes.
func TestSpecNoSeverityOpensAGate(t *testing.T) {
	t.Parallel()
	for _, s := range []hook.Severity{"", hook.SeveritySilent, hook.SeverityDegraded, hook.SeverityConversation} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			ran := false
			tools := does("act", func(context.Context) message.ToolResult { ran = true; return message.TextResult("done") })
			gate := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
				return hook.ToolDecision{}, severe(s, "")
			})
			w := start(t, plays(calls(want{"c1", "act", `{}`}), says("ok")), gate, box(tools))
			_, err := w.try(t.Context(), "go")
			require.NoError(t, err)
			assert.False(t, ran)
			assert.NotEmpty(t, w.eventsOf(event.HookFailed), "what closes something is always told")

			strict, err := composite.New(&struct {
				Strict *adds `hook:"PromptSections: failclosed"`
			}{&adds{sections: func(*hook.Turn) ([]hook.PromptSection, error) { return nil, severe(s, "") }}})
			require.NoError(t, err)
			w = start(t, plays(says("ok")), strict)
			out, _ := w.try(t.Context(), "go")
			assert.Equal(t, hook.StopError, out.Stop)
		})
	}
}

// TestSpecAFatalErrorOfAGateHaltsItsAgentOnly, until it is updated.
func TestSpecAFatalErrorOfAGateHaltsItsAgentOnly(t *testing.T) {
	t.Parallel()
	broken := true
	open, err := composite.New(&struct {
		Gate hook.Hook `hook:"BeforeTurn: failopen"`
	}{point.BeforeTurnFunc(func(_ context.Context, turn *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
		if broken && turn.Agent().Name == "a" {
			return hook.TurnDecision{}, severe(hook.SeverityFatal, "no key")
		}
		return hook.TurnDecision{}, nil
	})})
	require.NoError(t, err)
	w := start(t, plays(says("one"), says("two"), says("three")), open)
	out, _ := w.try(t.Context(), "go")
	assert.NotEqual(t, hook.StopCompleted, out.Stop, "failopen does not open it")
	halted := 0
	for _, ev := range w.eventsOf(event.Diagnostic) {
		if ev.Detail().Code == event.CodeAgentHalted {
			halted++
		}
	}
	assert.Equal(t, 1, halted, "told once")
	_, err = w.try(t.Context(), "again")
	require.ErrorIs(t, err, runtime.ErrAgentHalted)
	_, err = w.rt.Register(t.Context(), hook.AgentConfig{Name: "b"})
	require.NoError(t, err, "others go on")
	broken = false
	_, err = w.rt.Update(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	out, err = w.try(t.Context(), "once more")
	require.NoError(t, err)
	assert.Equal(t, hook.StopCompleted, out.Stop)
}
