package agents_test

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
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
)

// severe is an error with the canary as its cause.
func severe(s hook.Severity, public string) error {
	return &hook.Error{Severity: s, Public: public, Err: errors.New(rig.Canary)}
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
			fails := &rig.Adds{
				Sections: func(*hook.Turn) ([]hook.PromptSection, error) {
					return nil, severe(tc.severity, "the vault\n is closed")
				},
				Event: func(ev hook.Event) {
					if f := ev.Failure(); f != nil && strings.Contains(f.Error(), rig.Canary) {
						heard++
					}
				},
			}
			w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two")), fails)
			out, _ := w.Try(t.Context(), "go")
			assert.Equal(t, tc.stop, out.Stop)
			assert.Len(t, w.EventsOf(event.HookFailed), tc.told)
			if tc.stop == hook.StopCompleted {
				assert.Equal(t, 1, heard, "hooks hear of every failure, with its cause")
			}
			for _, ev := range w.Events {
				assert.NotContains(t, ev.Text, rig.Canary, "the cause is for hooks only")
				if ev.Kind == event.HookFailed || ev.Kind == event.Error {
					assert.Contains(t, ev.Text, "PromptSections: the vault is closed")
				}
			}
			next, err := w.Try(t.Context(), "again")
			if tc.severity == hook.SeverityFatal {
				require.ErrorIs(t, err, runtime.ErrAgentHalted)
				assert.ErrorContains(t, err, "the vault is closed; update the agent or register it again")
				assert.NotContains(t, err.Error(), rig.Canary)
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
			tools := rig.Does("act", func(context.Context) message.ToolResult { ran = true; return message.TextResult("done") })
			gate := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
				return hook.ToolDecision{}, severe(s, "")
			})
			w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("c1", "act", `{}`)), rig.Says("ok")), gate, rig.Box(tools))
			_, err := w.Try(t.Context(), "go")
			require.NoError(t, err)
			assert.False(t, ran)
			assert.NotEmpty(t, w.EventsOf(event.HookFailed), "what closes something is always told")

			strict, err := composite.New(&struct {
				Strict *rig.Adds `hook:"PromptSections: failclosed"`
			}{&rig.Adds{Sections: func(*hook.Turn) ([]hook.PromptSection, error) { return nil, severe(s, "") }}})
			require.NoError(t, err)
			w = rig.Start(t, rig.Plays(rig.Says("ok")), strict)
			out, _ := w.Try(t.Context(), "go")
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
	w := rig.Start(t, rig.Plays(rig.Says("one"), rig.Says("two"), rig.Says("three")), open)
	out, _ := w.Try(t.Context(), "go")
	assert.NotEqual(t, hook.StopCompleted, out.Stop, "failopen does not open it")
	halted := 0
	for _, ev := range w.EventsOf(event.Diagnostic) {
		if ev.Detail().Code == event.CodeAgentHalted {
			halted++
		}
	}
	assert.Equal(t, 1, halted, "told once")
	_, err = w.Try(t.Context(), "again")
	require.ErrorIs(t, err, runtime.ErrAgentHalted)
	_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
	require.NoError(t, err, "others go on")
	broken = false
	_, err = w.Runtime.Update(t.Context(), hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	out, err = w.Try(t.Context(), "once more")
	require.NoError(t, err)
	assert.Equal(t, hook.StopCompleted, out.Stop)
}
