package scale_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// evidence is all that is known when the faults are over.
type evidence struct {
	talks []told
	// effects are the lines that commands have written.
	effects []string
	jobs    []store.Job
	// hasty are takeovers, and strange are ends of jobs that the database has noted and that must not be.
	hasty, strange []string
	// refused counts the requests that the model's server has refused.
	refused int64
}

// told is a conversation, as its client was told of it and as it is stored.
type told struct {
	id string
	seen
	messages []message.Message
	events   []hook.Event
	// stuck: its turn has not ended, or no further one ran to its end.
	stuck string
}

// oracle finds one kind of thing that must not happen.
type oracle struct {
	name string
	// shows is what a figure says of it: "0 SHOWS".
	shows string
	find  func(evidence) []string
}

var oracles = []oracle{
	{"lost", "acknowledged messages, answers and ended turns", lost},
	{"torn", "events of a stream missing, twice or not stored", torn},
	{"mixed", "turns with two owners at once", mixed},
	{"doubled", "effects twice", doubled},
	{"undone", "effects of calls that are said to have succeeded", undone},
	{"jobs", "jobs that did not succeed exactly once", badJobs},
	{"strange", "jobs ended by a daemon that had lost them", func(e evidence) []string { return e.strange }},
	{"hasty", "turns taken from daemons that nobody knew to be dead", func(e evidence) []string { return e.hasty }},
	{"stuck", "turns without an end", stuck},
	{"refused", "histories that the model's server refuses", refused},
}

// each looks at every conversation.
func each(e evidence, find func(t told) []string) (out []string) {
	for _, t := range e.talks {
		for _, what := range find(t) {
			out = append(out, t.id+": "+what)
		}
	}
	return out
}

// lost: a message that a daemon has taken is in the history, unless its client was told otherwise: it was refused by the running turn,
// or its turn has ended with an error before its first step, because it could not be stored. So is the answer of every turn that
// has ended well, as it was shown.
func lost(e evidence) []string {
	return each(e, func(t told) (out []string) {
		texts := map[string]int{}
		for _, m := range t.messages {
			texts[m.Text()]++
		}
		for _, text := range t.inputs {
			if texts[text] == 0 && !t.toldUnstored(text) {
				i := slices.IndexFunc(t.events, func(ev hook.Event) bool { return ev.Kind == event.TurnStart && ev.Text == text })
				out = append(out, fmt.Sprintf("the message is lost: %s, %s", text, around(t.events, max(0, i))))
			}
		}
		for _, text := range t.steers {
			if texts[text] == 0 && !slices.ContainsFunc(t.events, func(ev hook.Event) bool { return ev.Kind == event.SteerRefused }) {
				out = append(out, "the message to the running turn is lost: "+text)
			}
		}
		for _, ev := range t.kept {
			if ev.Kind == event.TurnEnd && ev.Depth == 0 && ev.Detail().Stop == hook.StopCompleted && texts[ev.Text] == 0 {
				out = append(out, "the answer is lost: "+ev.Text)
			}
		}
		return out
	})
}

// toldUnstored reports whether the client was told that the turn of the message has failed before its first step.
func (t told) toldUnstored(text string) bool {
	turn, failed := "", false
	for _, ev := range t.events {
		switch {
		case ev.Kind == event.TurnStart && ev.Text == text:
			turn = ev.Turn
		case turn == "" || ev.Turn != turn:
		case ev.Kind == event.StepStart:
			return false
		case ev.Kind == event.TurnEnd:
			failed = failed || ev.Detail().Stop == hook.StopError
		}
	}
	return failed
}

// torn: the stream of a client is what is stored, event by event.
func torn(e evidence) []string {
	return each(e, func(t told) []string {
		out := slices.Clone(t.wrong)
		for i := range max(len(t.kept), len(t.events)) {
			if i >= len(t.kept) || i >= len(t.events) || name(t.kept[i]) != name(t.events[i]) {
				return append(out, fmt.Sprintf("its stream has %s where %s is stored", around(t.kept, i), around(t.events, i)))
			}
		}
		return out
	})
}

// around shows an event with those beside it.
func around(events []hook.Event, i int) string {
	var out []string
	for _, ev := range events[min(max(0, i-2), len(events)):min(i+4, len(events))] {
		out = append(out, name(ev))
	}
	return fmt.Sprintf("%d of %d: [%s]", i, len(events), strings.Join(out, ", "))
}

// name is what two events have in common if they are the same.
func name(ev hook.Event) string {
	return fmt.Sprintf("%d-%d %s of turn %s", ev.Epoch, ev.Seq, ev.Kind, ev.Turn)
}

// mixed: a turn has one owner at a time, so the events of an epoch stand together, and a turn makes no step behind its end. Who
// cannot store the end of a turn, because the disk is full, tells of it again.
func mixed(e evidence) []string {
	return each(e, func(t told) (out []string) {
		ended := map[string]bool{}
		for i, ev := range t.events {
			if i > 0 && (ev.Epoch < t.events[i-1].Epoch || ev.Seq <= t.events[i-1].Seq) {
				out = append(out, fmt.Sprintf("%s is stored behind %s", name(ev), name(t.events[i-1])))
			}
			if ended[ev.Turn] && ev.Kind == event.StepStart {
				out = append(out, fmt.Sprintf("a turn goes on behind its end: %s", around(t.events, i)))
			}
			if ev.Kind == event.TurnEnd && ev.Depth == 0 && ev.Detail().Stop == hook.StopCompleted {
				ended[ev.Turn] = true
			}
		}
		return out
	})
}

// doubled: no line of a command is there twice, because each command has another one.
func doubled(e evidence) (out []string) {
	seen := map[string]bool{}
	for _, line := range e.effects {
		if seen[line] {
			out = append(out, line)
		}
		seen[line] = true
	}
	return out
}

// undone: a command that is said to have succeeded has written its line.
func undone(e evidence) []string {
	lines := map[string]bool{}
	for _, line := range e.effects {
		lines[line] = true
	}
	return each(e, func(t told) (out []string) {
		commands := map[string]string{} // by call
		for _, m := range t.messages {
			for _, b := range m.Content.All() {
				if b.Kind == message.BlockToolCall {
					commands[b.CallID] = mark(string(b.JSON))
				}
			}
			if line := commands[m.CallID]; m.Role == message.RoleTool && line != "" && !m.Result.IsError() && !lines[line] {
				out = append(out, line)
			}
		}
		return out
	})
}

// mark returns the line that a command writes.
func mark(args string) string {
	_, rest, _ := strings.Cut(args, "echo ")
	line, _, _ := strings.Cut(rest, " >> ")
	return line
}

// badJobs: every turn that has ended well has one job, which has succeeded once and will not run again.
func badJobs(e evidence) (out []string) {
	byTurn := map[string]int{}
	for _, j := range e.jobs {
		if byTurn[j.Turn]++; byTurn[j.Turn] == 2 {
			out = append(out, "turn "+j.Turn+" has two jobs")
		}
		if j.Status != store.JobSucceeded {
			out = append(out, fmt.Sprintf("the job of turn %s is %s after %d attempts: %s", j.Turn, j.Status, j.Attempts, j.Failure))
		}
	}
	return append(out, each(e, func(t told) (out []string) {
		for _, ev := range t.events {
			if ev.Kind == event.TurnEnd && ev.Depth == 0 && ev.Detail().Stop == hook.StopCompleted && byTurn[ev.Turn] == 0 {
				out = append(out, "turn "+ev.Turn+" has ended and has no job")
			}
		}
		return out
	})...)
}

// stuck: every turn that a daemon has said to run has ended, and another one can.
func stuck(e evidence) []string {
	return each(e, func(t told) (out []string) {
		if t.stuck != "" {
			out = append(out, t.stuck)
		}
		ended := map[string]bool{}
		for _, ev := range t.events {
			if ev.Kind == event.TurnEnd {
				ended[ev.Turn] = true
			}
		}
		for turn := range t.began {
			if !ended[turn] {
				out = append(out, "turn "+turn+" has no end")
			}
		}
		return out
	})
}

// refused: the model's server has taken every request, and takes what is stored.
func refused(e evidence) []string {
	out := each(e, func(t told) (out []string) {
		for _, wrong := range history.Check(t.messages) {
			out = append(out, fmt.Sprint(wrong))
		}
		return out
	})
	if e.refused > 0 {
		out = append(out, fmt.Sprintf("the server has refused %d requests", e.refused))
	}
	return out
}
