package explain_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/explain"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// thePlan is that of a composite with a nested one and a group.
var thePlan = &plan.Plan{Type: "p.Daemon", Members: []plan.Member{
	{Field: "Guard", Match: []string{"tool:bash"}, Points: []plan.PointUse{{Name: "BeforeTool", Policy: "failopen", Timeout: plan.Duration(2 * time.Second), Visibility: "audit"}}},
	{Field: "Core", Points: []plan.PointUse{{Name: "BeforeTool", Timeout: plan.Duration(time.Second)}}, Composite: &plan.Plan{
		Type: "p.Core", Members: []plan.Member{{Field: "Notes", Optional: true, Points: []plan.PointUse{{Name: "BeforeTool"}}, Tools: []string{"add"}}},
	}, Tools: []string{"add"}},
	{Field: "Extra", Group: true},
}}

func TestOption(t *testing.T) {
	cases := []struct {
		path  string
		point hook.Point
		want  string
	}{
		{"Guard", point.BeforeTool, "timeout=2s, visibility=audit, match=tool:bash, failopen"},
		{"Guard", point.AfterTurn, "match=tool:bash, failopen"},
		{"Core.Notes", point.BeforeTool, "optional, failclosed (Core: timeout=1s)"},
		{"Core.Notes", point.Dispatch, "optional"},
		{"Extra[3]", point.BeforeTool, "failclosed"},
		{"Extra[3].Guard", point.BeforeTool, "failclosed"},
		{"Gone", point.BeforeTool, "failclosed"},
		{"", point.TurnContext, "failopen"},
	}
	for _, c := range cases {
		assert.Equal(t, c.want, explain.Option(thePlan, c.path, c.point), "%s at %s", c.path, c.point)
	}
	assert.Equal(t, "failclosed", explain.Option(nil, "Guard", point.BeforeTool))
}

func said(path string, p hook.Point, a hook.Answer, s hook.RunStatus) hook.Run {
	return hook.Run{Subsystem: path, Point: p, CallID: "k1", Tool: "add", Answer: a, Status: s}
}

func skipped(path, by string) hook.Run {
	r := said(path, point.BeforeTool, hook.AnswerNone, event.RunSkipped)
	r.By = by
	return r
}

func TestWhichAnswerCounts(t *testing.T) {
	const ok, denied = event.RunSucceeded, event.RunDenied
	before, after := point.BeforeTool, point.AfterTool
	cases := []struct {
		name string
		runs []hook.Run
		want []string // of each passage, who counts and why
	}{
		{"nobody", []hook.Run{said("A", before, "", ok), said("B", before, "", ok)}, []string{"nobody had an opinion"}},
		{"the most severe", []hook.Run{said("A", before, "answer", ok), said("B", before, "ask", ok), said("C", before, "narrow", ok)},
			[]string{"B: the ask of B counts; it outweighs the answer of A and the narrow of C"}},
		{"the first among equals", []hook.Run{said("A", before, "ask", ok), said("B", before, "ask", ok)},
			[]string{"A: the ask of A counts; the first of several as severe is reported, beside B"}},
		{"the outermost among equals", []hook.Run{said("B", after, "withhold", denied), said("A", after, "withhold", denied)},
			[]string{"A: the withhold of A counts; the outermost of several as severe is reported, beside B"}},
		{"the end of a gate", []hook.Run{said("A", before, "ask", ok), said("B", before, "deny", denied), skipped("C", "B"), skipped("D", "B")},
			[]string{"B: the deny of B counts; it outweighs the ask of A; it ended the point, so C, D had no say"}},
		{"a failure", []hook.Run{said("A", before, "deny", event.RunTimedOut)},
			[]string{"A: the deny of A counts; which its fail policy says in its place"}},
		{"two rounds", []hook.Run{said("A", before, "ask", ok), said("P", point.Approve, "modify", ok), said("A", before, "", ok)},
			[]string{"A: the ask of A counts", "P: the modify of P counts", "nobody had an opinion"}},
		{"the first answer", []hook.Run{said("P", point.Approve, "approve", ok), said("Q", point.Approve, "", event.RunSkipped)},
			[]string{"P: the approve of P counts; it ended the point, so Q had no say"}},
		{"what decides nothing", []hook.Run{said("A", point.RewriteArgs, "", ok), said("A", point.WrapTool, "", ok)}, []string{"", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var events []hook.Event
			for _, r := range c.runs {
				events = append(events, r.Event())
			}
			call := explain.Explain(events, thePlan)
			assert.True(t, call.Recorded)
			assert.Equal(t, "Core.Notes", call.Owner)
			var got []string
			for _, p := range call.Points {
				line := p.Why
				for _, r := range p.Runs {
					if r.Counts {
						line = r.Field + ": " + line
					}
				}
				got = append(got, line)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// log is a store of events in memory, page by page.
type log map[string][]hook.Event

func (l log) List(context.Context) ([]store.Record, error) {
	return []store.Record{{ID: "old", Updated: time.Unix(1, 0)}, {ID: "new", Updated: time.Unix(2, 0)}, {ID: "empty"}}, nil
}

func (l log) Events(_ context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	var out []store.Event
	var err error
	for _, ev := range l[id] {
		if ev.Seq <= after || len(out) == min(limit, 3) {
			continue
		}
		data, failed := json.Marshal(ev)
		if failed != nil {
			return nil, failed
		}
		if ev.Text == "damaged" {
			err = &store.DamagedError{ID: id, Part: "event", At: []int64{int64(ev.Seq)}, Err: errors.New("bits")}
			continue
		}
		out = append(out, store.Event{Seq: ev.Seq, Data: message.JSON(data)})
	}
	return out, err
}

// conversation numbers the events.
func conversation(events ...hook.Event) []hook.Event {
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

func about(turn, id string, kind hook.EventKind, d hook.EventDetail) hook.Event {
	d.CallID, d.Tool = id, "add"
	ev := hook.Event{Kind: kind, Turn: turn, Agent: "a", Step: 1}.WithDetail(d)
	if d.Answer != "" || kind == event.ApprovalAsked {
		ev.Text = "because"
	}
	return ev
}

func TestFind(t *testing.T) {
	failure := (&hook.Failure{Subsystem: "Guard", Point: point.BeforeTool, Err: errors.New("secret")}).Event()
	failure.Turn, failure.Step = "t2", 1
	elsewhere := (&hook.Failure{Subsystem: "Guard", Point: point.AfterTurn, Err: errors.New("secret")}).Event()
	elsewhere.Turn = "t2"
	l := log{
		"old": conversation(about("t0", "only", event.CallStart, hook.EventDetail{}), about("t0", "k1", event.CallStart, hook.EventDetail{})),
		"new": conversation(
			about("t1", "k1", event.CallStart, hook.EventDetail{}),
			about("t1", "k1", event.CallResult, hook.EventDetail{Outcome: message.OutcomeExecuted}),
			hook.Event{Kind: event.Diagnostic, Text: "damaged"},
			about("t2", "k1", event.CallStart, hook.EventDetail{Args: `{"secret":1}`}),
			failure, elsewhere,
			about("t2", "k10", event.CallStart, hook.EventDetail{}),
			about("t2", "k1", event.ApprovalAsked, hook.EventDetail{}),
			about("t2", "k1", event.ApprovalGiven, hook.EventDetail{Answer: hook.AnswerRefuse, By: "Person"}),
			about("t2", "k1", event.CallResult, hook.EventDetail{
				Outcome: message.OutcomeDenied, Result: message.FailedResult(message.FailDenied, "secret"), Duration: time.Second, By: "Approval",
			}),
		),
	}
	call, err := explain.Find(t.Context(), l, "k1", "", thePlan)
	require.NoError(t, err)
	assert.Equal(t, "t2 1", call.Turn+" "+string(rune('0'+call.Others)))
	assert.Equal(t, message.OutcomeDenied, call.Outcome)
	assert.Equal(t, "Approval", call.By)
	assert.InDelta(t, 1000, call.DurationMS, 0)
	assert.False(t, call.Recorded)
	var lines []string
	for _, p := range call.Points {
		for _, r := range p.Runs {
			lines = append(lines, p.Point+" "+r.Field+" "+string(r.Status)+" "+string(r.Answer)+" "+r.Reason)
		}
	}
	assert.Equal(t, []string{
		"BeforeTool Guard failed  Guard failed at BeforeTool", "BeforeTool  succeeded ask because", "Approve Person denied refuse because",
	}, lines)
	data, err := json.Marshal(call)
	require.NoError(t, err)
	assert.NotContains(t, string(data), "secret")

	call, err = explain.Find(t.Context(), l, "k1", "old", thePlan)
	require.NoError(t, err)
	assert.Equal(t, "t0", call.Turn)
	_, err = explain.Find(t.Context(), l, "k2", "", thePlan)
	require.ErrorIs(t, err, explain.ErrUnknown)
	_, err = explain.Find(t.Context(), l, "k1", "none", thePlan)
	require.ErrorIs(t, err, store.ErrUnknown)

	last, err := explain.Last(t.Context(), l, 20)
	require.NoError(t, err)
	require.Len(t, last, 2)
	assert.Equal(t, "t2 t1", last[0].Turn+" "+last[1].Turn)
	last, err = explain.Last(t.Context(), l, 1)
	require.NoError(t, err)
	assert.Len(t, last, 1)
}
