package loop

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// setGuest makes another agent answer the turn, in text and without tools. Unregistering that
// agent waits for the end of the turn.
func (t *Turn) setGuest(name string) error {
	guest, err := t.env.Agent(name)
	if err != nil {
		return err
	}
	if guest == t.thread.Agent {
		return nil
	}
	setup, err := guest.Now().Under(t.base.Process, t.env.Environment)
	if err != nil {
		return fmt.Errorf("guest %q: %w", name, err)
	}
	cfg := *setup.Config
	cfg.Tools, cfg.Loop = []string{}, ""
	hooks, err := setup.Hooks.Under(t.layers)
	if err != nil {
		return fmt.Errorf("guest %q: %w", name, err)
	}
	view, err := t.viewOf(hooks, &cfg)
	if err == nil {
		t.untrackGuest, err = guest.Registration.TrackGuestTurn(t.thread)
	}
	if err != nil {
		return fmt.Errorf("guest %q: %w", name, err)
	}
	// Some providers want the tools of calls in the history to be named.
	view.Tools = t.view.Tools
	cfg.Model.Choice = message.ToolChoice{Mode: message.ToolChoiceNone}
	t.answering, t.setup, t.view, t.cfg = guest, setup, view, &cfg
	return nil
}

// guestName is the name of the guest that answers; "" if the conversation's own agent does.
func (t *Turn) guestName() string {
	if t.answering == t.thread.Agent {
		return ""
	}
	return t.answering.Name
}

// attributeMessages marks the messages of other agents for the agent that answers. The marks
// are not stored, because they differ from agent to agent.
func (t *Turn) attributeMessages() {
	me := t.guestName()
	if me == "" && !t.thread.guestSpoke {
		return
	}
	var shown message.Messages
	for _, m := range t.history.stored.All() {
		m = withoutMarks(m)
		if m.Role == message.RoleAssistant && m.From != me {
			m = t.withAuthor(m)
		}
		shown = shown.Append(m)
	}
	t.history.shown, t.history.separate = shown, true
	if me != "" {
		t.history.addEphemeral("guest", fmt.Sprintf("You are %s, and a guest in this conversation: you answer what follows, in text and without tools. "+
			"What other agents have said stands in <from agent=\"…\"> tags; write none yourself.", me))
	}
}

// mark matches what looks like the tag of an author.
var mark = regexp.MustCompile(`(?i)<(/?from)`)

// withoutMarks returns the message with no text in it that looks like such a tag: nobody speaks for another agent.
func withoutMarks(m message.Message) message.Message {
	for i, b := range m.Content.All() {
		if b.Kind != message.BlockText || !mark.MatchString(b.Text) {
			continue
		}
		blocks := m.Content.Slice()
		for j := i; j < len(blocks); j++ {
			if blocks[j].Kind == message.BlockText {
				blocks[j].Text = mark.ReplaceAllString(blocks[j].Text, `<\$1`)
			}
		}
		m.Content = message.Freeze(blocks)
		break
	}
	return m
}

// withAuthor puts the text of another agent's message into a tag with its name.
func (t *Turn) withAuthor(m message.Message) message.Message {
	who := m.From
	if who == "" {
		who = t.thread.Agent.Name
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
