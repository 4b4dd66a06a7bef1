package demo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
)

// report collects the events of the turn for the summary. One goroutine at a time may use
// it.
type report struct {
	paths   app.Paths
	history func() ([]message.Message, error)

	turns int
	calls map[string]message.JSON // arguments by call id, of the current step
	order []string                // ids in call order
	ended []string                // ids in the order in which they ended
	began time.Time
	err   error

	facts facts
}

// recalls is the turn that shows what comes from memory by itself.
const recalls = 3

type facts struct {
	Skill      string `json:"skill"`
	Recalled   string `json:"recalled"`
	Remembered string `json:"remembered"`
	ByItself   string `json:"recalled_by_itself"`
	ServerUses int    `json:"mcp_calls"`
	AtOnce     int    `json:"at_once"`
	AtOnceMS   int64  `json:"at_once_ms"`
	Finished   []int  `json:"finished"`
	Kept       []int  `json:"kept"`
	Failed     string `json:"failed"`
	OutOfScope string `json:"out_of_scope"`
	Agent      string `json:"agent"`
	Answer     string `json:"answer"`
	Injection  string `json:"injection"`
	Retried    int    `json:"retried"`
	Compacted  int    `json:"compacted"`
	Yes        int    `json:"approved"`
	No         int    `json:"refused"`
	Dir        string `json:"dir"`
	Database   string `json:"database"`
}

func newReport(paths app.Paths, history func() ([]message.Message, error)) *report {
	return &report{
		paths: paths, history: history, calls: map[string]message.JSON{},
		facts: facts{Dir: paths.Root, Database: paths.Memories},
	}
}

// onEvent records one event and returns a text to show, mostly "".
func (r *report) onEvent(ev hook.Event) string {
	d := ev.Detail()
	switch {
	case ev.Kind == event.SubagentEnd && d.Stop == hook.StopCompleted:
		r.facts.Agent = ev.Agent
	case ev.Kind == event.QuestionGiven:
		r.facts.Answer = strings.Join(term.Answered(d.Inquiry, d.Response), "; ")
	}
	if ev.Depth > 0 { // of another agent's turn
		return ""
	}
	switch ev.Kind {
	case event.CallsBegin:
		clear(r.calls)
		r.order, r.ended, r.began = nil, nil, ev.Time
	case event.CallStart:
		r.calls[d.CallID] = d.Args
		r.order = append(r.order, d.CallID)
	case event.CallResult:
		r.ended = append(r.ended, d.CallID)
		r.result(d)
	case event.TurnStart:
		if r.turns++; r.turns <= recalls {
			r.facts.ByItself = ""
		}
	case event.Diagnostic:
		if d.Code == "secure.injection" {
			r.facts.Injection = strings.TrimPrefix(ev.Text, "secure: ")
		}
		if d.Code == "memory.recall" && r.turns <= recalls {
			r.facts.ByItself = strings.TrimPrefix(ev.Text, "memory: recalled ")
		}
	case event.TurnRetried:
		r.facts.Retried++
	case event.CompactionAuto:
		r.facts.Compacted++
	case event.CallsComplete:
		return r.complete(ev.Time)
	}
	return ""
}

func (r *report) result(d hook.EventDetail) {
	args := r.calls[d.CallID]
	switch {
	case d.Outcome == message.OutcomeUnknown:
		r.facts.OutOfScope = d.Tool
	case d.Outcome == message.OutcomeFailed:
		r.facts.Failed = d.Tool + " " + term.Summary(args, 60).String()
	case strings.HasPrefix(d.Tool, "mcp__"):
		r.facts.ServerUses++
	case d.Tool == "skill":
		r.facts.Skill = named(args)
	case d.Tool == "remember":
		r.facts.Remembered = named(args)
	case d.Tool == "recall" && strings.Contains(d.Result.Text(), memoryName):
		r.facts.Recalled = memoryName
	}
}

func named(args message.JSON) string {
	var in struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return string(args)
	}
	return in.Name
}

// complete compares the two orders of a step with several calls: that of the events, and
// that of the conversation in the database.
func (r *report) complete(now time.Time) string {
	if len(r.order) < 3 || r.facts.AtOnce > 0 {
		return ""
	}
	messages, err := r.history()
	if err != nil {
		r.err = err
		return ""
	}
	r.facts.AtOnce, r.facts.AtOnceMS = len(r.order), now.Sub(r.began).Milliseconds()
	r.facts.Finished = r.places(r.ended)
	var kept []string
	for _, m := range messages {
		if m.Role == message.RoleTool && slices.Contains(r.order, m.CallID) {
			kept = append(kept, m.CallID)
		}
	}
	r.facts.Kept = r.places(kept)
	return fmt.Sprintf("  They ended in the order %s; the conversation keeps them as called, %s.", join(r.facts.Finished), join(r.facts.Kept))
}

// places turns ids into places in the order of the calls, from 1.
func (r *report) places(ids []string) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = slices.Index(r.order, id) + 1
	}
	return out
}

func join(places []int) string {
	words := make([]string, len(places))
	for i, p := range places {
		words[i] = strconv.Itoa(p)
	}
	return strings.Join(words, " ")
}

func (r *report) asked(yes, no int) { r.facts.Yes, r.facts.No = yes, no }

func (r *report) writeText(out io.Writer) error {
	f := r.facts
	memory := fmt.Sprintf("remembered %s; there was nothing to recall yet: run the demo again", strconv.Quote(f.Remembered))
	if f.Recalled != "" {
		memory = fmt.Sprintf("recalled %s, which an earlier run remembered, and remembered it anew", strconv.Quote(f.Recalled))
	}
	rows := [][2]string{
		{"skill", f.Skill + ", from a folder in .agents/skills"},
		{"memory", memory},
		{"recalled", r.facts.ByItself + " came into the new conversation without a tool call"},
		{"MCP", fmt.Sprintf("%d calls to the server chartroom, a child process", f.ServerUses)},
		{"at once", fmt.Sprintf("%d calls in %s", f.AtOnce, term.Took(time.Duration(f.AtOnceMS)*time.Millisecond))},
		{"failed", f.Failed + ": the model was told, and the turn went on"},
		{"out of scope", f.OutOfScope + ", which the agent does not have: refused before any subsystem was asked"},
		{"delegated", "to " + f.Agent + ", which answered in a turn of its own, with the same hooks and fewer tools"},
		{"asked", f.Answer},
		{"retried", fmt.Sprintf("%s, since the model was busy: the same, then another one", times(f.Retried))},
		{"compacted", fmt.Sprintf("%s: the second message left no room in the model's window; the history keeps all", times(f.Compacted))},
		{"injection", f.Injection + ": marked as data, and the call that it wanted was blocked"},
		{"approval", fmt.Sprintf("asked %d times: %d yes, %d no", f.Yes+f.No, f.Yes, f.No)},
		{"files", f.Dir},
		{"database", f.Database + " (memories)"},
	}
	wide := 0
	for _, row := range rows {
		wide = max(wide, len(row[0]))
	}
	text := []screen.Text{screen.Lit("\n")}
	for _, row := range rows {
		text = append(text, screen.Format("  %s%s  %s\n", row[0], screen.Repeat(" ", wide-len(row[0])), screen.Fold(row[1])))
	}
	return errors.Join(r.err, screen.New(out).Print(screen.Join(text...)))
}

// times is "once" or "3 times".
func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// writeJSON writes the summary and, as the last line, the outcome.
func (r *report) writeJSON(out io.Writer, outcome hook.TurnOutcome) error {
	enc := json.NewEncoder(screen.JSONWriter(out))
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Kind string `json:"kind"`
		facts
	}{"summary", r.facts})
	p := term.NewJSONPrinter(out)
	p.Outcome(outcome)
	return errors.Join(r.err, err, p.Err())
}
