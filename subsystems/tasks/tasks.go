// Package tasks gives an agent a plan and a list of tasks, which the conversation keeps.
//
//	tasks.New() // agents with the section "tasks" get todo_write and plan_write
//
// The model writes the whole list or the whole plan at once. From then on every turn shows both
// to it, as a block of context made of the stored state: a compaction cannot lose them. While a
// turn works on without touching an open list, a reminder shows the list again.
//
// The event plan_updated tells every change. People type /tasks to see both, and /tasks clear
// to drop them. A fork starts with a copy, and a rewind changes nothing, as with every state of
// a conversation. A child agent has a conversation, and so a list, of its own.
package tasks

import (
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// Key is the name of the stored state: the value is the JSON of a [List].
const Key = "tasks.list"

// Tasks keeps plans and lists. New makes one; it is safe for concurrent use.
//
//hook:subsystem
type Tasks struct {
	hook.Nop
	list hook.ConversationState[List]
	turn hook.TurnState[progress]

	mu sync.RWMutex
	// agents has the settings of registered agents with a section.
	agents map[*hook.AgentConfig]settings
}

// The points at which people ask for the list, and the model gets it.
var (
	_ hook.BeforeTurn  = (*Tasks)(nil)
	_ hook.TurnContext = (*Tasks)(nil)
	_ hook.AfterTool   = (*Tasks)(nil)
)

// Defaults of [Section].
const (
	DefaultItems  = 20
	DefaultRemind = 10
)

// Limits of a section. The schemas of the tools bound the texts.
const (
	maxItems  = 50
	maxRemind = 1000
)

// Section is the section "tasks" of an agent. An agent without it has no tasks.
type Section struct {
	// Items is how many tasks a list has at most, 1 to 50; 0 is DefaultItems.
	Items int `json:"items,omitempty"`
	// Remind is after how many steps without a change the open tasks are shown again, 1 to
	// 1000; 0 is DefaultRemind, -1 is never.
	Remind int `json:"remind,omitempty"`
}

// settings are those of one agent.
type settings struct{ items, remind int }

// New returns the subsystem.
func New() *Tasks {
	t := &Tasks{agents: map[*hook.AgentConfig]settings{}}
	t.list.Shared = Key
	return t
}

// States implements hook.Stateful.
func (t *Tasks) States() map[string]hook.State { return map[string]hook.State{"list": &t.list} }

// settingsOf returns the settings of the agent; ok is false if it has no section.
func settingsOf(cfg *hook.AgentConfig) (out settings, ok bool, err error) {
	s, ok, err := hook.SectionOf[Section](cfg, "tasks")
	if err != nil || !ok {
		return out, ok, err
	}
	out = settings{items: s.Items, remind: s.Remind}
	if out.items == 0 {
		out.items = DefaultItems
	}
	if out.remind == 0 {
		out.remind = DefaultRemind
	}
	switch {
	case out.items < 1 || out.items > maxItems:
		return out, ok, fmt.Errorf("agent %q: section tasks: items is %d; write a number from 1 to %d", cfg.Name, s.Items, maxItems)
	case out.remind < -1 || out.remind > maxRemind:
		return out, ok, fmt.Errorf("agent %q: section tasks: remind is %d; write a number from 1 to %d, or -1 for never", cfg.Name, s.Remind, maxRemind)
	}
	return out, ok, nil
}

// OnBuildAgent refuses a wrong section.
func (t *Tasks) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	_, _, err := settingsOf(&cfg)
	return cfg, err
}

// OnRegisterAgent keeps the agent's settings.
func (t *Tasks) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	s, ok, err := settingsOf(cfg)
	if err != nil || !ok {
		return err
	}
	t.mu.Lock()
	t.agents[cfg] = s
	t.mu.Unlock()
	return nil
}

// OnUnregisterAgent drops the agent's settings.
func (t *Tasks) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	t.mu.Lock()
	delete(t.agents, cfg)
	t.mu.Unlock()
}

// of returns the settings of the agent; ok is false if it has no section.
func (t *Tasks) of(cfg *hook.AgentConfig) (s settings, ok bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s, ok = t.agents[cfg]
	return s, ok
}

// ScopedTools gives the tools to agents with a section only.
func (t *Tasks) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	if _, ok, err := settingsOf(cfg); err != nil || !ok {
		return hook.Scope{Tools: []string{}}
	}
	return hook.Scope{}
}

// SystemPrompt says when to use the tools.
func (t *Tasks) SystemPrompt(cfg *hook.AgentConfig) string {
	if _, ok, err := settingsOf(cfg); err != nil || !ok {
		return ""
	}
	todo, plan := cfg.ToolName(ToolTodoWrite), cfg.ToolName(ToolPlanWrite)
	return "For work of several steps, keep a list of tasks with " + todo + ": write it before you begin, set a task to " +
		"in_progress when you begin it, and to completed when it is done and checked. " + plan + " keeps the approach that they follow. " +
		"You are shown both in every turn. Do not use them for a single question."
}
