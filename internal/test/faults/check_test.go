package faults_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
)

// check holds what is in the store and what was told against the tallies.
func (w *world) check() {
	ctx := context.Background()
	w.findRoots()
	results := map[string]message.Message{} // by conversation and call
	ids := []string{w.conv.ID()}
	children, err := w.mem.Children(ctx, w.conv.ID())
	require.NoError(w.t, err)
	for _, c := range children {
		ids = append(ids, c.ID)
		if c.Journaled {
			w.t.Errorf("child conversation %s has a turn that has not ended", c.ID)
		}
	}
	for _, id := range ids {
		ms, err := w.mem.Messages(ctx, id)
		require.NoError(w.t, err)
		for _, p := range history.Check(ms) {
			w.t.Errorf("history of %s: %v", id, p)
		}
		for _, m := range ms {
			if m.Role == message.RoleTool {
				results[id+" "+m.CallID] = m
			}
		}
		if id == w.conv.ID() {
			w.checkTexts(ms)
		}
	}
	w.checkResults(results)
	w.checkEvents()
	if w.journaled {
		w.checkLog()
	}
}

// checkTexts finds every message that was taken in, once.
func (w *world) checkTexts(ms []message.Message) {
	found := map[string]int{}
	for _, m := range ms {
		if m.Role == message.RoleUser {
			found[m.Text()]++
		}
	}
	for text, must := range w.sent {
		if n := found[text]; n > 1 || must && n == 0 {
			w.t.Errorf("%q is in the history %d times", text, n)
		}
	}
	missing, refused := 0, 0
	for _, text := range w.steered {
		switch n := found[text]; {
		case n > 1:
			w.t.Errorf("steered %q is in the history %d times", text, n)
		case n == 0:
			missing++
		}
	}
	for _, ev := range w.events {
		if ev.Kind == event.SteerRefused {
			refused++
		}
	}
	if missing > refused {
		w.t.Errorf("%d steered messages are not in the history, and %d were refused", missing, refused)
	}
}

// checkResults finds the result of every tool that has ended while its turn still
// waited for it, with its own bytes.
func (w *world) checkResults(results map[string]message.Message) {
	for key, r := range w.runs {
		if r.starts > 1 && !r.again {
			w.t.Errorf("%s %s ran %d times", r.tool, key, r.starts)
		}
		m, there := results[r.conversation+" "+r.call]
		turn, known := w.turnOf(r)
		switch {
		case !r.ended, w.lost[turn.id], !known:
			continue
		case r.endedAt.After(turn.to): // a stray, which nobody waited for
			continue
		case !there:
			w.t.Errorf("%s %s has ended and its result is lost", r.tool, key)
		case w.touched[key]:
		case !same(m.Result, r):
			w.t.Errorf("%s %s returned %.80q, and the history has %.80q", r.tool, key, r.text, m.Result.Text())
		}
	}
}

// turnOf is the Send in whose turn, or in the turn of whose child, the call was.
func (w *world) turnOf(r *run) (turnRun, bool) {
	root := w.root(r.turn)
	for _, t := range w.turns {
		for _, ev := range t.events {
			if ev.Turn == root {
				return t, true
			}
		}
	}
	return turnRun{}, false
}

// maxResult is the limit of a result where nobody says anything else, in bytes: docs/conversations.md.
const maxResult = 100_000

// same reports whether the history has what the tool returned, cut to size and in
// UTF-8.
func same(kept message.ToolResult, r *run) bool {
	text := kept.Text()
	switch {
	case kept.IsError() != r.failed:
		return kept.Failure == message.FailTimeout && r.failed
	case len(r.text) > maxResult:
		head, tail := r.text[:1000], r.text[len(r.text)-1000:]
		return strings.HasPrefix(text, head) && strings.HasSuffix(text, tail) && len(text) < maxResult+100
	case kept.Failure == message.FailTimeout: // it was stopped, and says so in other words
		return true
	}
	return text == strings.ToValidUTF8(r.text, "\uFFFD")
}

// ends of what begins.
var ends = map[hook.EventKind]hook.EventKind{
	event.TurnEnd: event.TurnStart, event.StepEnd: event.StepStart, event.TextEnd: event.TextStart,
	event.ReasoningEnd: event.ReasoningStart, event.CallsComplete: event.CallsBegin, event.SubagentEnd: event.SubagentStart,
	event.ApprovalGiven: event.ApprovalAsked, event.CallResult: event.CallStart,
}

// about is what a bracket belongs to.
func about(ev hook.Event, kind hook.EventKind) string {
	id := string(kind) + " " + ev.Turn
	switch kind {
	case event.ApprovalAsked, event.CallStart:
		id += " " + ev.Detail().CallID
	}
	return id
}

func (w *world) checkEvents() {
	open := map[string]int{}
	for i, ev := range w.events {
		if i > 0 && ev.Seq != w.events[i-1].Seq+1 {
			w.t.Errorf("event %d comes behind event %d", ev.Seq, w.events[i-1].Seq)
		}
		if start, ok := ends[ev.Kind]; ok {
			key := about(ev, start)
			if open[key]--; open[key] < 0 && !w.recovered(ev.Turn) {
				w.t.Errorf("event %d: %s ends and had not begun", ev.Seq, key)
			}
			continue
		}
		for _, start := range ends {
			if start == ev.Kind {
				open[about(ev, start)]++
			}
		}
	}
	for key, n := range open {
		if turn := strings.Fields(key)[1]; n > 0 && !w.recovered(turn) {
			w.t.Errorf("%s has begun and not ended", key)
		}
	}
	w.checkOnce()
	for _, t := range w.turns {
		// A turn whose input could not be stored has not begun and has no end: its caller gets the error.
		begun := slices.ContainsFunc(t.events, func(ev hook.Event) bool { return ev.Kind == event.TurnStart })
		if !begun && len(t.events) > 0 && t.err == nil {
			w.t.Errorf("turn %s has not begun, and nobody was told", t.id)
		}
		if n := len(t.events); begun && t.id != "" && t.events[n-1].Kind != event.TurnEnd {
			w.t.Errorf("the last event of turn %s is %s: %s", t.id, t.events[n-1].Kind, t.events[n-1].Text)
		}
		hard := t.out.Stop == hook.StopError || t.out.Stop == hook.StopCancelled || t.out.Stop == hook.StopUserRequested
		if hard != (t.err != nil) && t.out.Stop != hook.StopDenied { // by a hook that rejects, or by one that stops a step
			w.t.Errorf("turn %s: stop %s with error %v", t.id, t.out.Stop, t.err)
		}
	}
}

// recovered reports whether the turn, or the one that it is a child of, has lost
// its lease and was brought to its end by another one.
func (w *world) recovered(turn string) bool {
	return w.lost[w.root(turn)]
}

// root is the turn itself, or the one that people see of which it is a child.
func (w *world) root(turn string) string {
	if root, ok := w.roots[turn]; ok {
		return root
	}
	return turn
}

// findRoots says for each child turn which turn had begun last that people see.
func (w *world) findRoots() {
	w.roots = map[string]string{}
	root := ""
	for _, ev := range w.events {
		switch {
		case ev.Depth == 0 && ev.Kind == event.TurnStart:
			root = ev.Turn
		case ev.Depth > 0 && w.roots[ev.Turn] == "":
			w.roots[ev.Turn] = root
		}
	}
}

// checkOnce counts what has to come exactly once.
func (w *world) checkOnce() {
	began, called := map[string]bool{}, map[string]bool{}
	for _, ev := range w.events {
		switch {
		case w.recovered(ev.Turn):
		case ev.Kind == event.TurnStart:
			began[ev.Turn] = true
		case ev.Kind == event.CallResult:
			called[ev.Turn+"/"+ev.Detail().CallID] = true
		}
	}
	for turn := range began {
		if n := w.ended[turn]; n != 1 {
			w.t.Errorf("AfterTurn of %s was called %d times", turn, n)
		}
	}
	w.checkSteps()
	for key := range called {
		if n := w.after[key]; n != 1 {
			w.t.Errorf("AfterTool of %s was called %d times", key, n)
		}
	}
	for key := range w.after {
		turn := key[:strings.LastIndex(key, "/")]
		if !called[key] && !w.recovered(turn) {
			w.t.Errorf("AfterTool of %s was called, and nobody was told of its result", key)
		}
	}
}

// checkLog finds every event that is kept in the log, in order and once, unless its
// turn was lost.
func (w *world) checkLog() {
	stored, err := w.mem.Events(context.Background(), w.conv.ID(), 0, 1<<20)
	require.NoError(w.t, err)
	log := map[uint64]hook.EventKind{}
	for i, e := range stored {
		if i > 0 && e.Seq <= stored[i-1].Seq {
			w.t.Errorf("event %d is kept behind event %d", e.Seq, stored[i-1].Seq)
		}
		var ev struct{ Kind hook.EventKind }
		require.NoError(w.t, json.Unmarshal([]byte(e.Data), &ev))
		log[e.Seq] = ev.Kind
	}
	passing := []hook.EventKind{event.TextDelta, event.ReasoningDelta, event.CallProgress}
	for _, ev := range w.events {
		if slices.Contains(passing, ev.Kind) || w.recovered(ev.Turn) || ev.Turn == "" {
			continue
		}
		if log[ev.Seq] != ev.Kind {
			w.t.Errorf("event %d, %s of turn %s, is kept as %q", ev.Seq, ev.Kind, ev.Turn, log[ev.Seq])
		}
	}
}
