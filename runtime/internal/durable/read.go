package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// read reads states, history and journal again where another process may have changed them.
func (l *Lease) read(ctx context.Context, rec store.Record) error {
	if l.statesAt != l.epoch {
		if err := l.rereadStates(ctx, rec); err != nil {
			return err
		}
	}
	if rec.Version != l.past.version {
		if err := l.readHistory(ctx, rec); err != nil {
			return err
		}
	}
	l.past.journal = nil
	if !rec.Journaled {
		return nil
	}
	var err error
	l.past.journal, err = l.store().Journal(ctx, rec.ID)
	return l.reportDamage(ctx, err)
}

// rereadStates reads the states after a claim.
func (l *Lease) rereadStates(ctx context.Context, rec store.Record) error {
	if l.foreign {
		l.states.Discard()
	}
	bad, err := l.ReadStates(ctx, rec)
	if err != nil {
		return err
	}
	if bad != nil {
		l.owner.Tell(ctx, hook.Event{Kind: event.Diagnostic, Text: bad.Error()})
	}
	l.statesAt, l.foreign = l.epoch, false
	return nil
}

// ReadStates reads the states that hooks keep in the conversation, unless it is new. bad
// reports states that could not be read; they count as never set.
func (l *Lease) ReadStates(ctx context.Context, rec store.Record) (bad, err error) {
	s, ok := l.store().(store.States)
	if !ok || !l.keeps || rec.Version == 0 && rec.Lease.Epoch <= 1 {
		return nil, nil
	}
	values, err := s.States(ctx, rec.ID)
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return nil, err
	}
	return errors.Join(err, l.states.Load(values)), nil
}

// readHistory reads the history. A disk or another program may have damaged it: readHistory
// repairs or leaves out such messages, and reports them.
func (l *Lease) readHistory(ctx context.Context, rec store.Record) error {
	messages, err := l.messages(ctx, rec.ID)
	if err != nil {
		return err
	}
	l.past.version, l.past.turns, l.past.history = rec.Version, rec.Turns, messages
	l.owner.Loaded(messages)
	return nil
}

// messages reads and repairs the messages. If the store has them in memory and they are
// sound, it returns the store's own.
func (l *Lease) messages(ctx context.Context, id string) (message.Messages, error) {
	all, err := l.store().Messages(ctx, id)
	if err := l.reportDamage(ctx, err); err != nil {
		return message.Messages{}, err
	}
	messages, problems := history.Repair(all)
	if len(problems) > 0 {
		l.owner.Tell(ctx, repaired(problems))
	} else if s, ok := l.store().(store.Histories); ok {
		return s.History(ctx, id)
	}
	return message.MessagesOf(messages...), nil
}

// reportDamage emits a [store.ErrDamaged] and returns nil. It returns any other error.
func (l *Lease) reportDamage(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	l.owner.Tell(ctx, hook.Event{Kind: event.Diagnostic, Text: err.Error()})
	return nil
}

// repaired returns an event that counts the problems of a history by kind.
func repaired(problems []history.Problem) hook.Event {
	counts := map[history.Code]int{}
	for _, p := range problems {
		counts[p.Code]++
	}
	parts := make([]string, 0, len(counts))
	for code, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", code, n))
	}
	slices.Sort(parts)
	return hook.Diagnostic{
		Code: event.CodeHistoryRepaired, Visibility: event.VisibleUser,
		Text: "the history was repaired when it was read: " + strings.Join(parts, ", "),
	}.Event()
}

// readAgain returns an event that reports an error of the read after a change.
func readAgain(id string, err error) hook.Event {
	return hook.Event{Kind: event.Diagnostic, Text: fmt.Sprintf("conversation %s will be read again: %v", id, err)}
}
