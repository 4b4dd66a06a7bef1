package explain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// ErrUnknown: no conversation has a call of that id.
var ErrUnknown = errors.New("no such call")

// Log is the part of a store that Find reads. It needs no children: their events are in the
// conversations that people see.
type Log interface {
	List(ctx context.Context) ([]store.Record, error)
	Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error)
}

// Within limits a log to one project.
func Within(log Log, project string) Log { return within{log, project} }

type within struct {
	Log
	project string
}

// List returns the conversations of the project.
func (w within) List(ctx context.Context) ([]store.Record, error) {
	all, err := w.Log.List(ctx)
	return slices.DeleteFunc(all, func(r store.Record) bool { return r.Key.Project != w.project }), err
}

// page is how many events one read returns.
const page = 2000

// Find explains the last call with the id: in the conversation, or with "" in the last
// changed conversation that has one. Models choose ids, which are unique only within a turn.
// Find skips unreadable events.
func Find(ctx context.Context, log Log, id, conversation string, p *plan.Plan) (Call, error) {
	all, err := newest(ctx, log, conversation)
	if err != nil {
		return Call{}, err
	}
	for _, rec := range all {
		turns, err := callsOf(ctx, log, rec.ID, id)
		if err != nil {
			return Call{}, err
		}
		if len(turns) == 0 {
			continue
		}
		c := Explain(turns[len(turns)-1], p)
		c.Others = len(turns) - 1
		return c, nil
	}
	return Call{}, fmt.Errorf("%w: %q", ErrUnknown, id)
}

func newest(ctx context.Context, log Log, only string) ([]store.Record, error) {
	all, err := log.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the conversations: %w", err)
	}
	if only != "" {
		all = slices.DeleteFunc(all, func(r store.Record) bool { return r.ID != only })
		if len(all) == 0 {
			return nil, fmt.Errorf("%w: %s", store.ErrUnknown, only)
		}
	}
	slices.SortStableFunc(all, func(a, b store.Record) int { return b.Updated.Compare(a.Updated) })
	return all, nil
}

// callsOf returns the events of every call with the id, by turn, with the failures of hooks
// in that turn.
func callsOf(ctx context.Context, log Log, conversation, id string) ([][]hook.Event, error) {
	var order []string
	calls, failed := map[string][]hook.Event{}, map[string][]hook.Event{}
	err := each(ctx, log, conversation, func(raw string) bool {
		return strings.Contains(raw, id) || strings.Contains(raw, string(event.HookFailed))
	}, func(ev hook.Event) {
		switch {
		case ev.Kind == event.HookFailed:
			failed[ev.Turn] = append(failed[ev.Turn], ev)
		case ev.Detail().CallID == id && ev.Turn != "":
			if calls[ev.Turn] == nil {
				order = append(order, ev.Turn)
			}
			calls[ev.Turn] = append(calls[ev.Turn], ev)
		}
	})
	if err != nil {
		return nil, err
	}
	out := make([][]hook.Event, len(order))
	for i, turn := range order {
		out[i] = append(calls[turn], failed[turn]...)
		slices.SortFunc(out[i], func(a, b hook.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return out, nil
}

// each calls do for the events of a conversation whose JSON about accepts.
func each(ctx context.Context, log Log, conversation string, about func(string) bool, do func(hook.Event)) error {
	for before, after := uint64(1), uint64(0); before != after; {
		before = after
		events, err := log.Events(ctx, conversation, after, page)
		if damaged, ok := errors.AsType[*store.DamagedError](err); ok {
			err = nil
			for _, at := range damaged.At {
				after = max(after, uint64(at))
			}
		}
		if err != nil {
			return fmt.Errorf("read the events of conversation %s: %w", conversation, err)
		}
		for _, e := range events {
			after = max(after, e.Seq)
			var ev hook.Event
			if about(string(e.Data)) && json.Unmarshal([]byte(e.Data), &ev) == nil {
				do(ev)
			}
		}
	}
	return nil
}

// Last returns the calls that ended last, at most n, the last one first.
func Last(ctx context.Context, log Log, n int) ([]Call, error) {
	all, err := newest(ctx, log, "")
	if err != nil {
		return nil, err
	}
	var out []Call
	for _, rec := range all {
		var calls []Call
		err := each(ctx, log, rec.ID, func(raw string) bool {
			return strings.Contains(raw, string(event.CallResult))
		}, func(ev hook.Event) {
			if ev.Kind == event.CallResult {
				c := Call{}
				c.add(ev)
				calls = append(calls, c)
			}
		})
		if err != nil {
			return nil, err
		}
		slices.Reverse(calls)
		if out = append(out, calls...); len(out) >= n {
			return out[:n], nil
		}
	}
	return out, nil
}
