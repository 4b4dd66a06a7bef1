package instructions_test

import (
	"cmp"
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
)

// recorder is a provider that keeps the system prompts.
type recorder struct {
	script  *script.Script
	prompts []string
}

func (r *recorder) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	r.prompts = append(r.prompts, req.System)
	return r.script.Stream(ctx, req)
}

// opened is a conversation of an agent chief, who can delegate to a mate who works in sub.
func opened(t *testing.T, h hook.Hook, model *recorder) *runtime.Conversation {
	t.Helper()
	rt := runtime.New(h, model, nil)
	require.NoError(t, rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, rt.Close(context.Background())) })
	chief, err := rt.Register(t.Context(), hook.AgentConfig{Name: "chief", Instructions: "You are the chief."})
	require.NoError(t, err)
	_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "mate", Instructions: "You are the mate."}.WithSection("instructions", `{"dir":"sub"}`))
	require.NoError(t, err)
	conv, err := chief.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return conv
}

func send(t *testing.T, conv *runtime.Conversation, text string) (hook.TurnOutcome, []string) {
	t.Helper()
	var said []string
	out, err := conv.Send(t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.Diagnostic {
			said = append(said, ev.Text)
		}
	}})
	require.NoError(t, cmp.Or(err, out.Err))
	return out, said
}

// TestAModelSeesAChangeInTheNextTurn: and the same prompt, to the byte, as long as there is
// none, in every step.
func TestAModelSeesAChangeInTheNextTurn(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "Answer in Danish.", "CLAUDE.md": "-> /etc/hostname", "sub/x": ""})
	model := &recorder{script: script.New(
		script.Rule{When: &script.When{System: script.Text{Contains: "Answer in Danish."}}, Say: "Hej."},
		script.Rule{When: &script.When{System: script.Text{Contains: "Answer in German."}}, Say: "Hallo."},
	)}
	conv := opened(t, instructions.New(&instructions.Options{Root: dir, Fresh: -1}), model)
	out, said := send(t, conv, "hello")
	assert.Equal(t, "Hej.", out.Text())
	assert.Equal(t, []string{"instructions: CLAUDE.md: left out: leads through a link out of " + dir + ", or one with an absolute target, which is not followed; put what it leads to in its place"}, said)
	out, said = send(t, conv, "again")
	assert.Equal(t, "Hej.", out.Text())
	assert.Empty(t, said, "once is enough")
	add(t, dir, files{"AGENTS.md": "Answer in German."})
	out, _ = send(t, conv, "and now?")
	assert.Equal(t, "Hallo.", out.Text())
	require.Len(t, model.prompts, 3)
	assert.Equal(t, model.prompts[0], model.prompts[1])
	assert.Regexp(t, `^You are the chief\.\n\nThe project in which you work has instructions`, model.prompts[0])
}

// TestAgentsThatAgentsRunGetThem: each those of where it works.
func TestAgentsThatAgentsRunGetThem(t *testing.T) {
	t.Parallel()
	dir := project(t, files{"AGENTS.md": "Top.", "sub/AGENTS.md": "Below."})
	del := delegate.New(&delegate.Options{Agents: func() []delegate.AgentInfo { return []delegate.AgentInfo{{Name: "mate"}} }})
	h, err := composite.Of("Both", composite.Field{Name: "Instructions", Hook: instructions.New(&instructions.Options{Root: dir})}, composite.Field{Name: "Delegate", Hook: del})
	require.NoError(t, err)
	model := &recorder{script: script.New(
		script.Rule{When: &script.When{System: script.Text{Contains: "You are the mate."}}, Say: "done"},
		script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: delegate.ToolDelegate, Args: `{"tasks":[{"agent":"mate","message":"go"}]}`}}},
		script.Rule{When: &script.When{Step: 2}, Say: "fine"},
	)}
	conv := opened(t, h, model)
	send(t, conv, "hello")
	require.Len(t, model.prompts, 3)
	assert.Contains(t, model.prompts[0], "\nTop.\n")
	assert.NotContains(t, model.prompts[0], "\nBelow.\n")
	assert.Contains(t, model.prompts[1], "\nTop.\n</project_file>\n\n<project_file path=\"sub/AGENTS.md\">\nBelow.\n")
	assert.Equal(t, model.prompts[0], model.prompts[2])
}
