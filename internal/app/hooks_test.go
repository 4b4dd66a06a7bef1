package app_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/states"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/cost"
	"github.com/grapnel-go/grapnel/subsystems/critique"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/guardrail"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/secure"
	"github.com/grapnel-go/grapnel/subsystems/sessions"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/structured"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
	"github.com/grapnel-go/grapnel/subsystems/undo"
)

// The stored data of every installation has these keys.
func TestKeysOfStoredStates(t *testing.T) {
	t.Parallel()
	keys, err := states.Of(whole(t).Compose())
	require.NoError(t, err)
	assert.Equal(t, []string{"Approval.conversations", "Compact.cleared", "Compact.pins", "Guard.conversation", "Guard.rates", "Instructions.told", "Memory.extracts", "Memory.shown", "Secure.read", "Skills.active", "Toolbox.conversation", "cost.conversation", "tasks.list"}, slices.Sorted(maps.Keys(keys)))
}

// whole is the composite with all its members.
func whole(t *testing.T) *app.Hooks {
	t.Helper()
	servers, err := mcp.New(mcp.Config{}, nil)
	require.NoError(t, err)
	memories, err := memory.Open(t.Context(), t.TempDir()+"/memory.db", nil)
	require.NoError(t, err)
	tools, err := ostools.New(t.TempDir(), nil)
	require.NoError(t, err)
	d := &app.Hooks{
		Policy: byAnnotations(t), Guard: guard.New(nil), Cost: free(t), Approval: approval.New(nil), Skills: skills.New(&skills.Options{Bundled: true}),
		AskUser: askuser.New(nil), Delegate: delegate.New(nil), Compact: compact.New(nil), Fallback: fallback.New(nil), Structured: structured.New(nil), Toolbox: toolbox.New(),
		Memory: memories, MCP: servers, OS: tools, Extra: []hook.Hook{hook.Nop{}},
		Tasks: tasks.New(), Critique: critique.New(), Guardrail: guardrail.New(nil), Secure: secure.New(nil),
		Undo:         undo.New(undo.NewBook(t.TempDir(), filepath.Join(t.TempDir(), "undo")), nil),
		Sessions:     sessions.New(&sessions.Options{Search: func(context.Context, sessions.Query) ([]sessions.Match, error) { return nil, nil }}),
		Instructions: instructions.New(&instructions.Options{Root: t.TempDir()}),
	}
	t.Cleanup(func() { assert.NoError(t, d.Compose().OnClose(t.Context())) })
	return d
}

// byAnnotations is the policy of a program without rules.
func byAnnotations(t *testing.T) *policy.Policy {
	t.Helper()
	p, err := policy.New(nil, &policy.Options{Default: policy.DefaultAnnotations})
	require.NoError(t, err)
	return p
}

// free is the cost of models without a price list.
func free(t *testing.T) *cost.Cost {
	t.Helper()
	c, err := cost.New(nil)
	require.NoError(t, err)
	return c
}

// among is the composite with these members as the ones added at run time.
func among(t *testing.T, members []hook.Hook) *app.Hooks {
	t.Helper()
	servers, err := mcp.New(mcp.Config{}, nil)
	require.NoError(t, err)
	tools, err := ostools.New(t.TempDir(), nil)
	require.NoError(t, err)
	return &app.Hooks{
		Secure: secure.New(nil), Policy: byAnnotations(t), Guard: guard.New(nil), Cost: free(t), Approval: approval.New(nil), Skills: skills.New(&skills.Options{Bundled: true}),
		AskUser: askuser.New(nil), Delegate: delegate.New(nil), Compact: compact.New(nil), Fallback: fallback.New(nil), Structured: structured.New(nil), Toolbox: toolbox.New(), MCP: servers, OS: tools, Extra: members,
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(t *testing.T) hook.Hook { return whole(t) }, &hooktest.Options{
		Compose: func(members ...hook.Hook) hook.Hook { return among(t, members) },
	})
}

// TestGeneratedIsDynamic: what was generated and what is made of the same struct
// at run time are one composite.
func TestGeneratedIsDynamic(t *testing.T) {
	t.Parallel()
	d := whole(t)
	dynamic, err := composite.New(d)
	require.NoError(t, err)
	assert.Equal(t, toolNames(dynamic.Schema()), toolNames(d.Schema()))
	assert.Equal(t, dynamic.Points(), d.Compose().Points())
	for i, m := range d.Compose().Plan().Members {
		other := dynamic.Plan().Members[i]
		assert.Equal(t, other.Field, m.Field)
		assert.Equal(t, other.Tools, m.Tools)
	}
}

func toolNames(tools []message.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func TestReady(t *testing.T) {
	t.Parallel()
	d := whole(t)
	require.NoError(t, d.Compose().Ready())
	assert.NoError(t, (&app.Hooks{
		Secure: d.Secure, Policy: d.Policy, Guard: d.Guard, Cost: d.Cost, Approval: d.Approval, Skills: d.Skills, AskUser: d.AskUser, Delegate: d.Delegate, Compact: d.Compact, Fallback: d.Fallback, Structured: d.Structured, MCP: d.MCP, OS: d.OS,
	}).Compose().Ready(), "what is optional may be missing")
	assert.EqualError(t, new(app.Hooks).Compose().Ready(),
		"app.Hooks: required and nil: Secure, Policy, Guard, Approval, Skills, AskUser, Delegate, MCP, OS, Cost, Compact, Fallback, Structured; set them, or tag them optional")
}

// TestWhatIsAsked pins which of the static tools need a person's approval.
func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	d := whole(t)
	var asked []string
	for _, tool := range d.Schema() {
		call := hook.NewToolCall(hook.ToolCallData{Step: hooktest.Step(nil), Tool: tool, Args: "{}"})
		decision, err := d.Compose().BeforeTool(t.Context(), call)
		require.NoError(t, err)
		if decision.Verdict().Kind == hook.AnswerAsk {
			asked = append(asked, tool.Name)
			assert.Equal(t, "Policy", decision.Verdict().By)
		}
	}
	assert.ElementsMatch(t, []string{"bash", "write", "edit", "forget"}, asked)
}
