package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// TestPagesOfMessages: a history is read backwards, page by page, without a gap.
func TestPagesOfMessages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	page, err := w.client.MessagesPage(t.Context(), conv.ID, 0, 3)
	require.NoError(t, err)
	assert.Empty(t, page.Messages)
	assert.Empty(t, page.Turns)
	for i := range 4 {
		w.turn(conv.ID, fmt.Sprint("message ", i))
	}
	all, err := w.client.Messages(t.Context(), conv.ID)
	require.NoError(t, err)
	require.Len(t, all, 8)
	var got []message.Message
	before := 0
	for _, first := range []int{5, 2, 0} {
		page, err := w.client.MessagesPage(t.Context(), conv.ID, before, 3)
		require.NoError(t, err)
		assert.Equal(t, first, page.First)
		assert.Equal(t, 8, page.Total)
		for i, turn := range page.Turns {
			assert.Equal(t, 1+(page.First+i)/2, turn)
		}
		assert.Len(t, page.Turns, len(page.Messages))
		got, before = slices.Concat(page.Messages, got), page.First
	}
	assert.Equal(t, all, got)

	path := "/v1/conversations/" + conv.ID + "/messages"
	for _, query := range []string{"?limit=0", "?limit=1001", "?limit=x", "?before=-1"} {
		assert.Equal(t, http.StatusBadRequest, w.answer(http.MethodGet, path+query), query)
	}
	_, data := w.bare(http.MethodGet, path+"?before=2")
	var some wire.Messages
	require.NoError(t, json.Unmarshal(data, &some))
	assert.Equal(t, wire.Messages{Messages: all[:2], First: 0, Total: 8}, some)
	_, data = w.bare(http.MethodGet, path+"?before=100&limit=1")
	require.NoError(t, json.Unmarshal(data, &some))
	assert.Equal(t, 7, some.First, "behind the end is the end")
}

// newWorldOnDisk is newWorld over a store that keeps events.
func newWorldOnDisk(t *testing.T, o *worldOptions) *world {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir()+"/grapnel.db", nil)
	require.NoError(t, err)
	o.store, o.end = s, func() { assert.NoError(t, s.Close()) }
	return newWorld(t, o)
}

// TestTurns: what turns did is read from their events, those of a running turn and of a store on disk too.
func TestTurns(t *testing.T) {
	t.Parallel()
	w := newWorldOnDisk(t, &worldOptions{recent: 16})
	conv := w.conversation("ann")
	none, err := w.client.Turns(t.Context(), conv.ID, "", 0)
	require.NoError(t, err)
	assert.Empty(t, none)

	long := strings.Repeat("é", 300)
	var ids []string
	for _, text := range []string{long, "call echo {\"s\":\"x\"}\ncall fail {}", "call emit {\"s\":\"1500\"}", "call nobody {}"} {
		ids = append(ids, w.turn(conv.ID, text)[0].Turn)
	}
	turn, ask := w.asked(conv.ID)
	require.NoError(t, w.client.Answer(t.Context(), ask.ID, wire.Answer{Answer: wire.AnswerRefuse, Reason: "no"}))
	w.follow(turn, nil)
	running, err := w.client.Send(t.Context(), conv.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	ids = append(ids, turn.ID, running.ID)

	turns, err := w.client.Turns(t.Context(), conv.ID, "", 0)
	require.NoError(t, err)
	require.Len(t, turns, 6)
	for i, got := range turns {
		assert.Equal(t, ids[5-i], got.ID)
		assert.Equal(t, "helper", got.Agent)
		assert.Equal(t, conv.ID, got.Conversation)
		assert.False(t, got.Started.IsZero())
	}
	now := turns[0]
	assert.Zero(t, now.Ended)
	assert.Zero(t, now.Stop)
	assert.Equal(t, "call hold {}", now.Text)
	assert.Equal(t, 1, now.Steps)
	assert.Equal(t, message.Usage{Input: 10, Output: 5}, now.Usage, "what it has used so far")
	assert.Equal(t, []int{1, 1, 2}, []int{turns[1].Calls, turns[1].Denied, turns[1].Steps})
	assert.Equal(t, []int{2, 0, 2}, []int{turns[4].Calls, turns[4].Denied, turns[4].Steps})
	assert.Equal(t, hook.StopCompleted, turns[4].Stop)
	assert.False(t, turns[4].Ended.Before(turns[4].Started))
	assert.Equal(t, message.Usage{Input: 20, Output: 10}, turns[4].Usage)
	assert.Equal(t, hook.Cost(30), turns[4].Cost)
	assert.Equal(t, strings.Repeat("é", 200), turns[5].Text)

	some, err := w.client.Turns(t.Context(), conv.ID, ids[4], 2)
	require.NoError(t, err)
	assert.Equal(t, turns[2:4], some)
	_, err = w.client.Turns(t.Context(), conv.ID, "nobody", 2)
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	for _, query := range []string{"?limit=0", "?limit=201", "?limit=x"} {
		assert.Equal(t, http.StatusBadRequest, w.answer(http.MethodGet, "/v1/conversations/"+conv.ID+"/turns"+query), query)
	}

	w.box.release <- struct{}{}
	w.follow(running, nil)
	for i, id := range ids {
		got, err := w.client.Turn(t.Context(), conv.ID, id)
		require.NoError(t, err)
		require.NotEmpty(t, got.Events)
		assert.False(t, got.More)
		assert.Equal(t, got.Turn.First, positionOf(got.Events[0]))
		assert.Equal(t, got.Turn.Last, positionOf(last(t, got.Events)))
		assert.Equal(t, event.TurnStart, got.Events[0].Kind)
		assert.Equal(t, event.TurnEnd, last(t, got.Events).Kind, i)
		for _, ev := range got.Events {
			assert.Equal(t, id, ev.Turn)
			assert.NotEqual(t, event.TextDelta, ev.Kind)
		}
	}
	many, err := w.client.Turn(t.Context(), conv.ID, ids[2])
	require.NoError(t, err)
	assert.Len(t, only(many.Events, event.Diagnostic), 1500)
	_, err = w.client.Turn(t.Context(), conv.ID, "nobody")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	assert.ErrorContains(t, err, "/turns lists them")
}

func positionOf(ev hook.Event) string { return fmt.Sprintf("%d-%d", ev.Epoch, ev.Seq) }

// TestTurnOfLongEvents: what is long is cut, and an answer has an end.
func TestTurnOfLongEvents(t *testing.T) {
	t.Parallel()
	w := newWorldOnDisk(t, &worldOptions{record: true})
	conv := w.conversation("ann")
	id := w.turn(conv.ID, "call echo {\"s\":\""+strings.Repeat("x", 5000)+"\"}")[0].Turn
	path := "/v1/conversations/" + conv.ID + "/turns/" + id
	short, runs := w.turnAt(path)
	full := 0
	for _, ev := range short {
		if ev.Full != "" {
			full++
			assert.LessOrEqual(t, len(ev.Text)+len(ev.Result), 3000)
		}
	}
	assert.Positive(t, full)
	whole, all := w.turnAt(path + "?payload=whole&hooks=internal")
	assert.Greater(t, all, runs, "without hooks there are those for users")
	assert.Greater(t, len(whole), len(short))
	assert.Equal(t, http.StatusBadRequest, w.answer(http.MethodGet, path+"?hooks=x"))

	turn, err := w.direct.Send(t.Context(), conv.ID, "call emit {\"s\":\"20100\"}")
	require.NoError(t, err)
	for _, err := range w.direct.Follow(t.Context(), turn) { // it may miss some
		require.NoError(t, err)
	}
	id = turn.ID
	got, err := w.client.Turn(t.Context(), conv.ID, id)
	require.NoError(t, err)
	assert.True(t, got.More)
	assert.Len(t, got.Events, 20_000)
	assert.Equal(t, hook.StopCompleted, got.Turn.Stop, "the turn is told whole")
}

// turnAt reads a turn, and returns its events and how many are hook runs.
func (w *world) turnAt(path string) (out []partOf, runs int) {
	w.t.Helper()
	status, data := w.bare(http.MethodGet, path)
	require.Equal(w.t, http.StatusOK, status)
	var in struct {
		Events []partOf `json:"events"`
	}
	require.NoError(w.t, json.Unmarshal(data, &in))
	for _, ev := range in.Events {
		if ev.Kind == event.HookRun {
			runs++
		}
	}
	return in.Events, runs
}

// TestExplainCall: a reader finds why a call was denied, and by whom.
func TestExplainCall(t *testing.T) {
	t.Parallel()
	for _, recorded := range []bool{true, false} {
		w := newWorld(t, &worldOptions{record: recorded})
		conv := w.conversation("ann")
		turn, ask := w.asked(conv.ID)
		require.NoError(t, w.client.Answer(t.Context(), ask.ID, wire.Answer{Answer: wire.AnswerRefuse, Reason: "not today", By: "ann"}))
		w.follow(turn, nil)
		call, err := w.client.ExplainCall(t.Context(), conv.ID, turn.ID, ask.CallID)
		require.NoError(t, err)
		assert.Equal(t, []string{ask.CallID, "danger", "helper", conv.ID, turn.ID}, []string{call.ID, call.Tool, call.Agent, call.Conversation, call.Turn})
		assert.Equal(t, message.OutcomeDenied, call.Outcome)
		assert.Equal(t, recorded, call.Recorded)
		at := slices.IndexFunc(call.Points, func(p wire.ExplainedPoint) bool { return p.Point == "Approve" })
		require.GreaterOrEqual(t, at, 0, "%+v", call.Points)
		assert.Equal(t, "not today", call.Points[at].Runs[0].Reason)
		if recorded {
			assert.Equal(t, "Box", call.Owner)
			assert.True(t, call.Points[at].Runs[0].Counts)
			assert.Contains(t, call.Points[at].Why, "Approval counts")
		}
		_, err = w.client.ExplainCall(t.Context(), conv.ID, turn.ID, "nobody")
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
		_, err = w.client.ExplainCall(t.Context(), conv.ID, "nobody", ask.CallID)
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	}
}

// TestExplainedMembers: everything that is known of a call is told.
func TestExplainedMembers(t *testing.T) {
	t.Parallel()
	run := wire.ExplainedRun{
		Field: "Rules", Option: "failclosed", Status: event.RunSkipped, Answer: hook.AnswerDeny, Reason: "no", By: "Secure", Changed: true, DurationMS: 1.5,
		Visibility: event.VisibleAudit, Counts: true,
	}
	want := wire.Explained{
		ID: "c1_0", Tool: "echo", Owner: "Box", Agent: "helper", Conversation: "c", Turn: "t", Step: 1, Time: time.Now().UTC(), Outcome: message.OutcomeFailed,
		Failure: message.FailOperation, DurationMS: 2.5, Recorded: true, Points: []wire.ExplainedPoint{{Point: "BeforeTool", Runs: []wire.ExplainedRun{run}, Why: "because"}},
	}
	w := newWorld(t, &worldOptions{api: api.Options{Explain: func(events []hook.Event) wire.Explained {
		for _, ev := range events {
			assert.Equal(t, "c1_0", ev.Detail().CallID)
		}
		return want
	}}})
	conv := w.conversation("ann")
	turn := w.turn(conv.ID, "call echo {}\ncall fail {}")[0].Turn
	got, err := w.client.ExplainCall(t.Context(), conv.ID, turn, "c1_0")
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// TestTurnThatFails: the turn says what went wrong.
func TestTurnThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	w.turn(conv.ID, "break down")
	turns, err := w.client.Turns(t.Context(), conv.ID, "", 0)
	require.NoError(t, err)
	require.Len(t, turns, 1)
	assert.Equal(t, hook.StopError, turns[0].Stop)
	assert.Contains(t, turns[0].Error, "the model is away")
}

// TestTurnsOfOthers: the turns of another project's conversation stay there.
func TestTurnsOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv, err := w.store.Conversation(t.Context(), store.Key{Project: "/other", Agent: "helper", Sender: "eve"})
	require.NoError(t, err)
	for _, path := range []string{"/turns", "/turns/x", "/turns/x/calls/y"} {
		assert.Equal(t, http.StatusConflict, w.answer(http.MethodGet, "/v1/conversations/"+conv.ID+path), path)
	}
}
