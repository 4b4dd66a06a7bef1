package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/talk"
)

// daemon is a daemon with one conversation, whose only turn begins, or was begun by another client.
type daemon struct {
	*httptest.Server
	answer    func(w http.ResponseWriter, r *http.Request)
	cancelled chan struct{}
}

func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) (*daemon, *Host, *[]string) {
	t.Helper()
	d := &daemon{answer: answer, cancelled: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/conversations", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"c","agent":"a","sender":"s","turn":"t","interrupted":false}`)
	})
	mux.HandleFunc("GET /v1/conversations/c", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"c","turn":"t","last_event_id":"1-0"}`)
	})
	mux.HandleFunc("GET /v1/conversations/c/events", func(w http.ResponseWriter, _ *http.Request) {
		for i, ev := range []hook.Event{{Kind: event.TurnStart}, hook.Event{Kind: event.TurnEnd, Text: "Done."}.WithUsage(hook.Event{}.Detail().Usage, 0, hook.StopCompleted)} {
			ev.Turn, ev.Conversation, ev.Seq, ev.Time = "t", "c", uint64(i+1), time.Unix(int64(i), 0)
			data, err := json.Marshal(ev)
			assert.NoError(t, err)
			_ = sse.Event{ID: fmt.Sprintf("1-%d", i+1), Data: data}.Write(w)
		}
	})
	for _, path := range []string{"/v1/asks", "/v1/inquiries"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
	}
	mux.HandleFunc("POST /v1/conversations/c/cancel", func(w http.ResponseWriter, _ *http.Request) {
		d.cancelled <- struct{}{}
		fmt.Fprint(w, `{"cancelled":true}`)
	})
	mux.HandleFunc("POST /v1/conversations/c/", func(w http.ResponseWriter, r *http.Request) { d.answer(w, r) })
	d.Server = httptest.NewServer(mux)
	t.Cleanup(d.Close)
	var notes []string
	return d, &Host{Client: client.New(d.URL, nil), Approver: term.NewApprover(nil), Note: func(text string) { notes = append(notes, text) }}, &notes
}

func opened(t *testing.T, h *Host) talk.Opened {
	t.Helper()
	conv, err := h.Open(t.Context(), "a", "s")
	require.NoError(t, err)
	assert.Equal(t, "c", conv.ID())
	assert.True(t, conv.Running)
	return conv
}

func refusing(code wire.Code) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(wire.Failure{Error: wire.Error{Code: code, Message: "no"}})
	}
}

// TestAMessageSteersTheTurnOfAnotherClient, which is followed then; what cannot steer does not try to.
func TestAMessageSteersTheTurnOfAnotherClient(t *testing.T) {
	t.Parallel()
	var sent []wire.NewMessage
	_, h, notes := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var in wire.NewMessage
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&in))
		sent = append(sent, in)
		_ = json.NewEncoder(w).Encode(wire.Turn{ID: "t", Conversation: "c", Steered: in.WhenBusy == wire.BusySteer, LastEventID: "1-0"})
	})
	conv := opened(t, h)
	var seen []hook.EventKind
	observe := func(ev hook.Event) { seen = append(seen, ev.Kind) }
	out, err := conv.Send(t.Context(), talk.Message{Text: "left"}, observe)
	require.NoError(t, err)
	assert.Equal(t, "Done.", out.Text())
	assert.Equal(t, []hook.EventKind{event.TurnStart, event.TurnEnd}, seen)
	assert.Equal(t, []string{"a turn was running, and has got the message"}, *notes)
	_, err = conv.Send(t.Context(), talk.Message{Text: "right", Guest: "g"}, observe)
	require.NoError(t, err)
	assert.Equal(t, wire.Busy(""), sent[1].WhenBusy)
	assert.Len(t, *notes, 1)
}

func TestResumeFollowsATurnThatRuns(t *testing.T) {
	t.Parallel()
	d, h, _ := serve(t, refusing(wire.CodeBusy))
	conv := opened(t, h)
	out, err := conv.Resume(t.Context(), "", func(hook.Event) {})
	require.NoError(t, err)
	assert.Equal(t, hook.StopCompleted, out.Stop)
	d.answer = refusing(wire.CodeIdle)
	_, err = conv.Resume(t.Context(), "", func(hook.Event) {})
	require.ErrorIs(t, err, talk.ErrNotInterrupted)
	d.answer = refusing(wire.CodeAgentGone)
	_, err = conv.Send(t.Context(), talk.Message{Text: "x"}, func(hook.Event) {})
	assert.Equal(t, wire.CodeAgentGone, client.CodeOf(err))
}

// TestAnInterruptBeforeTheTurnIsKnownCancelsIt: the daemon may have begun it already.
func TestAnInterruptBeforeTheTurnIsKnownCancelsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	d, h, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server looks whether the client is still there
		cancel()
		<-r.Context().Done()
	})
	out, err := opened(t, h).Send(ctx, talk.Message{Text: "x"}, func(hook.Event) {})
	require.NoError(t, err)
	assert.Equal(t, hook.StopCancelled, out.Stop)
	<-d.cancelled
}
