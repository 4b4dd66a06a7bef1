// Package turnlog reads the turns of a conversation from its events, backwards from the newest. It holds a page of events at a time.
package turnlog

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime"
)

// Log reads one conversation. It is safe for concurrent use.
type Log struct {
	Runtime      *runtime.Runtime
	Conversation string
	// End is the position of the newest event.
	End runtime.Position
}

// page is how many events one step backwards spans at first. Where most of them are deltas, which are not stored, the steps get longer.
const (
	page    = 1000
	maxPage = 64_000
)

// maxText and maxError are how many characters of a text a turn has.
const (
	maxText  = 200
	maxError = 1000
)

// mark is what a turn is made of: the small part of an event that says something about it. Its kind is "" for all other events.
type mark struct {
	at     runtime.Position
	kind   hook.EventKind
	time   time.Time
	agent  string
	turn   string
	depth  int
	step   int
	text   string
	denied bool
	stop   hook.StopReason
	usage  message.Usage
	cost   hook.Cost
}

// telling are the kinds of event that marks are made of.
var telling = []hook.EventKind{event.TurnStart, event.StepStart, event.CallResult, event.Usage, event.Error, event.TurnEnd}

// markOf returns the mark of an event. The JSON of most events is searched and not decoded.
func markOf(item runtime.Item) mark {
	m := mark{at: item.At}
	data := item.JSON()
	if !slices.ContainsFunc(telling, func(k hook.EventKind) bool { return bytes.Contains(data, []byte(`"`+k+`"`)) }) {
		return m
	}
	ev := item.Event()
	if ev.Turn == "" || !slices.Contains(telling, ev.Kind) {
		return m
	}
	d := ev.Detail()
	m = mark{
		at: item.At, kind: ev.Kind, time: ev.Time, agent: ev.Agent, turn: ev.Turn, depth: ev.Depth, step: ev.Step,
		denied: d.Outcome == message.OutcomeDenied, stop: d.Stop, usage: d.Usage, cost: d.Cost,
	}
	switch ev.Kind {
	case event.TurnStart:
		m.text = begin(ev.Text, maxText)
	case event.Error:
		m.text = begin(ev.Text, maxError)
	}
	return m
}

// begin returns the first n characters of the text.
func begin(text string, n int) string {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return strings.Clone(text[:i]) // the whole text is not held
		}
		n--
	}
	return text
}

// Turn is a turn of the conversation. One of an agent within another turn is part of that.
type Turn struct {
	wire.RanTurn
	// within are the ids of the turns within it, and first and last the sequences of its events.
	within      []string
	first, last uint64
}

// Turns yields the turns, the newest first.
func (l Log) Turns(ctx context.Context) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		f := fold{conversation: l.Conversation}
		for marks, err := range l.backwards(ctx) {
			if err != nil {
				yield(Turn{}, err)
				return
			}
			for _, m := range marks {
				if done := f.add(m); done != nil && !yield(*done, nil) {
					return
				}
			}
		}
		if f.turn != nil {
			yield(*f.turn, nil)
		}
	}
}

// Find returns the turn of the id, or around the turn of the id. False: the conversation has kept no such turn.
func (l Log) Find(ctx context.Context, id string) (Turn, bool, error) {
	for t, err := range l.Turns(ctx) {
		if err != nil || t.ID == id || slices.Contains(t.within, id) {
			return t, err == nil, err
		}
	}
	return Turn{}, false, nil
}

// Events shows the events of the turn and of those within it, in their order, until see returns false.
func (l Log) Events(ctx context.Context, t Turn, see func(runtime.Item) bool) error {
	return l.Between(ctx, t.first-1, t.last, func(item runtime.Item) bool {
		return item.Event().Turn == "" || see(item)
	})
}

// fold makes turns of marks that come backwards.
type fold struct {
	conversation string
	turn         *Turn
	// begun: the turn's start was seen. A turn that was resumed has several.
	begun bool
	// last is the newest event behind the start of the turn that comes next.
	last runtime.Position
	// loose has what was counted in turns within the one that comes next.
	loose Turn
}

// add adds a mark. If it is of another turn than the one before, that one is done.
func (f *fold) add(m mark) (done *Turn) {
	if f.last.Seq == 0 {
		f.last = m.at
	}
	switch {
	case m.kind == "":
		return nil
	case m.depth > 0 && (f.turn == nil || f.begun):
		f.loose.count(m)
		return nil
	case m.depth > 0:
		f.turn.count(m)
		return nil
	}
	if f.turn == nil || f.turn.ID != m.turn {
		done = f.turn
		if m.kind == event.TurnEnd {
			f.last = m.at
		}
		f.turn = &Turn{RanTurn: wire.RanTurn{ID: m.turn, Agent: m.agent, Conversation: f.conversation, Last: f.last.String()}, last: f.last.Seq}
	}
	f.turn.join(f.loose)
	f.turn.own(m)
	f.loose, f.begun = Turn{}, m.kind == event.TurnStart
	if f.begun {
		f.last = runtime.Position{}
	}
	return done
}

// own adds a mark of the turn itself.
func (t *Turn) own(m mark) {
	t.Started, t.First, t.first = m.time.UTC(), m.at.String(), m.at.Seq
	switch m.kind {
	case event.TurnStart:
		t.Text = m.text
	case event.StepStart:
		t.Steps = max(t.Steps, m.step)
	case event.Error:
		t.Error = cmp.Or(t.Error, m.text)
	case event.TurnEnd:
		t.Ended, t.Stop, t.Usage, t.Cost = m.time.UTC(), m.stop, m.usage, m.cost
	default:
		t.count(m)
	}
}

// count adds a mark of the turn, or of one within it.
func (t *Turn) count(m mark) {
	if m.depth > 0 && !slices.Contains(t.within, m.turn) {
		t.within = append(t.within, m.turn)
	}
	switch m.kind {
	case event.CallResult:
		t.Calls++
		if m.denied {
			t.Denied++
		}
	case event.Usage:
		t.use(m.usage, m.cost)
	}
}

// join adds what was counted apart.
func (t *Turn) join(o Turn) {
	t.Calls, t.Denied, t.within = t.Calls+o.Calls, t.Denied+o.Denied, append(t.within, o.within...)
	t.use(o.Usage, o.Cost)
}

// use adds what models have used, unless the turn has ended: its end says all of it.
func (t *Turn) use(u message.Usage, c hook.Cost) {
	if t.Ended.IsZero() {
		t.Usage, t.Cost = t.Usage.Add(u), t.Cost+c
	}
}

// backwards yields pages of marks of all events, the newest first.
func (l Log) backwards(ctx context.Context) iter.Seq2[[]mark, error] {
	return func(yield func([]mark, error) bool) {
		size := uint64(page)
		for high := l.End.Seq; high > 0; {
			low := high - min(size, high)
			var out []mark
			err := l.Between(ctx, low, high, func(item runtime.Item) bool {
				out = append(out, markOf(item))
				return true
			})
			slices.Reverse(out)
			if !yield(out, err) || err != nil {
				return
			}
			if size = page; len(out) < page/4 {
				size = min(2*(high-low), maxPage)
			}
			high = low
		}
	}
}

// Between shows the kept events behind low, up to high, in their order, until see returns false. Deltas and progress are left out.
func (l Log) Between(ctx context.Context, low, high uint64, see func(runtime.Item) bool) error {
	from := l.Runtime.Subscribe(&runtime.SubscribeOptions{Conversation: l.Conversation, After: &runtime.Position{Epoch: l.End.Epoch, Seq: low}})
	defer from.Close()
	for {
		p, err := from.Read(ctx)
		if err != nil {
			return err
		}
		for _, item := range p.Items {
			if item.At.Seq > high {
				return nil
			}
			if item.JSON() == nil || item.At.Seq <= low || passing(item) {
				continue
			}
			if !see(item) {
				return nil
			}
		}
		if p.More != nil {
			return nil
		}
	}
}

// passing reports whether the event is one that no store keeps.
func passing(item runtime.Item) bool {
	data := item.JSON()
	for _, k := range []hook.EventKind{event.TextDelta, event.ReasoningDelta, event.CallProgress} {
		if bytes.Contains(data, []byte(k)) && item.Event().Kind == k {
			return true
		}
	}
	return false
}

// Call returns the events of the call of that id in the turn, with the failures of hooks there: what package explain needs. id is that of
// the turn or of one within it; where the turn itself has no such call, it is the last one of the turns within it. others is how many more
// there are. No events: there is no such call.
func (l Log) Call(ctx context.Context, t Turn, id, call string) (events []hook.Event, others int, err error) {
	var order []string
	calls, failed := map[string][]hook.Event{}, map[string][]hook.Event{}
	quoted, err := json.Marshal(call)
	if err != nil {
		return nil, 0, err
	}
	quick := []byte(call)
	if len(quoted) != len(call)+2 { // escapes, of which there are several ways
		quick = nil
	}
	err = l.Between(ctx, t.first-1, t.last, func(item runtime.Item) bool {
		if data := item.JSON(); !bytes.Contains(data, quick) && !bytes.Contains(data, []byte(event.HookFailed)) {
			return true
		}
		switch ev := item.Event(); {
		case ev.Kind == event.HookFailed:
			failed[ev.Turn] = append(failed[ev.Turn], ev)
		case ev.Detail().CallID == call && ev.Turn != "":
			if calls[ev.Turn] == nil {
				order = append(order, ev.Turn)
			}
			calls[ev.Turn] = append(calls[ev.Turn], ev)
		}
		return true
	})
	switch {
	case err != nil || len(order) == 0:
		return nil, 0, err
	case calls[id] == nil && id != t.ID:
		return nil, 0, nil
	case calls[id] == nil:
		id, others = order[len(order)-1], len(order)-1
	}
	events = slices.Concat(calls[id], failed[id])
	slices.SortFunc(events, func(a, b hook.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return events, others, nil
}
