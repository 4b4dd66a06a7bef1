package work_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/work"
)

// worker is a subject that does all of the work, but for what a test takes away.
type worker struct {
	tools, messages, calls, results, visits, deltas int
	last, answer                                    string
	again                                           bool // asks the model once more at the end
}

var all = work.Turn{Tools: 8, Calls: 3, Messages: 100, Hooks: 2, Deltas: 4}

// honest does the work of all: its hooks are told before and after two model calls and three tool calls.
func honest() worker {
	return worker{tools: 8, messages: 101, calls: 3, results: 3, visits: 2 * 2 * (2 + 3), deltas: 4,
		last: work.Result, answer: work.Word + work.Word + work.Word + work.Word}
}

func (w worker) turn(l *work.Ledger) error {
	l.Begin()
	n, err := l.Model(work.Seen{Tools: w.tools, Messages: w.messages})
	if err != nil {
		return err
	}
	for range min(n, w.calls) {
		if _, err := l.FindJSON(work.Args); err != nil {
			return err
		}
	}
	for range w.visits {
		l.Hook()
	}
	asked := 1
	if w.again {
		asked++
	}
	for range asked {
		if _, err := l.Model(work.Seen{Tools: w.tools, Messages: w.messages + 1 + w.results, Results: w.results, Last: w.last}); err != nil {
			return err
		}
	}
	for range w.deltas {
		l.Delta(work.Word)
	}
	return l.End(w.answer)
}

func TestWhoDoesAllOfTheWorkPasses(t *testing.T) {
	l := work.NewLedger(all)
	for range 3 {
		require.NoError(t, honest().turn(l), "every turn is counted by itself")
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if err := honest().check(l); err != nil {
			t.Fatal(err)
		}
	}), "the check is part of what is measured")
}

// check is a turn without the tool, whose JSON allocates.
func (w worker) check(l *work.Ledger) error {
	l.Begin()
	if _, err := l.Model(work.Seen{Tools: w.tools, Messages: w.messages}); err != nil {
		return err
	}
	for range w.calls {
		if _, err := l.Find(work.Input{Title: "Shopping list", Limit: 25}); err != nil {
			return err
		}
	}
	for range w.visits {
		l.Hook()
	}
	for range w.deltas {
		l.Delta(work.Word)
	}
	if _, err := l.Model(work.Seen{Tools: w.tools, Messages: w.messages + 4, Results: 3, Last: w.last}); err != nil {
		return err
	}
	return l.End(l.Answer())
}

// Whoever does less is caught, and told what is missing.
func TestWhoDoesLessIsCaught(t *testing.T) {
	for name, tc := range map[string]struct {
		cheat func(*worker)
		want  string
	}{
		"a tool is not told":            {func(w *worker) { w.tools = 7 }, "told 7 tools of 8"},
		"half the history":              {func(w *worker) { w.messages = 51 }, "shown 51 messages"},
		"a call is not executed":        {func(w *worker) { w.calls = 2 }, "2 tool calls, 3"},
		"a result is not shown":         {func(w *worker) { w.results, w.messages = 2, 102 }, "2 results of 3"},
		"the results are empty":         {func(w *worker) { w.last = "" }, `the last result is ""`},
		"a hook is told once too few":   {func(w *worker) { w.visits-- }, "19 visits of hooks, 20"},
		"hooks are told nothing":        {func(w *worker) { w.visits = 0 }, "0 visits of hooks"},
		"a delta does not come through": {func(w *worker) { w.deltas = 3 }, "3 deltas, 4"},
		"another answer":                {func(w *worker) { w.answer = work.Word }, "the answer is"},
		"the model is asked thrice":     {func(w *worker) { w.again = true }, "3 model calls, 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := honest()
			tc.cheat(&w)
			require.ErrorContains(t, w.turn(work.NewLedger(all)), tc.want)
		})
	}
}

func TestTheToolWantsItsArguments(t *testing.T) {
	l := work.NewLedger(all)
	text, err := l.FindJSON(work.Args)
	require.NoError(t, err)
	assert.JSONEq(t, work.Result, text)
	_, err = l.FindJSON(`{"title":"Shopping list","limit":24}`)
	require.ErrorContains(t, err, "Limit:24")
	_, err = l.FindJSON(`{`)
	require.Error(t, err)
}

func TestIDsAreNeverTheSame(t *testing.T) {
	l, seen := work.NewLedger(all), map[string]bool{}
	for range 2500 {
		id := l.ID()
		require.False(t, seen[id], id)
		seen[id] = true
	}
}

func TestTurnsFindTheirLedgers(t *testing.T) {
	many := work.NewLedgers(work.Turn{Conversations: 3})
	require.Len(t, many, 3)
	for i, l := range many {
		assert.Same(t, l, many.In(many.With(t.Context(), i)))
	}
	one := work.NewLedgers(work.Turn{})
	assert.Same(t, one[0], one.In(t.Context()))
}
