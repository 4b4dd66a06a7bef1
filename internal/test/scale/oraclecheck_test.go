package scale_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// sound is what is known of a conversation with which nothing is wrong: two daemons have run its turn, one after the other.
func sound() evidence {
	ev := func(epoch int64, seq uint64, kind hook.EventKind) hook.Event {
		return hook.Event{Epoch: epoch, Seq: seq, Kind: kind, Turn: "t"}
	}
	end := ev(2, 9, event.TurnEnd)
	end.Text = "done c1-1."
	end = end.WithUsage(message.Usage{}, 0, hook.StopCompleted)
	events := []hook.Event{ev(1, 1, event.TurnStart), ev(1, 4, event.StepStart), ev(2, 5, event.TurnStart), end}
	return evidence{
		talks: []told{{
			id: "c", events: slices.Clone(events),
			seen: seen{
				inputs: []string{"turn c1-1 calls=1 asks=0"}, steers: []string{"and also c1-1"},
				began: nil, ended: map[string]bool{"t": true}, kept: events,
			},
			messages: []message.Message{
				message.UserText("turn c1-1 calls=1 asks=0"),
				{Role: message.RoleAssistant, Content: message.ListOf(message.Block{
					Kind: message.BlockToolCall, CallID: "1", Tool: "bash", JSON: `{"command":"echo c1-1-7 >> effects.txt"}`,
				})},
				{Role: message.RoleTool, CallID: "1", Tool: "bash", Result: message.TextResult("")},
				message.UserText("and also c1-1"),
				{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("done c1-1."))},
			},
		}},
		effects: []string{"c1-1-7"},
		jobs:    []store.Job{{Turn: "t", Status: store.JobSucceeded}},
	}
}

// TestOracles: each finds what it is for, and only that is found.
func TestOracles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, oracle string
		spoil        func(e *evidence, t *told)
	}{
		{"nothing is wrong", "", func(*evidence, *told) {}},
		{"a message is lost", "lost", func(_ *evidence, t *told) { t.inputs = append(t.inputs, "turn c1-2 calls=0 asks=0") }},
		{"a message to the turn is lost", "lost", func(_ *evidence, t *told) { t.steers = append(t.steers, "and also c1-2") }},
		{"the answer is lost", "lost", func(_ *evidence, t *told) { t.messages[4].Content = message.ListOf(message.TextBlock("done c1-0.")) }},
		{"an event is missing", "torn", func(_ *evidence, t *told) { t.kept = slices.Delete(t.kept, 1, 2) }},
		{"an event comes twice", "torn", func(_ *evidence, t *told) { t.kept = slices.Insert(t.kept, 1, t.kept[1]) }},
		{"an event is not stored", "torn", func(_ *evidence, t *told) { t.events = t.events[:3]; t.ended = nil }},
		{"an event is another one", "torn", func(_ *evidence, t *told) { t.events[1].Turn = "u" }},
		{"a stream ends early", "torn", func(_ *evidence, t *told) { t.kept = t.kept[:3] }},
		{"a stream begins anew", "torn", func(_ *evidence, t *told) { t.item(client.Item{ID: "1-1", Restarted: true}) }},
		{"an old owner still tells", "torn", func(_ *evidence, t *told) {
			t.item(client.Item{ID: "1-10", Event: hook.Event{Epoch: 1, Seq: 10, Kind: event.TextDelta}})
		}},
		{"an old owner still writes", "mixed", func(_ *evidence, t *told) {
			t.events[3].Epoch, t.events[2].Epoch = 1, 2
			t.kept = slices.Clone(t.events)
		}},
		{"a turn goes on behind its end", "mixed", func(_ *evidence, t *told) {
			again := t.events[1]
			again.Seq, again.Epoch = 10, 2
			t.events = append(t.events, again)
			t.kept = slices.Clone(t.events)
		}},
		{"a message could not be stored, and that was said", "", func(_ *evidence, t *told) {
			begin := hook.Event{Epoch: 2, Seq: 10, Kind: event.TurnStart, Turn: "u", Text: "turn c1-2 calls=0 asks=0"}
			end := hook.Event{Epoch: 2, Seq: 11, Kind: event.TurnEnd, Turn: "u"}.WithUsage(message.Usage{}, 0, hook.StopError)
			t.inputs, t.events = append(t.inputs, begin.Text), append(t.events, begin, end)
			t.kept = slices.Clone(t.events)
		}},
		{"an effect comes twice", "doubled", func(e *evidence, _ *told) { e.effects = append(e.effects, e.effects...) }},
		{"an effect is missing", "undone", func(e *evidence, _ *told) { e.effects = nil }},
		{"a job is missing", "jobs", func(e *evidence, _ *told) { e.jobs = nil }},
		{"a job is there twice", "jobs", func(e *evidence, _ *told) { e.jobs = append(e.jobs, e.jobs...) }},
		{"a job still runs", "jobs", func(e *evidence, _ *told) { e.jobs[0].Status = store.JobRunning }},
		{"a job is ended by another daemon", "strange", func(e *evidence, _ *told) { e.strange = []string{"a job"} }},
		{"a turn is taken too early", "hasty", func(e *evidence, _ *told) { e.hasty = []string{"a turn"} }},
		{"a turn has no end", "stuck", func(_ *evidence, t *told) { t.began = map[string]time.Time{"u": {}} }},
		{"no turn begins any more", "stuck", func(_ *evidence, t *told) { t.stuck = "it does not" }},
		{"the server refuses a request", "refused", func(e *evidence, _ *told) { e.refused = 1 }},
		{"a call has no result", "refused", func(_ *evidence, t *told) { t.messages = slices.Delete(t.messages, 2, 3) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			tt.spoil(&e, &e.talks[0])
			var found []string
			for _, o := range oracles {
				if len(o.find(e)) > 0 {
					found = append(found, o.name)
				}
			}
			if tt.oracle == "" {
				assert.Empty(t, found)
				return
			}
			assert.Equal(t, []string{tt.oracle}, found)
		})
	}
}

// TestStreamsThatAreTakenBack: what a daemon has told of and not kept is dropped, and comes again otherwise.
func TestStreamsThatAreTakenBack(t *testing.T) {
	t.Parallel()
	e := sound()
	k := &e.talks[0]
	k.kept = nil
	for _, item := range []client.Item{
		{ID: "1-1", Event: k.events[0]}, {ID: "1-4", Event: k.events[1]},
		{ID: "1-5", Event: hook.Event{Epoch: 1, Seq: 5, Kind: event.StepEnd, Turn: "t"}},
		{ID: "1-4", Restarted: true, Kept: true},
		{ID: "2-5", Event: k.events[2]}, {ID: "2-9", Event: k.events[3]},
	} {
		k.item(item)
	}
	assert.Empty(t, torn(e))
}
