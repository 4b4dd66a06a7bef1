package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
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
)

func given(chosen, text string) []wire.Given {
	return []wire.Given{{Chosen: []string{chosen}}, {Text: text}}
}

// asks runs a turn that asks, and answers it.
func (w *world) asks(conversation string) {
	w.t.Helper()
	turn, err := w.client.Send(w.t.Context(), conversation, `call ask {"s":"Now?"}`)
	require.NoError(w.t, err)
	events := w.follow(turn, func(ev hook.Event) {
		if ev.Kind == event.QuestionAsked {
			open, err := w.client.Inquiries(w.t.Context(), conversation)
			require.NoError(w.t, err)
			require.Len(w.t, open, 1)
			require.NoError(w.t, w.client.Reply(w.t.Context(), open[0].ID, wire.Reply{Given: given("yes", "")}))
		}
	})
	assert.Contains(w.t, last(w.t, events).Text, `"chosen":["yes"]`)
}

func TestInquiries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	conv, other := w.conversation("ann"), w.conversation("bob")
	turn, err := w.client.Send(ctx, conv.ID, "call ask {\"s\":\"Now?\"}\ncall hold {}")
	require.NoError(t, err)
	events := w.follow(turn, func(ev hook.Event) {
		if ev.Kind != event.QuestionAsked {
			return
		}
		open, err := w.client.Inquiries(ctx, "")
		require.NoError(t, err)
		require.Len(t, open, 1)
		q := open[0]
		assert.Equal(t, time.Hour, q.Expires.Sub(q.Asked))
		q.Asked, q.Expires = time.Time{}, time.Time{}
		assert.Equal(t, wire.Inquiry{
			ID: turn.ID + "/c1_0", Agent: "helper", Conversation: conv.ID, Turn: turn.ID, Questions: ev.Detail().Inquiry.Questions,
		}, q)
		shown, err := w.client.ConversationByID(ctx, conv.ID)
		require.NoError(t, err)
		assert.Equal(t, 1, shown.Inquiries)
		none, err := w.client.Inquiries(ctx, other.ID)
		require.NoError(t, err)
		assert.Empty(t, none)

		for want, answer := range map[string]wire.Reply{
			"the inquiry has 2 questions and the response 1 answers": {Given: []wire.Given{{Text: "x"}}},
			`chooses "maybe", which is no option`:                    {Given: given("maybe", "")},
			"by has 65 bytes":                                        {By: strings.Repeat("x", 65), Given: given("yes", "")},
			"no inquiry":                                             {Conversation: other.ID, Given: given("yes", "")},
		} {
			assert.ErrorContains(t, w.client.Reply(ctx, q.ID, answer), want)
		}
		require.NoError(t, w.client.Reply(ctx, q.ID, wire.Reply{By: "ann", Given: given("no", "later")}))
		err = w.client.Reply(ctx, q.ID, wire.Reply{Conversation: conv.ID, Given: given("yes", "")})
		assert.Equal(t, wire.CodeAnswered, client.CodeOf(err))
		assert.Regexp(t, `ann answered it at \d\d:\d\d:\d\d UTC: no; later; the event question_given`, err)
		<-w.box.held
		// One that comes before the agent asks is kept as long as the turn runs.
		assert.Equal(t, wire.CodeNotFound, client.CodeOf(w.client.Reply(ctx, turn.ID+"/c9", wire.Reply{Given: given("yes", "")})))
		assert.NoError(t, w.client.Reply(ctx, turn.ID+"/c9", wire.Reply{Conversation: conv.ID, Given: given("yes", "")}))
		w.box.release <- struct{}{}
	})
	answered := only(events, event.QuestionGiven)
	require.Len(t, answered, 1)
	assert.Equal(t, "ann", answered[0].Detail().By)
	assert.Equal(t, given("no", "later"), wire.GivenOf(answered[0].Detail().Response))
	err = w.client.Reply(ctx, turn.ID+"/c1_0", wire.Reply{Conversation: conv.ID, Given: given("no", "")})
	assert.Equal(t, wire.CodeAnswered, client.CodeOf(err), "also when the turn is over")
	assert.ErrorContains(t, err, "ann answered it at ")
	err = w.client.Reply(ctx, turn.ID+"/c1_1", wire.Reply{Conversation: conv.ID, Given: given("no", "")})
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	none, err := w.client.Inquiries(ctx, "")
	require.NoError(t, err)
	assert.Empty(t, none)
}

// leaves queues a message and goes before its turn begins.
func (w *world) leaves(conversation, text string) {
	ctx, cancel := context.WithCancel(w.t.Context())
	body := strings.NewReader(`{"text":"` + text + `","when_busy":"queue"}`)
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://grapnel/v1/conversations/"+conversation+"/messages", body)
	req.Header.Set("Content-Type", "application/json")
	cancel()
	w.server.ServeHTTP(httptest.NewRecorder(), req)
}

// TestWhenBusy: a message that comes while a turn is running waits for its end, steers it, or
// is refused.
func TestWhenBusy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	conv := w.conversation("ann")
	first, err := w.client.Send(ctx, conv.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	_, err = w.client.Send(ctx, conv.ID, "no")
	assert.Equal(t, wire.CodeBusy, client.CodeOf(err))
	_, err = w.client.SendWhenBusy(ctx, conv.ID, "no", wire.BusyRefuse)
	assert.Equal(t, wire.CodeBusy, client.CodeOf(err))
	_, err = w.client.SendWhenBusy(ctx, conv.ID, "no", "wait")
	assert.ErrorContains(t, err, `when_busy is "wait"; write refuse, queue or steer`)

	queued := make(chan wire.Turn, 1)
	go func() {
		turn, err := w.client.SendWhenBusy(ctx, conv.ID, "next", wire.BusyQueue)
		assert.NoError(t, err)
		queued <- turn
	}()
	steered, err := w.client.SendWhenBusy(ctx, conv.ID, "hurry", wire.BusySteer)
	require.NoError(t, err)
	assert.Equal(t, first.ID, steered.ID)
	assert.True(t, steered.Steered)
	w.leaves(conv.ID, "never mind")
	w.box.release <- struct{}{}
	rest := w.follow(steered, nil)
	assert.Len(t, only(rest, event.Steered), 1)
	assert.Equal(t, "you said: hurry", last(t, rest).Text, "the turn continues with the message")

	turn := <-queued
	assert.False(t, turn.Steered)
	assert.NotEqual(t, first.ID, turn.ID)
	assert.Equal(t, "you said: next", last(t, w.follow(turn, nil)).Text)

	// Where no turn is running, both just begin one.
	turn, err = w.client.SendWhenBusy(ctx, conv.ID, "again", wire.BusySteer)
	require.NoError(t, err)
	assert.False(t, turn.Steered)
	assert.Equal(t, "you said: again", last(t, w.follow(turn, nil)).Text)
	turn, err = w.client.SendWhenBusy(ctx, conv.ID, "and again", wire.BusyQueue)
	require.NoError(t, err)
	assert.Equal(t, "you said: and again", last(t, w.follow(turn, nil)).Text)
	messages, err := w.client.Messages(ctx, conv.ID)
	require.NoError(t, err)
	for _, m := range messages {
		assert.NotEqual(t, "never mind", m.Text(), "who went has said nothing")
	}
}

// TestFormat: a message asks for the form of the answer to it, and what cannot be asked for begins no turn.
func TestFormat(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	conv := w.conversation("ann")
	for _, tt := range []struct {
		when   wire.Busy
		format message.ResponseFormat
		want   string
	}{
		{"", message.ResponseFormat{Schema: `{"type":"objekt"}`}, `format.schema: /type is "objekt", which is no type; write one of array, `},
		{"", message.ResponseFormat{Name: "x"}, "format asks for nothing; write json: true, a schema, or both"},
		{"", message.ResponseFormat{JSON: true, Name: "a b"}, `format.name is "a b"; use 1 to 64 letters, digits, _ or -`},
		{wire.BusySteer, message.ResponseFormat{JSON: true}, "format is for a message that begins a turn; leave it out, or write refuse or queue for when_busy"},
	} {
		_, err := w.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: "hi", WhenBusy: tt.when, Format: tt.format})
		assert.ErrorContains(t, err, tt.want)
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	}
	_, err := w.client.CreateAgent(ctx, wire.NewAgent{Name: "named", Format: message.ResponseFormat{JSON: true, Name: "a b"}})
	assert.ErrorContains(t, err, `format.name is "a b"`)
	for _, when := range []wire.Busy{wire.BusyRefuse, wire.BusyQueue} {
		turn, err := w.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: "hi", WhenBusy: when, Format: message.ResponseFormat{Schema: `{"type":"object"}`, Name: "x"}})
		require.NoError(t, err)
		assert.Equal(t, `you said: hi, as {false {"type":"object"} x}`, last(t, w.follow(turn, nil)).Text)
	}
	turn, err := w.client.Send(ctx, conv.ID, "hi")
	require.NoError(t, err)
	assert.Equal(t, "you said: hi", last(t, w.follow(turn, nil)).Text, "the next turn is the agent's")
}

func TestResumeWithoutAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	conv := w.conversation("ann")
	_, err := w.client.Resume(t.Context(), conv.ID)
	assert.Equal(t, wire.CodeIdle, client.CodeOf(err))
	assert.ErrorContains(t, err, "no turn of this conversation was interrupted")
	_, err = w.client.Resume(t.Context(), "nothing")
	assert.Equal(t, wire.CodeNotFound, client.CodeOf(err))
	turn, err := w.client.Send(t.Context(), conv.ID, "call hold {}")
	require.NoError(t, err)
	<-w.box.held
	_, err = w.client.Resume(t.Context(), conv.ID)
	assert.Equal(t, wire.CodeBusy, client.CodeOf(err))
	w.box.release <- struct{}{}
	w.follow(turn, nil)
}

// TestModel: a message says which model answers it and how, and what no model can do begins no turn.
func TestModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	ctx := t.Context()
	conv := w.conversation("ann")
	for want, in := range map[string]wire.NewMessage{
		"model is for a message that begins a turn; leave it out, or write refuse or queue for when_busy": {WhenBusy: wire.BusySteer, Model: message.Model{Name: "x"}},
		"format is given twice, also in model; leave one out":                                             {Format: message.ResponseFormat{JSON: true}, Model: message.Model{Format: message.ResponseFormat{JSON: true}}},
		"model: max_tokens is -1 and context_window is 0; write numbers of tokens, or leave them out":     {Model: message.Model{MaxTokens: -1}},
		"model: temperature is -1 and top_p is 0; write a number from 0 on, and one from 0 to 1":          {Model: message.Model{Temperature: message.Some(-1.0)}},
		"model: temperature is 0 and top_p is 2; write a number from 0 on, and one from 0 to 1":           {Model: message.Model{TopP: message.Some(2.0)}},
		"model.extra is no object; write the members to add to the request":                               {Model: message.Model{Extra: "[1]"}},
		`model.tool_choice.mode is "some"; write auto, none, required or tool`:                            {Model: message.Model{Choice: message.ToolChoice{Mode: "some"}}},
		`format.name is "a b"; use 1 to 64 letters, digits, _ or -`:                                       {Model: message.Model{Format: message.ResponseFormat{JSON: true, Name: "a b"}}},
	} {
		in.Text = "hi"
		_, err := w.client.SendMessage(ctx, conv.ID, in)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, wire.CodeInvalid, client.CodeOf(err))
	}
	for _, when := range []wire.Busy{wire.BusyRefuse, wire.BusyQueue} {
		turn, err := w.client.SendMessage(ctx, conv.ID, wire.NewMessage{Text: "hi", WhenBusy: when, Model: message.Model{
			Name: "another", MaxTokens: 9, Temperature: message.Some(0.0), Seed: message.Some[int64](7), Reasoning: message.Reasoning{Budget: 100}, Stop: message.ListOf("END"),
			Choice: message.ToolChoice{Mode: message.ToolChoiceAuto}, Format: message.ResponseFormat{JSON: true}, Tier: "flex", Extra: `{"a":1}`,
		}})
		require.NoError(t, err)
		assert.Contains(t, last(t, w.follow(turn, nil)).Text, "hi, as {true")
	}
}
