package compact

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Limits of what people pin in a conversation, in bytes.
const (
	maxPin  = 500
	maxPins = 2000
)

// Command is a line that people type.
type Command struct{ Name, Argument, Help string }

// Commands returns the lines that the subsystem answers.
func Commands() []Command {
	return []Command{
		{"compact", "[FOCUS]", "replace older turns by a summary, which keeps what FOCUS names"},
		{"pin", "TEXT", "keep the text in every summary"},
		{"pins", "", "list what is pinned"},
		{"unpin", "NUMBER", "forget what is pinned under the number"},
	}
}

// BeforeTurn answers the commands of people. An agent that runs another one has none.
func (c *Compact) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if t.Depth() > 0 || in.Messages.Len() != 1 || in.Messages.At(0).Label != "" {
		return hook.TurnDecision{}, nil
	}
	line := in.Messages.At(0).Text()
	if !strings.HasPrefix(line, "/") {
		return hook.TurnDecision{}, nil
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(line[1:]), " ")
	switch rest = strings.TrimSpace(rest); name {
	case "compact":
		return hook.RespondTurn(c.compactNow(ctx, t, rest)), nil
	case "pin":
		return hook.RespondTurn(c.pin(t.Conversation(), rest)), nil
	case "pins":
		return hook.RespondTurn(list(c.pins.Get(t.Conversation()))), nil
	case "unpin":
		return hook.RespondTurn(c.unpin(t.Conversation(), rest)), nil
	}
	return hook.TurnDecision{}, nil
}

func (c *Compact) compactNow(ctx context.Context, t *hook.Turn, focus string) string {
	made, err := t.Host().Compact(ctx, "a person has asked for it", hook.CompactOptions{Keep: 1, Focus: focus, Model: c.of(t.Agent()).Model})
	if err != nil {
		return "Nothing was compacted: " + err.Error()
	}
	return fmt.Sprintf("%d messages are now a summary: about %d tokens instead of %d. Search finds all of them.", made.Removed, made.After, made.Before)
}

func (c *Compact) pin(conv *hook.Conversation, text string) string {
	if text == "" {
		return "Nothing to pin: write /pin TEXT"
	}
	text = strings.Join(strings.Fields(text), " ")
	refused := ""
	pins := c.pins.Update(conv, func(was []string) []string {
		size := len(text)
		for _, p := range was {
			size += len(p)
		}
		switch {
		case slices.Contains(was, text):
			return was
		case len(text) > maxPin:
			refused = fmt.Sprintf("The text has %d bytes; pin at most %d.", len(text), maxPin)
		case size > maxPins:
			refused = fmt.Sprintf("All pins together would have %d bytes of at most %d; /unpin one first.", size, maxPins)
		default:
			return append(slices.Clip(was), text)
		}
		return was
	})
	if refused != "" {
		return refused
	}
	return fmt.Sprintf("Pinned as %d: %s", slices.Index(pins, text)+1, text)
}

func (c *Compact) unpin(conv *hook.Conversation, number string) string {
	n, err := strconv.Atoi(number)
	was := c.pins.Get(conv)
	if err != nil || n < 1 || n > len(was) {
		return fmt.Sprintf("There is no pin %q. %s", number, list(was))
	}
	c.pins.Update(conv, func(was []string) []string { return slices.Delete(slices.Clone(was), n-1, n) })
	return "Forgotten: " + was[n-1]
}

func list(pins []string) string {
	if len(pins) == 0 {
		return "Nothing is pinned; /pin TEXT keeps a text in every summary."
	}
	var b strings.Builder
	for i, p := range pins {
		fmt.Fprintf(&b, "%d. %s\n", i+1, p)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
