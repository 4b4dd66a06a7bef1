package laws_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/points"
)

// asked is a hook's or a composite's answer at a point, whatever its kind.
type asked struct {
	hook.Verdict
	// value is what a rewriter returned, items what a contributor added, by owner.
	value string
	items []string
	err   error
}

// ask calls the point of h. start is what a rewriter is given.
func ask(h hook.Hook, p hook.Point, start string) asked {
	v, err := points.Ask(context.Background(), h, p, points.Places(nil, "tool", start)...)
	switch point.InfoOf(p).Kind {
	case "decide":
		return asked{Verdict: v.(points.Decision).Verdict(), err: err}
	case "rewrite":
		return asked{value: points.Text(v), err: err}
	case "contribute":
		return contributed(v, err)
	}
	return asked{err: err}
}

// contributed writes what was added with the paths of who added it taken out.
func contributed(all any, err error) asked {
	out := asked{err: err}
	for _, item := range reflect.ValueOf(all).Seq2() {
		out.items = append(out.items, fmt.Sprintf("%+v", item))
	}
	return out
}

// subjects are the points that the laws are about: all beside Hook's own methods, but for
// wraps, which have tests of their own, and the brackets of the process.
func subjects() []hook.Point {
	var out []hook.Point
	for p, info := range point.All() {
		if info.Kind != "facade" && info.Kind != "wrap" && !info.Bracket {
			out = append(out, p)
		}
	}
	return out
}

// severity is that of law 3, written once more.
func severity(a hook.Answer) int {
	return slices.Index(strings.Fields("none 1 respond/answer/retry/supply/continue/repair/rename/fallback/recover ask/refuse/withhold deny/reject/skip stop"),
		map[hook.Answer]string{
			"": "none", "approve": "1", "modify": "1", "narrow": "1", "context": "1", "hint": "1",
			"respond": row2, "answer": row2, "retry": row2, "supply": row2, "continue": row2, "repair": row2, "rename": row2, "fallback": row2, "recover": row2,
			"ask": row3, "refuse": row3, "withhold": row3, "deny": row4, "reject": row4, "skip": row4, "stop": "stop",
		}[a])
}

const (
	row2 = "respond/answer/retry/supply/continue/repair/rename/fallback/recover"
	row3 = "ask/refuse/withhold"
	row4 = "deny/reject/skip"
)

// closedAs is what law 4 puts in the place of a failed decider's answer: it refuses as its point can, or else stops. What cannot
// do either has no opinion.
func closedAs(p hook.Point) hook.Answer {
	out := hook.AnswerNone
	for _, a := range points.Answers(p, "", 0) {
		switch kind := a.Verdict().Kind; kind {
		case hook.AnswerReject, hook.AnswerDeny, hook.AnswerRefuse, hook.AnswerWithhold:
			return kind
		case hook.AnswerStop:
			out = kind
		}
	}
	return out
}

// member is one hook of a random set as the oracle sees it.
type member struct {
	path string
	// fails: it has no answer, and closed is what its policy says of that.
	fails, closed bool
	// alone is its answer when nobody else is asked.
	alone asked
	// spare are the contributions of its fallback.
	spare []string
}

// answer is what the member contributes to the decision.
func (m member) answer(p hook.Point) (hook.Answer, hook.StopReason) {
	switch {
	case !m.fails:
		return m.alone.Kind, m.alone.Stop
	case !m.closed:
		return hook.AnswerNone, ""
	case closedAs(p) == hook.AnswerStop:
		return hook.AnswerStop, hook.StopError
	}
	return closedAs(p), ""
}

// expected is what the laws say about a composite of the members, in plan order:
// who is asked, and what comes out.
func expected(p hook.Point, members []member, start string) (called []string, out asked) {
	info := point.InfoOf(p)
	if info.Reverse {
		members = slices.Clone(members)
		slices.Reverse(members)
	}
	if info.Kind == "rewrite" {
		out.value = start
	}
	for _, m := range members {
		called = append(called, m.path)
		switch {
		case info.Kind == "decide":
			if decide(p, m, &out) {
				return called, out
			}
		case m.fails && m.closed && info.Kind != "observe":
			out.err, out.items = &hook.Failure{Subsystem: m.path, Point: p}, nil
			return called, out
		case m.fails && info.Kind != "contribute":
		case info.Kind == "rewrite":
			out.value += strings.TrimPrefix(m.alone.value, start)
		case info.Kind == "contribute":
			items := m.alone.items
			if m.fails {
				items = m.spare
			}
			for _, item := range items {
				out.items = append(out.items, strings.ReplaceAll(item, "By: ", "By:"+m.path+" "))
			}
		}
	}
	return called, out
}

// decide merges a member's answer and tells whether nobody else is asked.
func decide(p hook.Point, m member, out *asked) bool {
	kind, stop := m.answer(p)
	rule := point.InfoOf(p).Combine
	wins := severity(kind) > severity(out.Kind) || rule == "judge" && kind != "" && severity(kind) == severity(out.Kind)
	if p == point.AfterStep && out.Kind != "" && kind != "" {
		wins = stop.Authority() <= out.Stop.Authority()
	}
	if wins {
		out.Verdict = hook.Verdict{Kind: kind, By: m.path, Stop: stop}
	}
	switch rule {
	case "first":
		return out.Kind != ""
	case "gate":
		return severity(out.Kind) >= severity(hook.AnswerDeny)
	}
	return false
}
