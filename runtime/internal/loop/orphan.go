package loop

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// If a process dies, a child of its turn is in one of two states. It has not ended: then its
// journal says so, and settleChildren ends it. Or it has ended, but its subagent_end was not
// emitted: then it is an orphan. The resumed turn emits the missing events, so that every child
// ends before its parent in the log.

// orphan is a child with a subagent_start and no subagent_end in the log.
type orphan struct {
	// start is its subagent_start, and end its turn_end if ended is true.
	start, end hook.Event
	// began: it has a turn_start. ended: it has a turn_end.
	began, ended bool
}

// emitOrphanEnds emits the missing events of children that had ended. It reads the log after the
// sequence.
func (t *Turn) emitOrphanEnds(s store.Child, behind uint64) error {
	log, ok := t.env.Store.(store.Log)
	if !ok || !t.thread.Log.Keeps() {
		return nil
	}
	orphans, err := t.findOrphans(log, behind)
	if len(orphans) == 0 {
		return err
	}
	running := map[string]bool{}
	err = errors.Join(err, t.journaledBelow(s, t.thread.ID(), running))
	for _, o := range slices.Backward(orphans) { // a child of a child ends first
		if !running[o.start.Turn] {
			err = errors.Join(err, t.emitOrphanEnd(o))
		}
	}
	return err
}

// orphanPage is how many events one read returns.
const orphanPage = 1000

func (t *Turn) findOrphans(log store.Log, behind uint64) (open []orphan, err error) {
	for {
		events, err := log.Events(t.noCancel, t.thread.ID(), behind, orphanPage)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return open, err
		}
		for _, e := range events {
			var ev hook.Event
			if behind = e.Seq; json.Unmarshal([]byte(e.Data), &ev) == nil && ev.Depth > 0 {
				open = applyEvent(open, ev)
			}
		}
		if len(events) < orphanPage {
			return open, nil
		}
	}
}

// applyEvent returns the open children after the event.
func applyEvent(open []orphan, ev hook.Event) []orphan {
	i := slices.IndexFunc(open, func(o orphan) bool { return o.start.Turn == ev.Turn })
	switch {
	case ev.Kind == event.SubagentStart && i < 0:
		return append(open, orphan{start: ev})
	case i < 0:
	case ev.Kind == event.TurnStart:
		open[i].began, open[i].ended = true, false
	case ev.Kind == event.TurnEnd:
		open[i].end, open[i].ended = ev, true
	case ev.Kind == event.SubagentEnd:
		return slices.Delete(open, i, i+1)
	}
	return open
}

// journaledBelow adds the ids of the turns below the conversation that have not ended.
func (t *Turn) journaledBelow(s store.Child, conversation string, ids map[string]bool) error {
	children, err := s.Children(t.noCancel, conversation)
	for _, rec := range children {
		if !rec.Journaled {
			continue // it waited for its own children, so they have ended too
		}
		entries, failed := t.env.Store.Journal(t.noCancel, rec.ID)
		for _, e := range entries {
			if id, ok := durable.TurnID(e); ok {
				ids[id] = true
			}
		}
		err = errors.Join(err, failed, t.journaledBelow(s, rec.ID, ids))
	}
	return err
}

// emitOrphanEnd emits the missing events of a child that had ended.
func (t *Turn) emitOrphanEnd(o orphan) error {
	agent, err := t.findAgent(o.start.Agent)
	if err != nil {
		return err
	}
	c := agent.Registration.Child(store.Record{Parent: t.thread.ID()}, t.thread)
	defer c.Drop()
	th := c.Thread()
	th.Log.Begin(stream.Place{Turn: o.start.Turn, Depth: o.start.Depth}, nil, nil)
	emit := func(ev hook.Event) {
		t.enterForeign(point.OnEvent)
		th.emit(t.noCancel, ev)
		t.exitForeign()
	}
	about, d := o.start.Detail(), o.end.Detail()
	if !o.ended {
		d.Stop = hook.StopCancelled
		if o.began {
			emit(hook.Event{Kind: event.TurnEnd}.WithUsage(d.Usage, d.Cost, d.Stop))
		}
	}
	emit(hook.Event{Kind: event.SubagentEnd, Text: o.end.Text}.WithDetail(hook.EventDetail{
		CallID: about.CallID, Tool: about.Tool, Usage: d.Usage, Cost: d.Cost, Stop: d.Stop,
	}))
	return nil
}

// callOf names the call of the reply that ran the child.
func (t *Turn) callOf(rec store.Record, reply message.Message) (about hook.EventDetail) {
	id, ok := strings.CutPrefix(rec.Key.Sender, t.id+"/")
	end := strings.LastIndexByte(id, '/')
	if !ok || end < 0 {
		return about
	}
	for _, b := range reply.Content.All() {
		if b.Kind == message.BlockToolCall && b.CallID == id[:end] {
			about.CallID, about.Tool = b.CallID, b.Tool
		}
	}
	return about
}
