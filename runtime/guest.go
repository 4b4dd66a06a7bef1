package runtime

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// invite makes another agent answer the turn: with text only. It is waited
// for when that agent is unregistered; the end of the turn ends the visit.
func (t *turn) invite(name string) error {
	guest, err := t.rt.Agent(name)
	if err != nil {
		return err
	}
	if guest == t.conv.agent {
		return nil
	}
	cfg := *guest.cfg
	cfg.Tools = []string{}
	hooks, err := guest.hooks.Under(t.layers)
	if err != nil {
		return fmt.Errorf("guest %q: %w", name, err)
	}
	view, err := t.viewOf(hooks, &cfg)
	if err == nil {
		err = guest.admit(t.conv)
	}
	if err != nil {
		return fmt.Errorf("guest %q: %w", name, err)
	}
	// Some providers want the tools of calls in the history to be named.
	view.Tools = t.view.Tools
	cfg.Model.Choice = message.ToolChoice{Mode: message.ToolChoiceNone}
	t.answers, t.view, t.cfg = guest, view, &cfg
	return nil
}

// admit begins a visit to the conversation, whose turn ends with the agent, and
// dismiss ends it.
func (a *Agent) admit(c *Conversation) error {
	a.keepChild(c) // first, so that who cancels the agent's turns finds it
	err := a.enter()
	if err != nil {
		a.dropChild(c)
	}
	return err
}

func (a *Agent) dismiss(c *Conversation) {
	a.dropChild(c)
	a.leave()
}

// guest is the name of the agent that answers if it is not the conversation's own.
func (t *turn) guest() string {
	if t.answers == t.conv.agent {
		return ""
	}
	return t.answers.Name()
}

// attribute shows the answering agent who said what, where several agents have
// spoken. It is not stored: another agent sees the same history in another way.
func (t *turn) attribute() {
	me := t.guest()
	if me == "" && !t.conv.visited {
		return
	}
	var shown message.Messages
	for _, m := range t.history.stored.All() {
		if m.Role == message.RoleAssistant && m.From != me {
			m = t.attributed(m)
		}
		shown = shown.Append(m)
	}
	t.history.shown, t.history.apart = shown, true
	if me != "" {
		t.history.note("guest", fmt.Sprintf("You are %s, and a guest in this conversation: you answer what follows, in text and without tools. "+
			"What other agents have said stands in <from agent=\"…\"> tags; write none yourself.", me))
	}
}

// attributed is a message of somebody else, with its text in a tag.
func (t *turn) attributed(m message.Message) message.Message {
	who := m.From
	if who == "" {
		who = t.conv.agent.Name()
	}
	blocks := m.Content.Slice()
	for i, b := range blocks {
		if b.Kind == message.BlockText && strings.TrimSpace(b.Text) != "" {
			blocks[i].Text = "<from agent=\"" + who + "\">\n" + b.Text + "\n</from>"
		}
	}
	m.Content = message.Freeze(blocks)
	return m
}
