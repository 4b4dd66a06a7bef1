// Package explain explains one tool call: which fields decided about it, at which point,
// under which option, which answers competed, and why one of them counts. It works on
// stored events, and shows neither arguments nor results.
package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Call is one tool call with the hooks that decided about it.
type Call struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Owner is the path of the field that has the tool; "" if unknown.
	Owner        string    `json:"owner,omitzero"`
	Agent        string    `json:"agent"`
	Conversation string    `json:"conversation"`
	Turn         string    `json:"turn"`
	Step         int       `json:"step"`
	Time         time.Time `json:"time"`
	// Outcome is "" while the call has not ended.
	Outcome    message.Outcome     `json:"outcome,omitzero"`
	Failure    message.FailureKind `json:"failure,omitzero"`
	DurationMS float64             `json:"duration_ms,omitzero"`
	// Recorded: hook runs were recorded, so Points is complete. Otherwise it has only
	// approvals and failures.
	Recorded bool    `json:"recorded"`
	Points   []Point `json:"points"`
	// Others is how many other calls had the same id; this is the last one.
	Others int `json:"others,omitzero"`
}

// Point is one pass through a point, with all hooks that ran.
type Point struct {
	Point string `json:"point"`
	Runs  []Run  `json:"runs"`
	// Why says which answer counts, and why; "" at points that do not decide.
	Why string `json:"why,omitzero"`
}

// Run is the run of one hook.
type Run struct {
	// Field is the path of the field; "" if unknown.
	Field string `json:"field,omitzero"`
	// Option has the options of the field at this point: timeout, visibility, patterns,
	// fail policy.
	Option     string         `json:"option,omitzero"`
	Status     hook.RunStatus `json:"status"`
	Answer     hook.Answer    `json:"answer,omitzero"`
	Reason     string         `json:"reason,omitzero"`
	By         string         `json:"by,omitzero"`
	Changed    bool           `json:"changed,omitzero"`
	DurationMS float64        `json:"duration_ms,omitzero"`
	// Visibility says for whom the run is visible; "" is internal.
	Visibility hook.Visibility `json:"visibility,omitzero"`
	// Counts: this is the answer that counts.
	Counts bool `json:"counts,omitzero"`

	run hook.Run
}

// Recorded returns the hook run that this was read from.
func (r Run) Recorded() hook.Run { return r.run }

// Explain explains one call. The events are those of one turn with the call's id, and the
// failures of hooks in that turn. p is the plan of the composite.
func Explain(events []hook.Event, p *plan.Plan) Call {
	var c Call
	for _, ev := range events {
		c.add(ev)
	}
	var runs []hook.Run
	for _, ev := range events {
		if r, ok := ev.Run(); ok {
			c.Recorded = true
			runs = append(runs, r)
		}
	}
	if !c.Recorded {
		runs = c.surmised(events)
	}
	for _, r := range runs {
		if r.Point == point.Dispatch {
			c.Owner = r.Subsystem
		}
		c.place(r, p)
	}
	c.Owner = cmp.Or(c.Owner, p.Owner(c.Tool))
	for i := range c.Points {
		c.Points[i].judge()
	}
	return c
}

// add takes the call's own data from the event.
func (c *Call) add(ev hook.Event) {
	d := ev.Detail()
	if d.CallID == "" {
		return
	}
	if c.ID == "" {
		c.ID, c.Agent, c.Conversation, c.Turn, c.Step, c.Time = d.CallID, ev.Agent, ev.Conversation, ev.Turn, ev.Step, ev.Time
	}
	switch ev.Kind {
	case event.CallStart:
		c.Tool, c.Time = d.Tool, ev.Time
	case event.CallResult:
		c.Tool, c.Outcome, c.Failure, c.DurationMS = d.Tool, d.Outcome, d.Result.Failure, milliseconds(d.Duration)
	}
	c.Tool = cmp.Or(c.Tool, d.Tool)
}

// surmised returns the runs that events show without a record.
func (c *Call) surmised(events []hook.Event) []hook.Run {
	var out []hook.Run
	for _, ev := range events {
		d := ev.Detail()
		switch ev.Kind {
		case event.ApprovalAsked:
			out = append(out, hook.Run{Point: point.BeforeTool, Status: event.RunSucceeded, Answer: hook.AnswerAsk, Reason: ev.Text})
		case event.ApprovalGiven:
			r := hook.Run{Subsystem: d.By, Point: point.Approve, Status: event.RunSucceeded, Answer: d.Answer, Reason: ev.Text}
			if d.Answer.Denies() {
				r.Status = event.RunDenied
			}
			out = append(out, r)
		case event.HookFailed:
			if ev.Step == c.Step && point.InfoOf(d.Point).Place == "ToolCall" {
				out = append(out, hook.Run{Subsystem: d.Subsystem, Point: d.Point, Status: event.RunFailed, Reason: ev.Text})
			}
		}
	}
	return out
}

// place adds the run to the last pass, or to a new one if it is at another point or the hook
// is already in the last pass.
func (c *Call) place(r hook.Run, p *plan.Plan) {
	n := len(c.Points) - 1
	again := func(o Run) bool { return o.Field == r.Subsystem && r.Subsystem != "" }
	if n < 0 || c.Points[n].Point != r.Point.String() || slices.ContainsFunc(c.Points[n].Runs, again) {
		c.Points = append(c.Points, Point{Point: r.Point.String()})
		n++
	}
	c.Points[n].Runs = append(c.Points[n].Runs, Run{
		Field: r.Subsystem, Option: Option(p, r.Subsystem, r.Point), Status: r.Status, Answer: r.Answer, Reason: r.Reason,
		By: r.By, Changed: r.Changed, DurationMS: milliseconds(r.Duration), Visibility: r.Visibility, run: r,
	})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// judge finds the answer that counts, and the reason.
func (p *Point) judge() {
	info := point.InfoOf(p.Runs[0].run.Point)
	if info.Kind != "decide" {
		return
	}
	win := p.winner(info)
	if win < 0 {
		p.Why = "nobody had an opinion"
		return
	}
	w := &p.Runs[win]
	w.Counts = true
	why := []string{"the " + string(w.Answer) + " of " + named(w.Field) + " counts"}
	switch w.Status {
	case event.RunFailed, event.RunPanicked, event.RunTimedOut, event.RunInterrupted:
		why = append(why, "which its fail policy says in its place")
	}
	why = append(why, p.against(win, info)...)
	if skipped := p.skipped(); len(skipped) > 0 {
		why = append(why, "it ended the point, so "+strings.Join(skipped, ", ")+" had no say")
	}
	p.Why = strings.Join(why, "; ")
}

// against compares the answer that counts with the others.
func (p *Point) against(win int, info point.Info) (why []string) {
	w := p.Runs[win]
	var weaker, equal []string
	for i, r := range p.Runs {
		switch {
		case i == win || r.Answer == hook.AnswerNone:
		case w.Answer.Outweighs(r.Answer):
			weaker = append(weaker, "the "+string(r.Answer)+" of "+named(r.Field))
		default:
			equal = append(equal, named(r.Field))
		}
	}
	if len(weaker) > 0 {
		why = append(why, "it outweighs "+strings.Join(weaker, " and "))
	}
	if len(equal) > 0 {
		which := "the first"
		if info.Combine == "judge" {
			which = "the outermost"
		}
		why = append(why, which+" of several as severe is reported, beside "+strings.Join(equal, ", "))
	}
	return why
}

func (p *Point) winner(info point.Info) int {
	win := -1
	for i, r := range p.Runs {
		switch {
		case r.Answer == hook.AnswerNone:
		case win < 0, r.Answer.Outweighs(p.Runs[win].Answer) && info.Combine != "first":
			win = i
		case info.Combine == "judge" && !p.Runs[win].Answer.Outweighs(r.Answer):
			win = i
		}
	}
	return win
}

func (p *Point) skipped() (names []string) {
	for _, r := range p.Runs {
		if r.Status == event.RunSkipped {
			names = append(names, named(r.Field))
		}
	}
	return names
}

func named(field string) string { return cmp.Or(field, "a hook that was not recorded") }

// Option returns the options of a field at a point: those of its tag and its subsystem, and
// the fail policy, by default the point's own. Options of a composite apply to its members
// too. For hooks that are known only at run time the plan is not complete.
func Option(p *plan.Plan, path string, point hook.Point) string {
	var around []string
	field, rest, nested := strings.Cut(path, ".")
	field, _, _ = strings.Cut(field, "[")
	i := -1
	if p != nil {
		i = slices.IndexFunc(p.Members, func(m plan.Member) bool { return m.Field == field })
	}
	if i < 0 {
		return policy("", point)
	}
	m := p.Members[i]
	use := plan.PointUse{}
	if u := slices.IndexFunc(m.Points, func(u plan.PointUse) bool { return u.Name == point.String() }); u >= 0 {
		use = m.Points[u]
	}
	if use.Timeout > 0 {
		around = append(around, "timeout="+time.Duration(use.Timeout).String())
	}
	if use.Visibility != "" {
		around = append(around, "visibility="+use.Visibility)
	}
	for _, match := range m.Match {
		around = append(around, "match="+match)
	}
	if nested && m.Composite != nil {
		inner := Option(m.Composite, rest, point)
		if use.Policy != "" {
			around = append(around, use.Policy)
		}
		if len(around) > 0 {
			return inner + " (" + field + ": " + strings.Join(around, ", ") + ")"
		}
		return inner
	}
	if m.Optional {
		around = append(around, "optional")
	}
	if text := policy(use.Policy, point); text != "" {
		around = append(around, text)
	}
	return strings.Join(around, ", ")
}

func policy(own string, at hook.Point) string {
	info := point.InfoOf(at)
	switch {
	case own != "":
		return own
	case info.Kind == "facade":
		return ""
	case info.Closed:
		return "failclosed"
	}
	return "failopen"
}

// Wire returns the call as the API has it.
func (c Call) Wire() wire.Explained {
	out := wire.Explained{
		ID: c.ID, Tool: c.Tool, Owner: c.Owner, Agent: c.Agent, Conversation: c.Conversation, Turn: c.Turn, Step: c.Step, Time: c.Time.UTC(),
		Outcome: c.Outcome, Failure: c.Failure, DurationMS: c.DurationMS, Recorded: c.Recorded, Points: make([]wire.ExplainedPoint, len(c.Points)), Others: c.Others,
	}
	for i, p := range c.Points {
		runs := make([]wire.ExplainedRun, len(p.Runs))
		for j, r := range p.Runs {
			runs[j] = wire.ExplainedRun{
				Field: r.Field, Option: r.Option, Status: r.Status, Answer: r.Answer, Reason: r.Reason, By: r.By, Changed: r.Changed,
				DurationMS: r.DurationMS, Visibility: r.Visibility, Counts: r.Counts,
			}
		}
		out.Points[i] = wire.ExplainedPoint{Point: p.Point, Runs: runs, Why: p.Why}
	}
	return out
}
