package work

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Say is what the person says in every turn, and Done the answer of the model if it
// comes in one piece.
const (
	Say  = "How much is on the shopping list?"
	Done = "done"
	// Word is a piece of an answer that comes in pieces.
	Word = "word "
)

// Old is message i, from 0, of the history that a conversation has before its first
// turn: they come from the person and the model in turn.
func Old(i int) (person bool, text string) { return i%2 == 0, "an old message" }

// Ledger counts what is done in the turns of one conversation. The model of a
// conversation is asked by one goroutine at a time; all else may be called from any.
type Ledger struct {
	turn   Turn
	answer string

	models, calls, hooks, deltas atomic.Int64

	ids   string
	batch int
}

// NewLedger returns a ledger for turns like t.
func NewLedger(t Turn) *Ledger {
	l := &Ledger{turn: t, answer: Done}
	if t.Deltas > 0 {
		l.answer = strings.Repeat(Word, t.Deltas)
	}
	return l
}

// Ledgers are those of all conversations.
type Ledgers []*Ledger

// NewLedgers returns one for each conversation of t.
func NewLedgers(t Turn) Ledgers {
	all := make(Ledgers, max(t.Conversations, 1))
	for i := range all {
		all[i] = NewLedger(t)
	}
	return all
}

type key struct{}

// With returns the context of a turn in the conversation, by which model, tools and
// hooks find the ledger.
func (all Ledgers) With(ctx context.Context, conversation int) context.Context {
	if len(all) == 1 {
		return ctx
	}
	return context.WithValue(ctx, key{}, all[conversation])
}

// In returns the ledger of the turn of which this is the context. Where there is one
// conversation it costs nothing.
func (all Ledgers) In(ctx context.Context) *Ledger {
	if len(all) == 1 {
		return all[0]
	}
	l, _ := ctx.Value(key{}).(*Ledger)
	return l
}

// Begin is called before a turn.
func (l *Ledger) Begin() {
	l.models.Store(0)
	l.calls.Store(0)
	l.hooks.Store(0)
	l.deltas.Store(0)
}

// Seen is what a model is shown.
type Seen struct {
	// Tools is how many it may call.
	Tools int
	// Messages is how many there are, without a system prompt.
	Messages int
	// Results is how many results of tools stand behind its own last message, and Last
	// the text of the last of them.
	Results int
	Last    string
}

// Model is called by the model. It returns how many calls to answer; 0 is to answer
// with [Ledger.Answer].
func (l *Ledger) Model(s Seen) (calls int, err error) {
	n := l.models.Add(1)
	if s.Tools != l.turn.Tools {
		return 0, fmt.Errorf("the model was told %d tools of %d", s.Tools, l.turn.Tools)
	}
	shown := l.turn.Messages + 1
	if n > 1 {
		shown += 1 + l.turn.Calls
	}
	if s.Messages < shown {
		return 0, fmt.Errorf("model call %d was shown %d messages, there are at least %d", n, s.Messages, shown)
	}
	if n == 1 && l.turn.Calls > 0 {
		if s.Results != 0 {
			return 0, fmt.Errorf("model call 1 was shown %d results", s.Results)
		}
		return l.turn.Calls, nil
	}
	if s.Results != l.turn.Calls {
		return 0, fmt.Errorf("model call %d was shown %d results of %d", n, s.Results, l.turn.Calls)
	}
	if s.Results > 0 && !strings.Contains(s.Last, "Shopping list") {
		return 0, fmt.Errorf("the last result is %q", s.Last)
	}
	return 0, nil
}

// Answer is what the model answers in the end. If the turn has deltas it comes as
// that many of [Word].
func (l *Ledger) Answer() string { return l.answer }

// ID returns the id of the next call: no two of a ledger are the same. Only the
// model calls it.
func (l *Ledger) ID() string {
	const size, many = 12, 1000
	if l.ids == "" {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, "%0*d", size, l.batch*many+i)
		}
		l.ids, l.batch = b.String(), l.batch+1
	}
	id := l.ids[:size]
	l.ids = l.ids[size:]
	return id
}

// Find is the tool's body: it counts, waits as the turn says, and is [Find].
func (l *Ledger) Find(in Input) (Answer, error) {
	l.call()
	return Find(in)
}

// FindJSON is Find for tools that take and return text.
func (l *Ledger) FindJSON(args string) (string, error) {
	l.call()
	return FindJSON(args)
}

func (l *Ledger) call() {
	l.calls.Add(1)
	if l.turn.Wait > 0 {
		time.Sleep(l.turn.Wait)
	}
}

// Hook is called by each hook before and after each model call and each tool call.
func (l *Ledger) Hook() { l.hooks.Add(1) }

// Delta is called by the consumer of a streamed answer.
func (l *Ledger) Delta(text string) {
	if text == Word {
		l.deltas.Add(1)
	}
}

// End is called with the answer of a turn and says whether all of it was done.
func (l *Ledger) End(answer string) error {
	models := int64(1)
	if l.turn.Calls > 0 {
		models = 2
	}
	calls := int64(l.turn.Calls)
	var errs []error
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"model calls", l.models.Load(), models},
		{"tool calls", l.calls.Load(), calls},
		{"visits of hooks", l.hooks.Load(), int64(l.turn.Hooks) * 2 * (models + calls)},
		{"deltas", l.deltas.Load(), int64(l.turn.Deltas)},
	} {
		if c.got != c.want {
			errs = append(errs, fmt.Errorf("%d %s, %d were asked for", c.got, c.what, c.want))
		}
	}
	if answer != l.answer {
		errs = append(errs, fmt.Errorf("the answer is %.40q and not %.40q", answer, l.answer))
	}
	return errors.Join(errs...)
}
