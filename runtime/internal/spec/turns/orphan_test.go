package turns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Every child with a start among the events has its end there, also if the process has
// died.

// runsAgent is a tool that runs the agent "b".
func runsAgent() rig.Tool {
	return rig.Tool{Tool: message.Tool{Name: "run", Waits: true}, Run: func(ctx context.Context, env *hook.Env, _ string) message.ToolResult {
		_, _ = env.Call.Step().Turn().Host().RunAgent(ctx, hook.AgentRun{Agent: "b", Input: message.TextInput("task"), Call: env.Call})
		return message.TextResult("ran")
	}}
}

// brackets are the kept events of turns and children, with their depth.
func brackets(t *testing.T, s store.Log, id string) (out []string) {
	t.Helper()
	events, err := s.Events(t.Context(), id, 0, 10_000)
	require.NoError(t, err)
	for _, e := range events {
		var ev hook.Event
		require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
		switch ev.Kind {
		case event.TurnStart, event.TurnEnd:
			out = append(out, fmt.Sprintf("%s %d", ev.Kind, ev.Depth))
		case event.SubagentStart, event.SubagentEnd:
			out = append(out, fmt.Sprintf("%s %d %s %s", ev.Kind, ev.Depth, ev.Detail().Tool, ev.Detail().Stop))
		}
	}
	return out
}

func TestSpecTheEndOfARunningChildIsEmitted(t *testing.T) {
	t.Parallel()
	for name, resume := range map[string]bool{"resumed": true, "settled": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, mark := rig.NewGate("wait"), rig.NewGate("mark")
			w, s := bootOver(t, nil, rig.Plays(rig.Calls(rig.Call("c1", "run", `{}`), rig.Call("c2", "mark", `{}`)), rig.Calls(rig.Call("c3", "wait", `{}`))), rig.Box(runsAgent(), g.Tool, mark.Tool))
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended, marked := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = dialog.Send(ctx, w.Conv, message.TextInput("1"), nil)
			}()
			<-g.Reached
			<-mark.Reached
			close(mark.Open) // so that the beginning of the child is kept
			go func() {
				defer close(marked)
				for len(brackets(t, s, w.Conv.ID())) < 3 {
				}
			}()
			<-marked
			s.dead.Store(true)
			cancel()
			<-ended
			w, s = bootOver(t, s, rig.Plays(rig.Says("done"), rig.Says("done")), rig.Box(runsAgent(), g.Tool, mark.Tool))
			_, err = w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
			require.NoError(t, err)
			if resume {
				_, err = dialog.Resume(t.Context(), w.Conv, nil)
				require.NoError(t, err)
			} else {
				w.Send("2")
			}
			assert.Equal(t, []string{
				"turn_start 0", "subagent_start 1 run ", "turn_start 1",
				"turn_start 0", "subagent_start 1 run ", "turn_start 1", "turn_end 1", "subagent_end 1 run cancelled", "turn_end 0",
			}, brackets(t, s, w.Conv.ID())[:9])
		})
	}
}

// A child had ended, but not all events of its end were emitted.
func TestSpecTheEndOfAnEndedChildIsEmitted(t *testing.T) {
	t.Parallel()
	told := func(seq uint64, kind hook.EventKind, turn string, depth int) store.Event {
		ev := hook.Event{Kind: kind, Seq: seq, Agent: "b", Turn: turn, Depth: depth}
		if kind == event.SubagentStart {
			ev = ev.WithDetail(hook.EventDetail{CallID: "c1", Tool: "run"})
		}
		if kind == event.TurnEnd {
			ev.Text = "an answer"
			ev = ev.WithUsage(message.Usage{Input: 7}, 0, hook.StopCompleted)
		}
		text, err := json.Marshal(ev)
		require.NoError(t, err)
		return store.Event{Seq: seq, Data: message.JSON(text)}
	}
	first := []store.Event{told(1, event.TurnStart, "t1", 0), told(2, event.SubagentStart, "t2", 1)}
	tests := map[string]struct {
		told []store.Event
		want []string
	}{
		"nothing but its start": {nil, []string{"subagent_end 1 run cancelled"}},
		"its turn": {[]store.Event{told(3, event.TurnStart, "t2", 1)}, []string{
			"turn_start 1", "turn_end 1", "subagent_end 1 run cancelled"}},
		"the end of its turn": {[]store.Event{told(3, event.TurnStart, "t2", 1), told(4, event.TurnEnd, "t2", 1)}, []string{
			"turn_start 1", "turn_end 1", "subagent_end 1 run completed"}},
		"two, one in the other": {[]store.Event{told(3, event.SubagentStart, "t3", 2)}, []string{
			"subagent_start 2 run ", "subagent_end 2 run cancelled", "subagent_end 1 run cancelled"}},
		"all": {[]store.Event{told(3, event.SubagentEnd, "t2", 1)}, []string{"subagent_end 1  "}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, s := bootOver(t, nil, rig.Plays(rig.Says("done")), hook.Nop{})
			_, err := w.Runtime.Register(t.Context(), hook.AgentConfig{Name: "b"})
			require.NoError(t, err)
			rec, err := s.Claim(t.Context(), w.Conv.ID(), store.Claim{Owner: "dead", Hold: 1})
			require.NoError(t, err)
			_, err = s.Store.Append(t.Context(), rec.ID, store.Append{Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(message.UserText("1")),
				Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"id":"t1","number":1,"from":0}`}}, Events: append(first, test.told...)})
			require.NoError(t, err)
			w.Send("2")
			var ends []string
			for _, b := range brackets(t, s, w.Conv.ID()) {
				if b != "turn_start 0" && b != "turn_end 0" {
					ends = append(ends, b)
				}
			}
			assert.Equal(t, append([]string{"subagent_start 1 run "}, test.want...), ends)
		})
	}
}
