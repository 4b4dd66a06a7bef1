package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// BeforeTool asks a person before remember replaces a memory of another conversation,
// because the old text is lost. It records the version in the turn, so that the call
// replaces exactly that version.
func (m *Memory) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	t := turn(call)
	if t == nil || call.Name() != t.Agent().ToolName(ToolRemember) {
		return hook.ToolDecision{}, nil
	}
	var in RememberInput
	if json.Unmarshal([]byte(call.Args()), &in) != nil {
		return hook.ToolDecision{}, nil // the tool reports the error
	}
	s, err := m.settingsOf(t.Agent())
	if err != nil {
		return hook.ToolDecision{}, err
	}
	var was version
	err = m.table.db.Read(ctx, func(r sqldb.Reader) error {
		was, err = look(r, s.own(), in.Name)
		return err
	})
	if err != nil {
		return hook.ToolDecision{}, fmt.Errorf("look for a memory of that name: %w", err)
	}
	if !was.foreign(root(t)) {
		return hook.ToolDecision{}, nil
	}
	m.asked.Update(t, func(old map[string]version) map[string]version {
		all := maps.Clone(old)
		if all == nil {
			all = map[string]version{}
		}
		all[call.ID()] = was
		return all
	})
	return hook.AskTool(fmt.Sprintf("it replaces what another conversation has remembered as %q", tidy(in.Name))), nil
}

// may returns which versions the call may replace: those of its own conversation, and the
// version that a person was asked about. Outside a turn it may replace any.
func (m *Memory) may(env *hook.Env) func(version) bool {
	if agent(env) == nil {
		return func(version) bool { return true }
	}
	t := turn(env.Call)
	own, asked := root(t), m.asked.Get(t)[env.Call.ID()]
	return func(is version) bool { return !is.foreign(own) || is == asked }
}

// conversation returns the id of the call's conversation; "" outside a turn.
func conversation(env *hook.Env) string {
	if agent(env) == nil {
		return ""
	}
	return root(turn(env.Call))
}

// root returns the id of the conversation that people see.
func root(t *hook.Turn) string { return t.Root().Conversation().ID() }
