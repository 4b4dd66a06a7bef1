package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/history"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// load reads the history, because the store has another one. What is wrong with
// it, because a disk or another program has changed it, is mended or left out, and
// told.
func (c *Conversation) load(ctx context.Context, rec store.Record) error {
	messages, err := c.read(ctx, rec.ID)
	if err != nil {
		return err
	}
	c.ids, c.visited = map[string]int{}, false
	for _, m := range messages.All() {
		c.visited = c.visited || m.From != ""
		if m.Role == message.RoleTool {
			c.ids[m.CallID] = accepted
		}
	}
	c.version, c.turns, c.history = rec.Version, rec.Turns, messages
	return nil
}

// read returns the messages, which are the store's own if it has them in memory and
// there is nothing to mend.
func (c *Conversation) read(ctx context.Context, id string) (message.Messages, error) {
	s := c.agent.rt.o.Store
	all, err := s.Messages(ctx, id)
	if err := c.tellDamage(ctx, err); err != nil {
		return message.Messages{}, err
	}
	messages, mended := c.mended(ctx, all)
	if s, ok := s.(store.Histories); ok && !mended {
		return s.History(ctx, id)
	}
	return message.MessagesOf(messages...), nil
}

// tellDamage tells of what could not be read and goes on with the rest; any other
// error it returns.
func (c *Conversation) tellDamage(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	c.host.emit(ctx, hook.Event{Kind: event.Diagnostic, Text: err.Error()})
	return nil
}

// mended is the history as providers take it, and whether that is another one. Who
// reads it on is told what was wrong, by code.
func (c *Conversation) mended(ctx context.Context, messages []message.Message) ([]message.Message, bool) {
	messages, problems := history.Repair(messages)
	if len(problems) == 0 {
		return messages, false
	}
	counts := map[history.Code]int{}
	for _, p := range problems {
		counts[p.Code]++
	}
	parts := make([]string, 0, len(counts))
	for code, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", code, n))
	}
	slices.Sort(parts)
	c.host.emit(ctx, hook.DiagnosticEvent(hook.Diagnostic{
		Code: event.CodeHistoryRepaired, Text: "the history was repaired when it was read: " + strings.Join(parts, ", "), Visibility: hook.VisibleUser,
	}))
	return messages, true
}
