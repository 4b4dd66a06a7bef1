package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

func looks(text string) wire.NewMessage {
	return wire.NewMessage{Text: text, Tools: []wire.ClientTool{{
		Name: "look", Description: "Looks.", Input: `{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`, Timeout: "1h",
	}}}
}

// TestAClientRunsACall: the answer comes while the client follows the turn, over another connection, which waits for no lock that
// the turn holds (bug B13 of others). The turn began without a stream (B7).
func TestAClientRunsACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx, conv := t.Context(), w.conversation("ann")
	turn, err := w.client.SendMessage(ctx, conv.ID, looks("call hold {}\ncall look {\"at\":\"sea\"}"))
	require.NoError(t, err)
	said := ""
	for item, err := range w.client.Follow(ctx, turn) {
		require.NoError(t, err)
		switch item.Event.Kind {
		case event.ClientCall:
			d := item.Event.Detail()
			assert.Equal(t, message.JSON(`{"at":"sea"}`), d.Args)
			waiting, err := w.client.Calls(ctx, conv.ID)
			require.NoError(t, err)
			require.Len(t, waiting, 1)
			c := waiting[0]
			assert.Equal(t, time.Hour, c.Expires.Sub(c.Asked))
			c.Asked, c.Expires = time.Time{}, time.Time{}
			assert.Equal(t, wire.Call{ID: d.CallID, Agent: "helper", Conversation: conv.ID, Turn: turn.ID, Tool: "look", Args: `{"at":"sea"}`}, c)
			none, err := w.client.Calls(ctx, "another")
			require.NoError(t, err)
			assert.Empty(t, none)
			inquiries, err := w.client.Inquiries(ctx, conv.ID)
			require.NoError(t, err)
			assert.Empty(t, inquiries, "a call is no question")

			require.NoError(t, w.client.AnswerCall(ctx, conv.ID, d.CallID, wire.CallResult{Text: "waves"}))
			err = w.client.AnswerCall(ctx, conv.ID, d.CallID, wire.CallResult{Text: "no waves"})
			assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
			w.box.release <- struct{}{}
		case event.TurnEnd:
			said = item.Event.Text
		}
	}
	assert.Equal(t, "it answered: waves", said)
	err = w.client.AnswerCall(ctx, conv.ID, "c1_1", wire.CallResult{Text: "late"})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))

	turn, err = w.client.Send(ctx, conv.ID, `call look {"at":"sea"}`)
	require.NoError(t, err)
	assert.Contains(t, last(t, w.follow(turn, nil)).Text, `tool "look" is not registered`, "the next turn does not have the tool")
}

// TestAClientFails: the model gets the client's error.
func TestAClientFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx, conv := t.Context(), w.conversation("ann")
	turn, err := w.client.SendMessage(ctx, conv.ID, looks(`call look {"at":"sea"}`))
	require.NoError(t, err)
	for item, err := range w.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if ev := item.Event; ev.Kind == event.CallStart { // early
			require.NoError(t, w.client.AnswerCall(ctx, conv.ID, ev.Detail().CallID, wire.CallResult{Text: "it is dark", IsError: true}))
		} else if ev.Kind == event.CallResult {
			assert.Equal(t, message.FailOperation, ev.Detail().Result.Failure)
		}
	}
}

// TestAClientIsGone: its call is there for another client, and ends when the turn is cancelled.
func TestAClientIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	ctx, gone := context.WithCancel(t.Context())
	turn, err := w.client.SendMessage(ctx, conv.ID, looks(`call look {"at":"sea"}`))
	require.NoError(t, err)
	for item, err := range w.client.Follow(ctx, turn) {
		require.NoError(t, err)
		if item.Event.Kind == event.ClientCall {
			break
		}
	}
	gone()
	waiting, err := w.client.Calls(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	_, err = w.client.Cancel(t.Context(), conv.ID)
	require.NoError(t, err)
	w.follow(turn, nil)
	waiting, err = w.client.Calls(t.Context(), "")
	require.NoError(t, err)
	assert.Empty(t, waiting)
	err = w.client.AnswerCall(t.Context(), conv.ID, "c1_0", wire.CallResult{Text: "late"})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
}

// TestToolsThatNoTurnCanHave: the message is refused, and no turn begins.
func TestToolsThatNoTurnCanHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx, conv := t.Context(), w.conversation("ann")
	for says, m := range map[string]wire.NewMessage{
		`the agent has a tool "echo"`:              {Text: "x", Tools: []wire.ClientTool{{Name: "echo"}}},
		"the name has to match":                    {Text: "x", Tools: []wire.ClientTool{{Name: "a b"}}},
		"is given twice":                           {Text: "x", Tools: []wire.ClientTool{{Name: "a"}, {Name: "a"}}},
		"have these tools: tool \"a\": its schema": {Text: "x", Tools: []wire.ClientTool{{Name: "a", Input: `{"type":7}`}}},
		"tools[0].timeout is":                      {Text: "x", Tools: []wire.ClientTool{{Name: "a", Timeout: "soon"}}},
		"its time is 25h0m0s":                      {Text: "x", Tools: []wire.ClientTool{{Name: "a", Timeout: "25h"}}},
		"more than 262144 bytes":                   {Text: "x", Tools: []wire.ClientTool{{Name: "a", Description: strings.Repeat("x", 256<<10)}}},
		"tools is for a message":                   {Text: "x", Tools: []wire.ClientTool{{Name: "a"}}, WhenBusy: wire.BusySteer},
	} {
		_, err := w.direct.SendMessage(ctx, conv.ID, m)
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err), says)
		assert.ErrorContains(t, err, says)
	}
	messages, err := w.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	assert.Empty(t, messages)
}
