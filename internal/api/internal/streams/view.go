package streams

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime"
)

// hookLevel returns the least visibility of the hook runs that the client wants; the default
// is those for users.
func hookLevel(query url.Values) (hook.Visibility, error) {
	name := query.Get("hooks")
	if name == "" {
		return event.VisibleUser, nil
	}
	level, err := event.ParseVisibility(name)
	if err != nil {
		return "", fmt.Errorf("hooks: %w", err)
	}
	return level, nil
}

// View says what of the events a client gets.
type View struct {
	// level is the least visibility of hook runs.
	level hook.Visibility
	// whole: nothing is cut out of large events.
	whole bool
}

// ViewOf returns what the query of a client asks for. The error says which parameter is wrong.
func ViewOf(query url.Values) (v View, err error) {
	if v.level, err = hookLevel(query); err != nil {
		return v, err
	}
	switch text := query.Get("payload"); text {
	case "", "cut":
	case "whole":
		v.whole = true
	default:
		return v, fmt.Errorf("payload is %.40q; write cut or whole", text)
	}
	return v, nil
}

// maxPayload is how many bytes of its text, its arguments and its result an event has in a stream,
// unless its reader wants the whole.
const maxPayload = 2048

// dataOf returns the event as the stream has it. What was cut is read at the path in its member full.
func (v View) dataOf(item runtime.Item) []byte {
	ev := item.Event()
	if v.whole || ev.Conversation == "" || ev.Ephemeral || ev.Seq == 0 {
		return item.JSON()
	}
	data, omitted := item.Cut(maxPayload)
	if omitted == 0 {
		return data
	}
	at := runtime.Position{Epoch: ev.Epoch, Seq: ev.Seq}
	full := strconv.Quote("/v1/conversations/" + url.PathEscape(ev.Conversation) + "/events/" + at.String())
	return append(append(slices.Clone(data[:len(data)-1]), `,"full":`...), full+"}"...)
}

// writeItems writes a page. It returns ended if the page has the end of the turn. It cuts large events, and
// leaves out hook runs that are less visible than the view says. If such a run is the last item, it writes
// the id alone, so that the client knows how far the stream is.
func writeItems(w io.Writer, items []runtime.Item, turn string, view View) (ended bool, err error) {
	for i, item := range items {
		part := sse.Event{ID: item.At.String()}
		switch {
		case hidden(item, view.level):
			if i < len(items)-1 {
				continue
			}
		case item.Restarted:
			part.Name, part.Data = wire.StreamRestarted, keptData(item, "{")
		case item.Missed > 0:
			part.Name, part.Data = wire.StreamLagged, keptData(item, `{"missed":`+strconv.FormatUint(item.Missed, 10)+",")
		default:
			part.Data = view.dataOf(item)
		}
		if err := part.Write(w); err != nil {
			return false, err
		}
		if ev := item.Event(); turn != "" && part.Name == "" && ev.Kind == event.TurnEnd && ev.Turn == turn {
			return true, nil
		}
	}
	return false, nil
}

// hidden reports whether the item is a hook run that is less visible than level.
func hidden(item runtime.Item, level hook.Visibility) bool {
	run, ok := item.Event().Run()
	return ok && !run.Visibility.Reaches(level)
}

func keptData(item runtime.Item, begin string) []byte {
	return []byte(begin + `"kept":` + strconv.FormatBool(item.Kept) + "}")
}

// Shows reports whether the client gets the event, and returns it as a stream has it.
func (v View) Shows(item runtime.Item) ([]byte, bool) {
	if hidden(item, v.level) {
		return nil, false
	}
	return v.dataOf(item), true
}
