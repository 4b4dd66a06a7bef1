package undo

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/undo"
)

// Command is a line that people type.
type Command struct{ Name, Argument, Help string }

// Commands returns the lines that the subsystem answers.
func Commands() []Command {
	return []Command{
		{"undo", "[TURNS] [yes]", "show what an undo of the last turns would restore; with yes, do it"},
		{"redo", "[yes]", "show what taking back the last undo would change; with yes, do it"},
	}
}

// shownLines is how many paths of each kind an answer lists.
const shownLines = 50

// BeforeTurn answers the commands of people. An agent that runs another one has none.
func (u *Undo) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if t.Depth() > 0 || in.Messages.Len() != 1 || in.Messages.At(0).Label != "" {
		return hook.TurnDecision{}, nil
	}
	words := strings.Fields(in.Messages.At(0).Text())
	if len(words) == 0 || words[0] != "/undo" && words[0] != "/redo" {
		return hook.TurnDecision{}, nil
	}
	r, ok := parse(words)
	if !ok {
		return hook.RespondTurn("Nothing was changed. Write /undo, /undo 2, /undo yes, /undo 2 yes, /redo or /redo yes."), nil
	}
	return hook.RespondTurn(u.answer(ctx, t, r, words)), nil
}

// parse reads a command; ok is false if it is none.
func parse(words []string) (r undo.Request, ok bool) {
	r = undo.Request{Redo: words[0] == "/redo", Dry: true}
	rest := words[1:]
	if len(rest) > 0 && rest[len(rest)-1] == "yes" {
		r.Dry = false
		rest = rest[:len(rest)-1]
	}
	if len(rest) == 0 {
		return r, true
	}
	n, err := strconv.Atoi(rest[0])
	r.Turns = n
	return r, len(rest) == 1 && !r.Redo && err == nil && n > 0
}

func (u *Undo) answer(ctx context.Context, t *hook.Turn, r undo.Request, words []string) string {
	c := t.Conversation()
	if c.Ephemeral() {
		return "Nothing of this conversation is kept, so nothing can be undone."
	}
	out, err := u.book.Undo(ctx, c.ID(), r)
	if errors.Is(err, undo.ErrNothing) {
		return "Nothing was changed: " + err.Error()
	}
	if err != nil {
		return "The undo failed: " + err.Error()
	}
	text := out.Text(r, shownLines)
	if r.Dry && out.Changes() {
		text += strings.Join(words, " ") + " yes does it."
	}
	return strings.TrimSuffix(text, "\n")
}
