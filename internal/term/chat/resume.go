package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// maxListed is how many conversations are listed.
const maxListed = 10

// resume continues the conversation whose id begins with id. Without an id it lists the
// newest conversations.
func (c *Chat) resume(ctx context.Context, id string) error {
	all, err := c.o.App.Store.List(ctx)
	if err != nil {
		return err
	}
	project := c.o.App.Project()
	all = slices.DeleteFunc(all, func(r store.Record) bool { return r.Version == 0 || r.Key.Project != project })
	if id == "" {
		return c.list(ctx, all)
	}
	rec, err := pick(all, id)
	if err != nil {
		return err
	}
	agent, err := c.registered(ctx, rec.Key.Agent)
	if err != nil {
		return err
	}
	c.agent, c.sender, c.conv = agent, rec.Key.Sender, nil
	return c.enter(ctx)
}

// pick returns the only conversation whose id begins with id.
func pick(all []store.Record, id string) (store.Record, error) {
	var found []store.Record
	for _, r := range all {
		if strings.HasPrefix(strings.ToLower(r.ID), strings.ToLower(id)) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return store.Record{}, fmt.Errorf("there is no conversation %s; /resume lists the newest", id)
	case 1:
		return found[0], nil
	}
	return store.Record{}, fmt.Errorf("the ids of %d conversations begin with %s; type more of the id", len(found), id)
}

// registered returns the agent. It registers it if necessary.
func (c *Chat) registered(ctx context.Context, name string) (*runtime.Agent, error) {
	agent, err := c.o.App.Runtime.Agent(name)
	if !errors.Is(err, runtime.ErrAgentUnknown) {
		return agent, err
	}
	if agent, err = c.o.App.Register(ctx, name, c.o.Over); err != nil {
		return nil, err
	}
	return agent, c.o.App.CheckModel(agent.Config())
}

// list shows the newest conversations.
func (c *Chat) list(ctx context.Context, all []store.Record) error {
	if len(all) == 0 {
		c.say("There is no earlier conversation.")
		return nil
	}
	slices.SortFunc(all, func(a, b store.Record) int { return b.Updated.Compare(a.Updated) })
	var t table
	for _, r := range all[:min(len(all), maxListed)] {
		r, err := c.o.App.Store.Find(ctx, r.ID) // a found record has its title
		if err != nil {
			return err
		}
		t.row(r.ID, fmt.Sprintf("%s  %s  %s", r.Updated.Local().Format("2006-01-02 15:04"), r.Key.Agent, r.Title))
	}
	c.show(t)
	return nil
}

// enter opens the conversation of the sender and shows its last messages.
func (c *Chat) enter(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	messages, err := c.o.App.Store.Messages(ctx, c.conv.ID())
	if err != nil {
		return err
	}
	if !c.ed.Interactive() {
		return nil
	}
	if err := c.hintInterrupted(ctx); err != nil || len(messages) == 0 {
		return err
	}
	said, answered := exchange(messages)
	c.hint(fmt.Sprintf("Continuing %s with %s, %d messages so far:", c.conv.ID(), c.agent.Name(), len(messages)))
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
	err := c.turn(ctx, func(ctx context.Context, o *runtime.TurnOptions) (*runtime.Turn, error) {
		return c.o.App.Resume(ctx, c.conv, o)
	})
	if errors.Is(err, runtime.ErrNotInterrupted) {
		return errors.New("no turn of this conversation was interrupted; write what the agent is to do")
	}
	return err
}

// hintInterrupted shows a hint if there is an interrupted turn.
func (c *Chat) hintInterrupted(ctx context.Context) error {
	rec, err := c.o.App.Store.Conversation(ctx, store.Key{Project: c.o.App.Project(), Agent: c.agent.Name(), Sender: c.sender})
	if err == nil && c.o.App.Interrupted(rec) {
		c.hint("A turn of this conversation was interrupted. /continue resumes it; any other message ends it.")
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
