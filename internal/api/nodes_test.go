package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
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
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func position(ev hook.Event) string { return runtime.Position{Epoch: ev.Epoch, Seq: ev.Seq}.String() }

func turnEnds(ev hook.Event) bool { return ev.Kind == event.TurnEnd }

// TestAnyNodeServes: a client of b does everything with a conversation that a holds, as if b held it.
func TestAnyNodeServes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.join("a", memberOptions{}), c.join("b", memberOptions{})
	settle(t, a, b)
	ctx := t.Context()
	conv := a.conversation("ann")

	_, err := a.client.Send(ctx, conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-a.box.held
	seen := watchAt(b, conv.ID, turnEnds)
	shown, err := b.client.ConversationByID(ctx, conv.ID)
	require.NoError(t, err)
	assert.NotEmpty(t, shown.Turn)
	assert.False(t, shown.Interrupted)
	all, err := b.client.Conversations(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, shown.Turn, all[0].Turn)
	_, err = b.client.Send(ctx, conv.ID, "again")
	assert.Equal(t, wire.CodeBusy, client.CodeOf(err))
	steered, err := b.client.SendWhenBusy(ctx, conv.ID, "and this", wire.BusySteer)
	require.NoError(t, err)
	assert.True(t, steered.Steered)
	assert.Equal(t, shown.Turn, steered.ID)
	busy, err := b.client.Activity(ctx)
	require.NoError(t, err)
	require.Len(t, busy.Turns, 1)
	assert.Equal(t, "a", busy.Turns[0].Node)
	listed, err := b.client.Nodes(ctx)
	require.NoError(t, err)
	require.Len(t, listed, 2)
	assert.Equal(t, "a", listed[0].ID)
	assert.Equal(t, 1, *listed[0].Turns)
	assert.False(t, listed[0].Self)
	assert.True(t, listed[1].Self)
	assert.Equal(t, []wire.NodeProject{{Project: "/p", Root: "/p", Fingerprint: "f"}}, listed[1].Projects)
	a.box.release <- struct{}{}
	events := seen.ends(t)
	assert.NotEmpty(t, only(events, event.TextDelta), "deltas come from the node that runs the turn")
	missed, twice := c.wrong(conv.ID, events)
	assert.Empty(t, missed)
	assert.Empty(t, twice)
	assert.Empty(t, seen.notes)

	_, err = a.client.Send(ctx, conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-a.box.held
	cancelled, err := b.client.Cancel(ctx, conv.ID)
	require.NoError(t, err)
	assert.True(t, cancelled.Cancelled)
	idle(t, a)
	assert.Empty(t, b.rt.Running())
}

// idle waits until no turn runs in the process.
func idle(t *testing.T, m *member) {
	t.Helper()
	require.Eventually(t, func() bool { return len(m.rt.Running()) == 0 }, time.Minute, time.Millisecond)
}

// TestAnyNodeAnswers: what a turn of one node asks is listed and answered at another.
func TestAnyNodeAnswers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.join("a", memberOptions{}), c.join("b", memberOptions{})
	settle(t, a, b)
	ctx := t.Context()
	conv := a.conversation("ann")
	_, err := a.client.Send(ctx, conv.ID, `call danger {"s":"x"}`)
	require.NoError(t, err)
	var asks []wire.Ask
	require.Eventually(t, func() bool {
		asks, err = b.client.Asks(ctx, "")
		return err == nil && len(asks) == 1
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(b.client.Answer(ctx, "nobody", wire.Answer{Answer: wire.AnswerApprove})))
	running, err := b.client.Turns(ctx, conv.ID, "", 1)
	require.NoError(t, err)
	require.Len(t, running, 1, "from the node that runs it")
	assert.Zero(t, running[0].Ended)
	require.NoError(t, b.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerApprove, By: "ann"}))
	idle(t, a)
	assert.Equal(t, []string{"x"}, a.box.ran)
	for _, m := range []*member{a, b} {
		err := m.client.Answer(ctx, asks[0].ID, wire.Answer{Answer: wire.AnswerRefuse})
		assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
		assert.ErrorContains(t, err, "ann approved it at ", "whoever comes second, at either")
		turn, err := m.client.Turn(ctx, conv.ID, running[0].ID)
		require.NoError(t, err)
		assert.False(t, turn.Turn.Ended.IsZero())
		assert.Equal(t, event.TurnEnd, last(t, turn.Events).Kind)
		call, err := m.client.ExplainCall(ctx, conv.ID, running[0].ID, asks[0].CallID)
		require.NoError(t, err)
		assert.Equal(t, message.OutcomeExecuted, call.Outcome)
	}

	_, err = a.client.Send(ctx, conv.ID, `call ask {"s":"Shall I?"}`)
	require.NoError(t, err)
	var open []wire.Inquiry
	require.Eventually(t, func() bool {
		open, err = b.client.Inquiries(ctx, conv.ID)
		return err == nil && len(open) == 1
	}, time.Minute, 10*time.Millisecond)
	all, err := b.client.Conversations(ctx)
	require.NoError(t, err)
	assert.Equal(t, 1, all[0].Inquiries)
	require.NoError(t, b.client.Reply(ctx, open[0].ID, wire.Reply{Conversation: conv.ID, Given: []wire.Given{{Chosen: []string{"yes"}}, {Text: "no"}}}))
	idle(t, a)

	_, err = b.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: `call far {}`, Tools: []wire.ClientTool{{Name: "far", Description: "Far.", Input: message.JSON(schema)}}})
	require.NoError(t, err)
	var calls []wire.Call
	require.Eventually(t, func() bool {
		calls, err = a.client.Calls(ctx, conv.ID)
		return err == nil && len(calls) == 1
	}, time.Minute, 10*time.Millisecond)
	assert.Len(t, b.rt.Running(), 1, "nobody held it, and b has the project")
	require.NoError(t, a.client.AnswerCall(ctx, conv.ID, calls[0].ID, wire.CallResult{Text: "done"}))
	idle(t, b)
	messages, err := a.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	assert.Contains(t, messages[len(messages)-1].Text(), "it answered: done")
}

// TestTheClientDoesNotNotice: a client of b follows a turn of a; a dies, and c goes on with it. The client gets every kept
// event once. One whose stream is relayed from a, and not from who has the conversation then, misses some: so this test can tell.
func TestTheClientDoesNotNotice(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b, d := c.join("a", memberOptions{}), c.join("b", memberOptions{}), c.join("d", memberOptions{})
	settle(t, a, b, d)
	ctx := t.Context()
	conv := a.conversation("ann")
	a.turn(conv.ID, "before")
	whole := func(ev hook.Event) bool { return turnEnds(ev) && ev.Epoch > 1 }
	first, one := watchAt(b, conv.ID, whole), make(chan []hook.Event, 1)
	go func() { one <- oneStream(b, conv.ID, whole) }()
	_, err := a.client.Send(ctx, conv.ID, "call emit {\"s\":\"3\"}\ncall hold {}")
	require.NoError(t, err)
	<-a.box.held
	naive := make(chan []hook.Event, 1)
	go func() { naive <- naiveRelay(b, a, conv.ID) }()
	first.sees(t, event.CallStart)

	a.kill()
	require.Eventually(t, func() bool {
		_, err = d.client.Resume(ctx, conv.ID)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	events := first.ends(t)
	a.end() // it cannot store the end of its turn
	missed, twice := c.wrong(conv.ID, events)
	assert.Empty(t, missed)
	assert.Empty(t, twice)
	assert.Greater(t, last(t, events).Epoch, int64(1), "d has gone on")
	missed, twice = c.wrong(conv.ID, <-one)
	assert.Empty(t, missed, "one connection is enough")
	assert.Empty(t, twice)
	missed, _ = c.wrong(conv.ID, <-naive)
	assert.NotEmpty(t, missed, "known bad: who does not look again misses events")
}

// naiveRelay relays the stream of a conversation from one node until it breaks off, and looks at nothing else.
func naiveRelay(here, there *member, conversation string) []hook.Event {
	through := internode.New(nil)
	defer through.Close()
	resp, err := through.Do(here.t.Context(), there.members.Self(), internode.Caller{Local: true}, internode.Request{Path: streamOf(conversation), Last: "0-0"})
	if !assert.NoError(here.t, err) {
		return nil
	}
	defer resp.Body.Close()
	return collect(resp.Body, func(hook.Event) bool { return false })
}

// oneStream reads the stream of a conversation over one connection, which it never makes again, until until is true for an event.
func oneStream(m *member, conversation string, until func(hook.Event) bool) []hook.Event {
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://grapnel"+streamOf(conversation), nil)
	if !assert.NoError(m.t, err) {
		return nil
	}
	req.Header.Set("Last-Event-ID", "0-0")
	resp, err := over(m.direct.Address()).RoundTrip(req)
	if !assert.NoError(m.t, err) {
		return nil
	}
	defer resp.Body.Close()
	return collect(resp.Body, until)
}

func streamOf(conversation string) string {
	return "/v1/conversations/" + conversation + "/events?payload=whole"
}

// collect reads the events of a stream to its end.
func collect(body io.Reader, until func(hook.Event) bool) (out []hook.Event) {
	for parts := sse.NewReader(body, nil); ; {
		part, err := parts.Next()
		if err != nil {
			return out
		}
		if ev, err := wire.DecodeEvent(part.Data); part.Name == "" && part.Data != nil && err == nil {
			out = append(out, ev)
			if until(ev) {
				return out
			}
		}
	}
}

// TestAStreamOfAMessageOutlivesItsNode: the answer to a message with stream=1 is written by the node that got it, wherever the turn runs.
func TestAStreamOfAMessageOutlivesItsNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.join("a", memberOptions{}), c.join("b", memberOptions{project: "/q"})
	settle(t, a, b)
	conv := a.conversation("ann")
	body := make(chan string, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://grapnel/v1/conversations/"+conv.ID+"/messages?stream=1", strings.NewReader(`{"text":"call hold {}"}`))
		req.Header.Set("Content-Type", "application/json")
		resp, err := over(b.client.Address()).RoundTrip(req)
		if !assert.NoError(t, err) {
			body <- ""
			return
		}
		text, _ := io.ReadAll(resp.Body)
		assert.NoError(t, resp.Body.Close())
		body <- string(text)
	}()
	<-a.box.held
	d := c.join("d", memberOptions{})
	settle(t, a, b, d)
	a.kill()
	require.Eventually(t, func() bool {
		_, err := d.client.Resume(t.Context(), conv.ID)
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	select {
	case text := <-body:
		assert.Contains(t, text, `"kind":"turn_start"`)
		assert.Contains(t, text, `"kind":"turn_end"`)
		assert.NotContains(t, text, "event: closed")
	case <-time.After(30 * time.Second):
		assert.Fail(t, "the stream does not end")
	}
}

// TestALateNodeIsNotReady: who spreads requests sends it nothing while others may take it for dead.
func TestALateNodeIsNotReady(t *testing.T) {
	t.Parallel()
	a := newCluster(t).join("a", memberOptions{ttl: 2 * time.Second})
	status, body := a.probe("/readyz")
	assert.Equal(t, http.StatusOK, status, body)
	a.presence.cut()
	require.Eventually(t, func() bool {
		status, body = a.probe("/readyz")
		return status == http.StatusServiceUnavailable
	}, time.Minute, 20*time.Millisecond)
	assert.Equal(t, `{"status":"late"}`+"\n", body)
}

// TestFromNodeToNode: the turns of one conversation run on one node after the other, and a client of a third one reads them all.
func TestFromNodeToNode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b, d := c.join("a", memberOptions{}), c.join("b", memberOptions{}), c.join("d", memberOptions{project: "/q"})
	settle(t, a, b, d)
	conv := a.conversation("ann")
	six := func() func(hook.Event) bool {
		turns := 0
		return func(ev hook.Event) bool {
			if turnEnds(ev) {
				turns++
			}
			return turns == 6
		}
	}
	seen, own := watchAt(d, conv.ID, six()), make(chan []hook.Event, 1)
	go func() { own <- oneStream(a, conv.ID, six()) }() // of a node that runs some of the turns itself, and not the last one
	for i := range 6 {
		m := []*member{a, b}[i%2]
		m.turn(conv.ID, fmt.Sprint("turn ", i))
		assert.Equal(t, wire.CodeProject, client.CodeOf(errOf(d.client.Adopt(t.Context(), conv.ID, wire.Adoption{}))), "it belongs to a project that lives")
	}
	events := seen.ends(t)
	assert.NotContains(t, seen.notes, "restarted")
	select {
	case got := <-own:
		missed, twice := c.wrong(conv.ID, got)
		assert.Empty(t, missed)
		assert.Empty(t, twice)
	case <-time.After(time.Minute):
		assert.Fail(t, "the stream of a has not all turns")
	}
	missed, twice := c.wrong(conv.ID, events)
	assert.Empty(t, missed)
	assert.Empty(t, twice)
	assert.Len(t, only(events, event.TurnEnd), 6)
}

func errOf[T any](_ T, err error) error { return err }

// TestListsNameWhoIsSilent: a node that lives and does not answer is named, and not left out as if it had nothing.
func TestListsNameWhoIsSilent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.join("a", memberOptions{}), c.join("b", memberOptions{})
	settle(t, a, b)
	conv := a.conversation("ann")
	_, err := a.client.Send(t.Context(), conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-a.box.held
	for _, path := range []string{"/v1/asks", "/v1/inquiries", "/v1/calls", "/v1/activity", "/v1/conversations"} {
		_, text := b.whole(path)
		assert.NotContains(t, string(text), "unanswered", path)
	}
	a.silence()
	for _, path := range []string{"/v1/asks", "/v1/inquiries", "/v1/calls", "/v1/activity", "/v1/conversations"} {
		_, text := b.whole(path)
		assert.Contains(t, string(text), `"unanswered":["a"]`, path)
	}
	listed, err := b.client.Nodes(t.Context())
	require.NoError(t, err)
	assert.Nil(t, listed[0].Turns)
	assert.True(t, listed[0].Alive)
	a.box.release <- struct{}{}
}

// TestNobodyHasTheProject: a request that no live node can answer says for which project it waits, and is done when such a node comes in time.
func TestNobodyHasTheProject(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.join("a", memberOptions{})
	b := c.join("b", memberOptions{project: "/q", wait: 300 * time.Millisecond})
	patient := c.join("patient", memberOptions{project: "/q", wait: time.Minute})
	settle(t, a, b, patient)
	conv := a.conversation("ann")
	_, err := a.client.Send(t.Context(), conv.ID, `call hold {}`)
	require.NoError(t, err)
	<-a.box.held
	a.kill()
	require.Eventually(t, func() bool { return len(b.members.Others()) == 1 }, time.Minute, 5*time.Millisecond)

	_, err = b.client.Resume(t.Context(), conv.ID)
	assert.Equal(t, wire.CodeNoNode, client.CodeOf(err))
	assert.ErrorContains(t, err, "/p")
	waiting := make(chan string, 1)
	go func() { waiting <- b.until(conv.ID, "event: waiting") }()
	select {
	case text := <-waiting:
		assert.Contains(t, text, `data: {"project":"/p"}`)
	case <-time.After(time.Minute):
		assert.Fail(t, "the stream does not say what the turn waits for")
	}

	done := make(chan error, 1)
	go func() {
		_, err := patient.client.Resume(t.Context(), conv.ID)
		done <- err
	}()
	d := c.join("d", memberOptions{})
	require.NoError(t, <-done)
	idle(t, d)
}

// until reads the stream of a conversation up to a text.
func (m *member) until(conversation, text string) string {
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://grapnel/v1/conversations/"+conversation+"/events", nil)
	if !assert.NoError(m.t, err) {
		return ""
	}
	resp, err := over(m.client.Address()).RoundTrip(req)
	if !assert.NoError(m.t, err) {
		return ""
	}
	defer resp.Body.Close()
	var got bytes.Buffer
	for line := make([]byte, 4096); !strings.Contains(got.String(), text+"\ndata: {"); {
		n, err := resp.Body.Read(line)
		got.Write(line[:n])
		if err != nil {
			break
		}
	}
	return got.String()
}

// TestDeletionsGoWhereTheConversationIs: a conversation is deleted by the node that had it last, where its snapshots are; what names
// no conversation is answered here.
func TestDeletionsGoWhereTheConversationIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	deleted := make(chan string, 10)
	deletes := func(id string) memberOptions {
		return memberOptions{world: worldOptions{api: api.Options{Delete: func(_ context.Context, d wire.Deletion) (wire.Deleted, error) {
			deleted <- id + " " + d.Conversation + d.Sender
			return wire.Deleted{}, nil
		}}}}
	}
	a, b := c.join("a", deletes("a")), c.join("b", deletes("b"))
	settle(t, a, b)
	conv := a.conversation("ann")
	a.turn(conv.ID, "hello")
	_, err := b.direct.Delete(t.Context(), wire.Deletion{Conversation: conv.ID})
	require.NoError(t, err)
	assert.Equal(t, "a "+conv.ID, <-deleted)
	_, err = b.direct.Delete(t.Context(), wire.Deletion{Sender: "ann"})
	require.NoError(t, err)
	assert.Equal(t, "b ann", <-deleted)
	_, err = b.client.Delete(t.Context(), wire.Deletion{})
	assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	_, err = b.client.Delete(t.Context(), wire.Deletion{Conversation: "nobody"})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
}

// TestAnAgentThatWaitsHoldsUpNoTakeOver: a turn whose agent waits for its servers does not keep the daemon from going on with
// the turns of a node that dies later.
func TestAnAgentThatWaitsHoldsUpNoTakeOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	left := func(agent string) string {
		rec, err := c.store.Conversation(t.Context(), store.Key{Project: "/p", Agent: agent, Sender: "ann"})
		require.NoError(t, err)
		_, err = c.store.Note(t.Context(), rec.ID, store.Note{Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"t1","number":1,"project":"/p"}`}}})
		require.NoError(t, err)
		return rec.ID
	}
	left("slow")
	waits := make(chan struct{}, 10)
	m := c.join("a", memberOptions{world: worldOptions{api: api.Options{ResumeAll: true, Await: func(ctx context.Context, agent string) error {
		if agent != "slow" {
			return nil
		}
		waits <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}}})
	<-waits
	id := left("helper")
	m.server.TakeOver()
	require.Eventually(t, func() bool {
		rec, err := c.store.Find(t.Context(), id)
		return err == nil && !rec.Journaled
	}, time.Minute, 10*time.Millisecond)
	m.server.TakeOver()
	time.Sleep(50 * time.Millisecond)
	assert.Empty(t, waits, "the turn that waits is not begun once more")
}
