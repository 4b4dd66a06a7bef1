package chat

import (
	"context"
	"errors"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/attach"
	"github.com/grapnel-go/grapnel/internal/term/edit"
	"github.com/grapnel-go/grapnel/internal/term/talk"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Local is a host that runs the turns in this process. All fields are required.
type Local struct {
	App *app.App
	// Over overrides the files of the agents that Agent registers.
	Over hook.AgentConfig
	// Paths are the places of the project.
	Paths app.Paths
}

var _ talk.Host = (*Local)(nil)

// Agent implements [talk.Agents]. It registers the agent if necessary.
func (l *Local) Agent(ctx context.Context, name string) (talk.Agent, error) {
	agent, err := l.App.Runtime.Agent(name)
	if errors.Is(err, runtime.ErrAgentUnknown) {
		if agent, err = l.App.Register(ctx, name, l.Over); err == nil {
			err = l.App.CheckModel(agent.Config())
		}
	}
	if err != nil {
		return talk.Agent{}, err
	}
	cfg := agent.Config()
	return talk.Agent{Name: agent.Name(), Description: cfg.Description, Model: cfg.Model.Name}, nil
}

// Agents implements [talk.Agents]: also those that are not registered.
func (l *Local) Agents(context.Context) ([]talk.Agent, error) {
	all, err := app.Agents(l.Paths, nil)
	if err != nil {
		return nil, err
	}
	out := make([]talk.Agent, len(all))
	for i, a := range all {
		out[i] = talk.Agent{Name: a.Config.Name, Description: a.Config.Description, Model: a.Config.Model.Name}
	}
	return out, nil
}

// Tools implements [talk.Agents].
func (l *Local) Tools(_ context.Context, agent string) ([]talk.Tool, error) {
	a, err := l.App.Runtime.Agent(agent)
	if err != nil {
		return nil, err
	}
	var out []talk.Tool
	for _, t := range l.App.Tools(a) {
		if t.OutOfScope == "" {
			out = append(out, talk.Tool{Name: t.Name, Description: t.Description, Asks: t.Destructive || t.OpenWorld})
		}
	}
	return out, nil
}

// Commands implements [talk.Agents].
func (l *Local) Commands(agent string) []talk.Command {
	a, err := l.App.Runtime.Agent(agent)
	if err != nil {
		return nil
	}
	all := l.App.Typed(a)
	out := make([]talk.Command, len(all))
	for i, c := range all {
		out[i] = talk.Command(c)
	}
	return out
}

// Model implements [talk.Models].
func (l *Local) Model(name string) (string, error) { return l.App.FindModel(name) }

// Candidates implements [talk.Models].
func (l *Local) Candidates(_ context.Context, agent string) ([]string, error) {
	a, err := l.App.Runtime.Agent(agent)
	if err != nil {
		return nil, err
	}
	return l.App.Candidates(a.Config()), nil
}

// List implements [talk.Conversations].
func (l *Local) List(ctx context.Context) ([]talk.Entry, error) {
	all, err := l.App.Store.List(ctx)
	if err != nil {
		return nil, err
	}
	project := l.App.Project()
	all = slices.DeleteFunc(all, func(r store.Record) bool { return r.Version == 0 || r.Key.Project != project })
	slices.SortFunc(all, func(a, b store.Record) int { return b.Updated.Compare(a.Updated) })
	out := make([]talk.Entry, len(all))
	for i, r := range all {
		out[i] = talk.Entry{ID: r.ID, Agent: r.Key.Agent, Sender: r.Key.Sender, Updated: r.Updated}
		if i < maxListed { // a found record has its title
			if r, err = l.App.Store.Find(ctx, r.ID); err != nil {
				return nil, err
			}
			out[i].Title = r.Title
		}
	}
	return out, nil
}

// Open implements [talk.Conversations].
func (l *Local) Open(ctx context.Context, agent, sender string) (talk.Opened, error) {
	a, err := l.App.Runtime.Agent(agent)
	if err != nil {
		return talk.Opened{}, err
	}
	conv, err := a.Conversation(ctx, sender)
	if err != nil {
		return talk.Opened{}, err
	}
	rec, err := l.App.Store.Conversation(ctx, store.Key{Project: l.App.Project(), Agent: agent, Sender: sender})
	if err != nil {
		return talk.Opened{}, err
	}
	return talk.Opened{Conversation: &localConversation{l.App, conv}, Interrupted: l.App.Interrupted(rec)}, nil
}

// localConversation is a conversation of this process.
type localConversation struct {
	app  *app.App
	conv *runtime.Conversation
}

// ID implements [talk.Conversation].
func (c *localConversation) ID() string { return c.conv.ID() }

// Messages implements [talk.Conversation].
func (c *localConversation) Messages(ctx context.Context) ([]message.Message, error) {
	return c.app.Store.Messages(ctx, c.conv.ID())
}

// Send implements [talk.Conversation].
func (c *localConversation) Send(ctx context.Context, m talk.Message, observe func(hook.Event)) (hook.TurnOutcome, error) {
	blocks := make([]message.Block, len(m.Files))
	for i, f := range m.Files {
		blocks[i] = f.Block
	}
	o := &runtime.TurnOptions{Observe: observe, Model: message.Model{Name: m.Model}, Guest: m.Guest}
	return c.wait(ctx, func() (*runtime.Turn, error) { return c.app.Start(ctx, c.conv, attach.Input(m.Text, blocks), o) })
}

// Resume implements [talk.Conversation].
func (c *localConversation) Resume(ctx context.Context, model string, observe func(hook.Event)) (hook.TurnOutcome, error) {
	o := &runtime.TurnOptions{Observe: observe, Model: message.Model{Name: model}}
	out, err := c.wait(ctx, func() (*runtime.Turn, error) { return c.app.Resume(ctx, c.conv, o) })
	if errors.Is(err, runtime.ErrNotInterrupted) {
		err = talk.ErrNotInterrupted
	}
	return out, err
}

func (c *localConversation) wait(ctx context.Context, start func() (*runtime.Turn, error)) (hook.TurnOutcome, error) {
	turn, err := start()
	switch {
	case errors.Is(err, edit.ErrInterrupt): // the cause of ctx: the person did not wait for the turn to begin
		return hook.TurnOutcome{Stop: hook.StopCancelled, Err: err}, nil
	case err != nil:
		return hook.TurnOutcome{}, err
	}
	return c.app.Wait(ctx, turn), nil
}
