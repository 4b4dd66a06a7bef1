package rig

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Panicky panics at the point of that name.
type Panicky struct {
	hook.Nop
	At string
}

func (p Panicky) trip(at string) {
	if p.At == at {
		panic("boom")
	}
}

func (p Panicky) Schema() []message.Tool { p.trip("Schema"); return nil }

func (p Panicky) SystemPrompt(*hook.AgentConfig) string { p.trip("SystemPrompt"); return "" }

func (p Panicky) ScopedTools(*hook.AgentConfig) hook.Scope {
	p.trip("ScopedTools")
	return hook.Scope{}
}

func (p Panicky) OnEvent(context.Context, hook.Event) { p.trip("OnEvent") }

func (p Panicky) OnBuildAgent(_ context.Context, c hook.AgentConfig) (hook.AgentConfig, error) {
	p.trip("OnBuildAgent")
	return c, nil
}

// Person answers one ask after the other and remembers what it was shown.
type Person struct {
	hook.Nop
	Answers []hook.ApprovalDecision
	Shown   []message.JSON
}

func (p *Person) Approve(_ context.Context, c *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	p.Shown = append(p.Shown, c.Args())
	if len(p.Answers) == 0 {
		return hook.ApprovalDecision{}, nil
	}
	a := p.Answers[0]
	p.Answers = p.Answers[1:]
	return a, nil
}

// Watcher remembers the events.
type Watcher struct {
	hook.Nop
	Events []hook.Event
}

func (w *Watcher) OnEvent(_ context.Context, ev hook.Event) { w.Events = append(w.Events, ev) }

// Observer is a hook that only has OnEvent.
type Observer struct {
	hook.Nop
	Do func(context.Context, hook.Event)
}

func (o Observer) OnEvent(ctx context.Context, ev hook.Event) { o.Do(ctx, ev) }

type preprocessor struct {
	hook.Nop
	f func(message.Input) (message.Input, error)
}

// Preprocess is a hook that only has Preprocess.
func Preprocess(f func(message.Input) (message.Input, error)) hook.Hook { return preprocessor{f: f} }

func (p preprocessor) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	return p.f(in)
}

// Adds is a hook with all contributing points, each a function or nothing.
type Adds struct {
	hook.Nop
	Policies func(*hook.Turn) ([]hook.Policy, error)
	Context  func(*hook.Turn) ([]hook.ContextBlock, error)
	Refined  func(*hook.Turn) ([]hook.ContextBlock, error)
	Tools    func(*hook.Turn) ([]hook.ToolChange, error)
	Sections func(*hook.Turn) ([]hook.PromptSection, error)
	Event    func(hook.Event)
}

func perhaps[T any](f func(*hook.Turn) ([]T, error), t *hook.Turn) ([]T, error) {
	if f == nil {
		return nil, nil
	}
	return f(t)
}

func (a *Adds) TurnPolicy(_ context.Context, t *hook.Turn) ([]hook.Policy, error) {
	return perhaps(a.Policies, t)
}

func (a *Adds) TurnContext(_ context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
	return perhaps(a.Context, t)
}

func (a *Adds) RefineContext(_ context.Context, t *hook.Turn) ([]hook.ContextBlock, error) {
	return perhaps(a.Refined, t)
}

func (a *Adds) TurnTools(_ context.Context, t *hook.Turn) ([]hook.ToolChange, error) {
	return perhaps(a.Tools, t)
}

func (a *Adds) PromptSections(_ context.Context, t *hook.Turn) ([]hook.PromptSection, error) {
	return perhaps(a.Sections, t)
}

func (a *Adds) OnEvent(_ context.Context, ev hook.Event) {
	if a.Event != nil {
		a.Event(ev)
	}
}

// Gives contributes the same in every turn.
func Gives[T any](items ...T) func(*hook.Turn) ([]T, error) {
	return func(*hook.Turn) ([]T, error) { return items, nil }
}

// Configured is the configuration of the agent "a" with these tools.
func Configured(tools ...string) hook.AgentConfig { return hook.AgentConfig{Name: "a", Tools: tools} }
