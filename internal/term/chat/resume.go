package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

// maxListed is how many conversations are listed.
const maxListed = 10

// resume continues the conversation whose id begins with id. Without an id it lists the
// newest conversations.
func (c *Chat) resume(ctx context.Context, id string) error {
	all, err := c.o.Host.List(ctx)
	if err != nil {
		return err
	}
	if id == "" {
		return c.list(all)
	}
	entry, err := pick(all, id)
	if err != nil {
		return err
	}
	agent, err := c.o.Host.Agent(ctx, entry.Agent)
	if err != nil {
		return err
	}
	c.agent, c.sender, c.conv = agent, entry.Sender, nil
	return c.enter(ctx)
}

// pick returns the only conversation whose id begins with id.
func pick(all []talk.Entry, id string) (talk.Entry, error) {
	var found []talk.Entry
	for _, r := range all {
		if strings.HasPrefix(strings.ToLower(r.ID), strings.ToLower(id)) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return talk.Entry{}, fmt.Errorf("there is no conversation %s; /resume lists the newest", id)
	case 1:
		return found[0], nil
	}
	return talk.Entry{}, fmt.Errorf("the ids of %d conversations begin with %s; type more of the id", len(found), id)
}

// list shows the newest conversations.
func (c *Chat) list(all []talk.Entry) error {
	if len(all) == 0 {
		c.say("There is no earlier conversation.")
		return nil
	}
	var t table
	for _, e := range all[:min(len(all), maxListed)] {
		t.row(e.ID, fmt.Sprintf("%s  %s  %s", e.Updated.Local().Format("2006-01-02 15:04"), e.Agent, e.Title))
	}
	c.show(t)
	return nil
}

// enter opens the conversation of the sender and shows its last messages.
func (c *Chat) enter(ctx context.Context) error {
	opened, err := c.o.Host.Open(ctx, c.agent.Name, c.sender)
	if err != nil {
		return err
	}
	c.conv = opened.Conversation
	if !c.ed.Interactive() {
		return nil
	}
	messages, err := c.conv.Messages(ctx)
	if err != nil {
		return err
	}
	switch {
	case opened.Running:
		c.hint("A turn of this conversation is running. /continue follows it; a message is for that turn.")
	case opened.Interrupted:
		c.hint("A turn of this conversation was interrupted. /continue resumes it; any other message ends it.")
	}
	if len(messages) == 0 {
		return nil
	}
	said, answered := exchange(messages)
	c.hint(fmt.Sprintf("Continuing %s with %s, %d messages so far:", c.conv.ID(), c.agent.Name, len(messages)))
	c.say(prompt + said)
	p := c.printer()
	p.OnEvent(hook.Event{Kind: event.TextDelta, Text: answered})
	p.OnEvent(hook.Event{Kind: event.TextEnd})
	c.say("")
	return nil
}

// resumeTurn resumes the interrupted turn.
func (c *Chat) resumeTurn(ctx context.Context, rest string) error {
	if rest != "" {
		return fmt.Errorf("the command takes no argument, but got %q", rest)
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	err := c.turn(ctx, func(ctx context.Context, observe func(hook.Event)) (hook.TurnOutcome, error) {
		return c.conv.Resume(ctx, c.model, observe)
	})
	if errors.Is(err, talk.ErrNotInterrupted) {
		return errors.New("no turn of this conversation was interrupted; write what the agent is to do")
	}
	return err
}

// exchange returns the last message of the user, and the agent's last answer to it.
func exchange(messages []message.Message) (said, answered string) {
	for _, m := range messages {
		switch {
		case m.Role == message.RoleUser && m.Label == "":
			said, answered = m.Text(), ""
		case m.Role == message.RoleAssistant && m.Text() != "":
			answered = m.Text()
		}
	}
	return said, answered
}
