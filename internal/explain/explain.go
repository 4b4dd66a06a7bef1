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
	"github.com/grapnel-go/grapnel/hook/point"
)

// Call is one tool call with the hooks that decided about it.
type Call struct {
	wire.Explained
	// Runs are those that Points shows, by point and in its order: what it was made of.
	Runs [][]hook.Run `json:"-"`
}

// Explain explains one call. The events are those of one turn with the call's id, and the
// failures of hooks in that turn. p is the plan of the composite.
func Explain(events []hook.Event, p *plan.Plan) Call {
	c := Call{Explained: wire.Explained{Points: []wire.ExplainedPoint{}}}
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
		judge(&c.Points[i], c.Runs[i])
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
		c.ID, c.Agent, c.Conversation, c.Turn, c.Step, c.Time = d.CallID, ev.Agent, ev.Conversation, ev.Turn, ev.Step, ev.Time.UTC()
	}
	switch ev.Kind {
	case event.CallStart:
		c.Tool, c.Time = d.Tool, ev.Time.UTC()
	case event.CallResult:
		c.Tool, c.Outcome, c.Failure, c.By, c.DurationMS = d.Tool, d.Outcome, d.Result.Failure, d.By, milliseconds(d.Duration)
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
	again := func(o hook.Run) bool { return o.Subsystem == r.Subsystem && r.Subsystem != "" }
	if n < 0 || c.Points[n].Point != r.Point.String() || slices.ContainsFunc(c.Runs[n], again) {
		c.Points, c.Runs = append(c.Points, wire.ExplainedPoint{Point: r.Point.String()}), append(c.Runs, nil)
		n++
	}
	c.Runs[n] = append(c.Runs[n], r)
	c.Points[n].Runs = append(c.Points[n].Runs, wire.ExplainedRun{
		Field: r.Subsystem, Option: Option(p, r.Subsystem, r.Point), Status: r.Status, Answer: r.Answer, Reason: r.Reason,
		By: r.By, Changed: r.Changed, DurationMS: milliseconds(r.Duration), Visibility: r.Visibility,
	})
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// judge finds the answer that counts, and the reason.
func judge(p *wire.ExplainedPoint, runs []hook.Run) {
	info := point.InfoOf(runs[0].Point)
	if info.Kind != "decide" {
		return
	}
	win := winner(runs, info)
	if win < 0 {
		p.Why = "nobody had an opinion"
		return
	}
	w := runs[win]
	p.Runs[win].Counts = true
	why := []string{"the " + string(w.Answer) + " of " + named(w.Subsystem) + " counts"}
	switch w.Status {
	case event.RunFailed, event.RunPanicked, event.RunTimedOut, event.RunInterrupted:
		why = append(why, "which its fail policy says in its place")
	}
	why = append(why, against(runs, win, info)...)
	if skipped := skipped(runs); len(skipped) > 0 {
		why = append(why, "it ended the point, so "+strings.Join(skipped, ", ")+" had no say")
	}
	p.Why = strings.Join(why, "; ")
}

// against compares the answer that counts with the others.
func against(runs []hook.Run, win int, info point.Info) (why []string) {
	w := runs[win]
	var weaker, equal []string
	for i, r := range runs {
		switch {
		case i == win || r.Answer == hook.AnswerNone:
		case w.Answer.Outweighs(r.Answer):
			weaker = append(weaker, "the "+string(r.Answer)+" of "+named(r.Subsystem))
		default:
			equal = append(equal, named(r.Subsystem))
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

// winner returns the run whose answer counts; -1 if none has one.
func winner(runs []hook.Run, info point.Info) int {
	win := -1
	for i, r := range runs {
		switch {
		case r.Answer == hook.AnswerNone:
		case win < 0, r.Answer.Outweighs(runs[win].Answer) && info.Combine != "first":
			win = i
		case info.Combine == "judge" && !runs[win].Answer.Outweighs(r.Answer):
			win = i
		}
	}
	return win
}

func skipped(runs []hook.Run) (names []string) {
	for _, r := range runs {
		if r.Status == event.RunSkipped {
			names = append(names, named(r.Subsystem))
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
