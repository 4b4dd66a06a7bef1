package remote

import (
	"context"
	"errors"
	"slices"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

// Host is a host that runs the turns on a daemon. Client, Approver and Note are required.
type Host struct {
	Client *client.Client
	// Approver asks the person at this terminal what the turns ask.
	Approver *term.Approver
	// Note is told, in a sentence, what the person has to know besides.
	Note func(text string)

	// commands are those of the agents that were looked up.
	commands map[string][]talk.Command
}

var _ talk.Host = (*Host)(nil)

// Agent implements [talk.Agents].
func (h *Host) Agent(ctx context.Context, name string) (talk.Agent, error) {
	a, err := h.Client.Agent(ctx, name)
	if err != nil {
		return talk.Agent{}, err
	}
	commands := make([]talk.Command, len(a.Commands))
	for i, c := range a.Commands {
		commands[i] = talk.Command(c)
	}
	if h.commands == nil {
		h.commands = map[string][]talk.Command{}
	}
	h.commands[name] = commands
	return agentOf(a), nil
}

func agentOf(a wire.Agent) talk.Agent {
	return talk.Agent{Name: a.Name, Description: a.Description, Model: a.Model}
}

// Agents implements [talk.Agents].
func (h *Host) Agents(ctx context.Context) ([]talk.Agent, error) {
	all, err := h.Client.Agents(ctx)
	out := make([]talk.Agent, len(all))
	for i, a := range all {
		out[i] = agentOf(a)
	}
	return out, err
}

// Tools implements [talk.Agents].
func (h *Host) Tools(ctx context.Context, agent string) ([]talk.Tool, error) {
	all, err := h.Client.Tools(ctx, agent)
	var out []talk.Tool
	for _, t := range all {
		if t.OutOfScope == "" {
			out = append(out, talk.Tool{Name: t.Name, Description: t.Description, Asks: t.Destructive || t.OpenWorld})
		}
	}
	return out, err
}

// Commands implements [talk.Agents].
func (h *Host) Commands(agent string) []talk.Command { return slices.Clone(h.commands[agent]) }

// Model implements [talk.Models]: the daemon says at the next turn whether it can ask the model.
func (h *Host) Model(name string) (string, error) { return name, nil }

// Candidates implements [talk.Models]: the models of the daemon's agents.
func (h *Host) Candidates(ctx context.Context, _ string) ([]string, error) {
	all, err := h.Client.Agents(ctx)
	var out []string
	for _, a := range all {
		if a.Model != "" && !slices.Contains(out, a.Model) {
			out = append(out, a.Model)
		}
	}
	return out, err
}

// List implements [talk.Conversations].
func (h *Host) List(ctx context.Context) ([]talk.Entry, error) {
	all, err := h.Client.Conversations(ctx)
	var out []talk.Entry
	for _, c := range all {
		if c.Title != "" || c.Turns > 0 || c.Turn != "" {
			out = append(out, talk.Entry{ID: c.ID, Agent: c.Agent, Sender: c.Sender, Title: c.Title, Updated: c.Updated})
		}
	}
	return out, err
}

// Open implements [talk.Conversations].
func (h *Host) Open(ctx context.Context, agent, sender string) (talk.Opened, error) {
	c, err := h.Client.Conversation(ctx, agent, sender)
	if err != nil {
		return talk.Opened{}, err
	}
	return talk.Opened{Conversation: &conversation{h, c.ID}, Interrupted: c.Interrupted, Running: c.Turn != ""}, nil
}

// conversation is a conversation of a daemon.
type conversation struct {
	host *Host
	id   string
}

// ID implements [talk.Conversation].
func (c *conversation) ID() string { return c.id }

// Messages implements [talk.Conversation].
func (c *conversation) Messages(ctx context.Context) ([]message.Message, error) {
	return c.host.Client.Messages(ctx, c.id)
}

// Send implements [talk.Conversation]. While another client's turn runs the message is for that turn, which is followed then.
func (c *conversation) Send(ctx context.Context, m talk.Message, observe func(hook.Event)) (hook.TurnOutcome, error) {
	in := wire.NewMessage{Text: m.Text, Guest: m.Guest, Model: message.Model{Name: m.Model}}
	if m.Guest == "" && m.Model == "" { // what steers has neither
		in.WhenBusy = wire.BusySteer
	}
	for _, f := range m.Files {
		in.Files = append(in.Files, wire.File{Name: f.Name, Data: f.Data})
	}
	return c.follow(ctx, observe, func(ctx context.Context) (wire.Turn, error) {
		turn, err := c.host.Client.SendMessage(ctx, c.id, in)
		if turn.Steered {
			c.host.Note("a turn was running, and has got the message")
		}
		return turn, err
	})
}

// Resume implements [talk.Conversation]. It follows a turn that runs already.
func (c *conversation) Resume(ctx context.Context, model string, observe func(hook.Event)) (hook.TurnOutcome, error) {
	if model != "" {
		c.host.Note("the turn goes on with the model that it began with")
	}
	return c.follow(ctx, observe, func(ctx context.Context) (wire.Turn, error) {
		turn, err := c.host.Client.Resume(ctx, c.id)
		switch client.CodeOf(err) {
		case wire.CodeBusy:
			return c.host.Client.Running(ctx, c.id, err)
		case wire.CodeIdle:
			return turn, talk.ErrNotInterrupted
		}
		return turn, err
	})
}

// follow begins a turn and follows it to its end. A turn that may have begun when ctx ends is cancelled.
func (c *conversation) follow(ctx context.Context, observe func(hook.Event), begin func(context.Context) (wire.Turn, error)) (hook.TurnOutcome, error) {
	turn, err := begin(ctx)
	if ctx.Err() != nil && err != nil {
		_, err := c.host.Client.Cancel(context.WithoutCancel(ctx), c.id)
		return hook.TurnOutcome{Stop: hook.StopCancelled, Err: errors.Join(errCancelled, err)}, nil
	}
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	return Attend(ctx, turn, Options{Client: c.host.Client, Approver: c.host.Approver, Show: observer(observe), Note: c.host.Note})
}

// observer shows the events of a turn, and leaves its outcome to the caller.
type observer func(hook.Event)

// OnEvent implements [term.Shower].
func (o observer) OnEvent(ev hook.Event) { o(ev) }

// Outcome implements [term.Shower].
func (o observer) Outcome(hook.TurnOutcome) {}
