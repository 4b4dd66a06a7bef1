package api_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// asked runs a turn that calls danger until the call waits for approval, and returns
// the turn and the ask that a client finds who has read the event.
func (w *world) asked(conversation string) (wire.Turn, wire.Ask) {
	w.t.Helper()
	return w.askedWith(conversation, `{"s":"x"}`)
}

func (w *world) askedWith(conversation, args string) (wire.Turn, wire.Ask) {
	w.t.Helper()
	ctx, stop := context.WithCancel(w.t.Context())
	defer stop()
	turn, err := w.client.Send(ctx, conversation, "call danger "+args)
	require.NoError(w.t, err)
	for item, err := range w.client.Follow(ctx, turn) {
		require.NoError(w.t, err)
		if item.Event.Kind == event.ApprovalAsked {
			break
		}
	}
	asks, err := w.client.Asks(ctx, conversation)
	require.NoError(w.t, err)
	require.Len(w.t, asks, 1)
	return turn, asks[0]
}

// TestAsk: an ask is there as long as it waits, and gets one answer.
func TestAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, &worldOptions{approval: approval.Options{Timeout: time.Hour}})
	ctx, conv := t.Context(), w.conversation("ann")
	turn, ask := w.asked(conv.ID)
	assert.Equal(t, time.Hour, ask.Expires.Sub(ask.Asked))
	shown := ask
	shown.ID, shown.Asked, shown.Expires = "", time.Time{}, time.Time{}
	assert.Equal(t, wire.Ask{
		Agent: "helper", Conversation: conv.ID, Turn: turn.ID, CallID: "c1_0", Tool: "danger", Args: `{"s":"x"}`, Shown: "s: x", Reason: ask.Reason,
		Offers: []wire.Offer{{ID: "call-conversation", Text: "exactly this call of danger, in this conversation and the tasks that it hands out"}},
	}, shown)
	other, err := w.client.Asks(ctx, "another")
	require.NoError(t, err)
	assert.Empty(t, other)
	_, long := w.askedWith(w.conversation("bob").ID, `{"s":"x","n":9007199254740993}`)
	assert.True(t, long.Rounded, "a browser reads another number")
	assert.Contains(t, long.Shown, "n: 9007199254740993")
	require.NoError(t, w.client.Answer(ctx, long.ID, wire.Answer{Answer: wire.AnswerRefuse}))
	inquiries, err := w.client.Inquiries(ctx, conv.ID)
	require.NoError(t, err)
	assert.Empty(t, inquiries, "a call is no question")

	for says, answer := range map[string]wire.Answer{
		"none of the offers of this ask: call-conversation": {Answer: wire.AnswerApprove, Remember: "tool-project"},
		"a modification is for its one call":                {Answer: wire.AnswerModify, Args: `{}`, Remember: "call-conversation"},
		"by has to be a name":                               {Answer: wire.AnswerApprove, By: "rule"},
		"at most 4096 bytes":                                {Answer: wire.AnswerRefuse, Reason: strings.Repeat("x", 4097)},
		"reason goes with the answer refuse only":           {Answer: wire.AnswerApprove, Remember: "call-conversation", Reason: "a why"},
	} {
		err := w.direct.Answer(ctx, ask.ID, answer)
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), says)
		assert.ErrorContains(t, err, says)
	}
	for _, id := range []string{"x" + ask.ID, "x"} {
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.Answer(ctx, id, wire.Answer{Answer: wire.AnswerApprove})))
	}
	for _, in := range []string{"", conv.ID} {
		err := w.client.Reply(ctx, ask.ID, wire.Reply{Conversation: in, Given: given("yes", "")})
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(err), "an answer to questions is none to a call: %v", err)
	}

	require.NoError(t, w.client.Answer(ctx, ask.ID, wire.Answer{Answer: wire.AnswerApprove, Remember: "call-conversation", By: "ann"}))
	given := only(w.follow(turn, nil), event.ApprovalGiven)
	require.Len(t, given, 1)
	assert.Equal(t, "Approval.ann", given[0].Detail().By)
	asks, err := w.client.Asks(ctx, "")
	require.NoError(t, err)
	assert.Empty(t, asks)
	err = w.client.Answer(ctx, ask.ID, wire.Answer{Answer: wire.AnswerApprove})
	assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
	assert.Regexp(t, `ann approved it at \d\d:\d\d:\d\d UTC; the event approval_given shows the answer that counts`, err)
}

// TestAskOfACancelledTurn: nothing is left waiting.
func TestAskOfACancelledTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	turn, ask := w.asked(conv.ID)
	_, err := w.client.Cancel(t.Context(), conv.ID)
	require.NoError(t, err)
	end := last(t, w.follow(turn, nil))
	assert.Equal(t, hook.StopCancelled, end.Detail().Stop)
	asks, err := w.client.Asks(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, asks)
	err = w.client.Answer(t.Context(), ask.ID, wire.Answer{Answer: wire.AnswerApprove})
	assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
	assert.ErrorContains(t, err, "its turn is ending")
	assert.Empty(t, w.box.ran)
}

// TestAsksRemember: what a client lets the daemon remember is not asked again, is
// in a file, and holds after a restart.
func TestAsksRemember(t *testing.T) {
	t.Parallel()
	project, rules := t.TempDir(), filepath.Join(t.TempDir(), "approvals")
	w := newWorld(t, &worldOptions{approval: approval.Options{Store: approval.Dir(rules), Project: project}})
	ctx, conv := t.Context(), w.conversation("ann")
	run := func(text string, answer func(asks []wire.Ask) wire.Answer) (by, end string) {
		turn, err := w.client.Send(ctx, conv.ID, text)
		require.NoError(t, err)
		for _, ev := range w.follow(turn, func(ev hook.Event) {
			if ev.Kind != event.ApprovalAsked {
				return
			}
			asks, err := w.client.Asks(ctx, conv.ID)
			require.NoError(t, err)
			if len(asks) > 0 {
				require.NoError(t, w.client.Answer(ctx, asks[0].ID, answer(asks)))
			}
		}) {
			if ev.Kind == event.ApprovalGiven {
				by = ev.Detail().By
			}
			end = ev.Text
		}
		return by, end
	}
	nobody := func([]wire.Ask) wire.Answer {
		assert.Fail(t, "somebody was asked")
		return wire.Answer{Answer: wire.AnswerRefuse}
	}
	by, end := run(`call danger {"s":"x"}`, func(asks []wire.Ask) wire.Answer {
		assert.Equal(t, []wire.Offer{
			{ID: "call-conversation", Text: "exactly this call of danger, in this conversation and the tasks that it hands out"},
			{ID: "call-agent", Text: "exactly this call of danger, by the agent helper in this project, until it is forgotten"},
			{ID: "call-project", Text: "exactly this call of danger, by every agent in this project, until it is forgotten"},
		}, asks[0].Offers)
		return wire.Answer{Answer: wire.AnswerApprove, Remember: "call-agent", By: "ann"}
	})
	assert.Equal(t, []string{"Approval.ann", "it answered: done x"}, []string{by, end})
	by, end = run(`call danger {"s":"x"}`, nobody)
	assert.Equal(t, []string{"Approval.rule", "it answered: done x"}, []string{by, end})
	by, _ = run(`call danger {"s":"y"}`, func([]wire.Ask) wire.Answer {
		return wire.Answer{Answer: wire.AnswerRefuse, Reason: "never y", Remember: "call-project"}
	})
	assert.Equal(t, "Approval.api", by)

	w.end()
	w.start()
	conv = w.conversation("bob")
	by, _ = run(`call danger {"s":"x"}`, nobody)
	assert.Equal(t, "Approval.rule", by)
	by, end = run(`call danger {"s":"y"}`, nobody)
	assert.Equal(t, []string{"Approval.rule", "it answered: never y"}, []string{by, end})
	names, err := os.ReadDir(rules)
	require.NoError(t, err)
	assert.Len(t, names, 2)
}

// TestAsksTimeOut: the call is refused, or approved if the options say so, and
// all clients get the event.
func TestAsksTimeOut(t *testing.T) {
	t.Parallel()
	for action, end := range map[approval.TimeoutAction]string{
		approval.RefuseOnTimeout:  "it answered: Nobody answered within 1ms.",
		approval.ApproveOnTimeout: "it answered: done x",
	} {
		w := newWorld(t, &worldOptions{approval: approval.Options{Timeout: time.Millisecond, OnTimeout: action}})
		events := w.turn(w.conversation("ann").ID, `call danger {"s":"x"}`)
		assert.Equal(t, end, last(t, events).Text)
		late := only(events, event.ApprovalTimedOut)
		require.Len(t, late, 1)
		assert.Contains(t, late[0].Text, "nobody answered within 1ms: the call is ")
		given := only(events, event.ApprovalGiven)
		require.Len(t, given, 1)
		assert.Equal(t, "Approval.timeout", given[0].Detail().By)
		assert.Equal(t, late[0].Detail().Answer, given[0].Detail().Answer)
		assert.Equal(t, late[0].Seq+1, given[0].Seq)
	}
}

// TestManyAsks: sixty-four conversations ask at once, and each gets its own answer
// from clients that answer in no order; one of them has gone before that.
func TestManyAsks(t *testing.T) {
	t.Parallel()
	const n = 64
	w := newWorld(t, nil)
	ctx := t.Context()
	var turns sync.WaitGroup
	ends := make([]string, n)
	for i := range n {
		conv, err := w.direct.Conversation(ctx, "helper", fmt.Sprint("ann", i))
		require.NoError(t, err)
		turn, err := w.direct.Send(ctx, conv.ID, fmt.Sprintf(`call danger {"s":"%d"}`, i))
		require.NoError(t, err)
		turns.Go(func() {
			for item, err := range w.direct.Follow(ctx, turn) {
				if !assert.NoError(t, err) {
					return
				}
				if i == 0 && item.Event.Kind == event.ApprovalAsked {
					break // this client vanishes, and its ask stays
				}
				ends[i] = item.Event.Text
			}
		})
	}
	var asks []wire.Ask
	require.Eventually(t, func() bool {
		var err error
		asks, err = w.direct.Asks(ctx, "")
		return assert.NoError(t, err) && len(asks) == n
	}, time.Minute, time.Millisecond)
	var answering sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 2 { // two clients answer all of them
		answering.Go(func() {
			for _, ask := range asks {
				err := w.direct.Answer(ctx, ask.ID, wire.Answer{Answer: wire.AnswerRefuse, Reason: "no to " + string(ask.Args)})
				if err != nil {
					assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}
		})
	}
	answering.Wait()
	turns.Wait()
	assert.Equal(t, n, refused, "one answer to each")
	for i, end := range ends[1:] {
		assert.Equal(t, fmt.Sprintf(`it answered: no to {"s":"%d"}`, i+1), end)
	}
	require.Eventually(t, func() bool {
		health, err := w.direct.Health(ctx)
		return assert.NoError(t, err) && health.Turns == 0
	}, time.Minute, time.Millisecond)
	assert.Empty(t, w.box.ran)
}
