package stream

import (
	"encoding/json"

	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
)

// Cut returns the encoded event with at most limit bytes each of its text, its arguments and its
// result, and how many bytes were left out, those that the event had lost before not counted. The
// middle is left out, between characters. Deltas, which readers put together, stay whole. If
// nothing is left out it is JSON.
func (i Item) Cut(limit int) (data []byte, omitted int) {
	data = i.JSON()
	if len(data) <= limit {
		return data, 0
	}
	ev := i.Event()
	if ev.Kind == event.TextDelta || ev.Kind == event.ReasoningDelta {
		return data, 0
	}
	before := ev.Omitted
	bound.EventText(&ev, limit)
	d := ev.Detail()
	if args, n := bound.Args(d.Args, limit); n > 0 {
		d.Args, ev.Omitted = args, ev.Omitted+n
	}
	if text, n := bound.Cut(d.Result.Text(), limit); n > 0 {
		d.Result, ev.Omitted = message.FailedResult(d.Result.Failure, text), ev.Omitted+n
	}
	if omitted = ev.Omitted - before; omitted == 0 {
		return data, 0
	}
	if _, run := ev.Run(); !run { // a hook run has neither arguments nor a result
		ev = ev.WithDetail(d)
	}
	short, err := json.Marshal(ev)
	if err != nil { // it has been encoded before
		return data, 0
	}
	return short, omitted
}
