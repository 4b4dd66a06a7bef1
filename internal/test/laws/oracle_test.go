package laws_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
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
	ctx, turn := context.Background(), hooktest.Turn(nil, start)
	step := hooktest.Step(turn)
	call := hooktest.Call(step, "tool", `{}`)
	conv := turn.Conversation()
	session, _ := hook.NewSession(hook.SessionData{Conversation: conv, ID: "s"})
	decided := func(d interface{ Verdict() hook.Verdict }, err error) asked {
		return asked{Verdict: d.Verdict(), err: err}
	}
	rewritten := func(v string, err error) asked { return asked{value: v, err: err} }
	switch p {
	case point.OnSessionStart:
		return decided(h.(hook.OnSessionStart).OnSessionStart(ctx, session))
	case point.BeforeTurn:
		return decided(h.(hook.BeforeTurn).BeforeTurn(ctx, turn, turn.Input()))
	case point.BeforeStep:
		return decided(h.(hook.BeforeStep).BeforeStep(ctx, step))
	case point.BeforeModel:
		return decided(h.(hook.BeforeModel).BeforeModel(ctx, step, message.ModelRequest{}))
	case point.BeforeTool:
		return decided(h.(hook.BeforeTool).BeforeTool(ctx, call))
	case point.BeforeCompaction:
		return decided(h.(hook.BeforeCompaction).BeforeCompaction(ctx, conv, hook.Compaction{}))
	case point.AfterModel:
		return decided(h.(hook.AfterModel).AfterModel(ctx, step, message.ModelReply{}))
	case point.AfterTool:
		return decided(h.(hook.AfterTool).AfterTool(ctx, call, hook.ToolOutcome{}))
	case point.AfterStep:
		return decided(h.(hook.AfterStep).AfterStep(ctx, step, hook.StepOutcome{}))
	case point.OnModelError:
		return decided(h.(hook.OnModelError).OnModelError(ctx, step, message.ModelFailure{}))
	case point.OnInvalidTool:
		return decided(h.(hook.OnInvalidTool).OnInvalidTool(ctx, step, hook.InvalidCall{}))
	case point.Approve:
		return decided(h.(hook.Approve).Approve(ctx, call, hook.AskTool("?")))
	case point.OnStop:
		return decided(h.(hook.OnStop).OnStop(ctx, turn, hook.Stopping{}))
	case point.OnTurnError:
		return decided(h.(hook.OnTurnError).OnTurnError(ctx, turn, hook.TurnOutcome{}))
	case point.RewriteRequest:
		v, err := h.(hook.RewriteRequest).RewriteRequest(ctx, step, message.ModelRequest{System: start})
		return rewritten(v.System, err)
	case point.RewriteReply:
		v, err := h.(hook.RewriteReply).RewriteReply(ctx, step, message.ModelReply{Model: start})
		return rewritten(v.Model, err)
	case point.RewriteArgs:
		v, err := h.(hook.RewriteArgs).RewriteArgs(ctx, call, message.JSON(start))
		return rewritten(string(v), err)
	case point.RewriteResult:
		v, err := h.(hook.RewriteResult).RewriteResult(ctx, call, message.TextResult(start))
		return rewritten(v.Text(), err)
	case point.TurnPolicy:
		return contributed(h.(hook.TurnPolicy).TurnPolicy(ctx, turn))
	case point.TurnContext:
		return contributed(h.(hook.TurnContext).TurnContext(ctx, turn))
	case point.RefineContext:
		return contributed(h.(hook.RefineContext).RefineContext(ctx, turn))
	case point.TurnTools:
		return contributed(h.(hook.TurnTools).TurnTools(ctx, turn))
	case point.PromptSections:
		return contributed(h.(hook.PromptSections).PromptSections(ctx, turn))
	case point.AfterTurn:
		h.(hook.AfterTurn).AfterTurn(ctx, turn, hook.TurnOutcome{})
	case point.AfterCompaction:
		h.(hook.AfterCompaction).AfterCompaction(ctx, conv, hook.Compacted{})
	case point.OnSessionEnd:
		h.(hook.OnSessionEnd).OnSessionEnd(ctx, session)
	default:
		panic(fmt.Sprintf("the laws do not know how to ask %s", p))
	}
	return asked{}
}

// contributed writes what was added with the paths of who added it taken out.
func contributed[T any](all []T, err error) asked {
	out := asked{err: err}
	for _, item := range all {
		out.items = append(out.items, fmt.Sprintf("%+v", item))
	}
	return out
}

// points are those that the laws are about: all beside Hook's own methods, but for
// wraps, which have tests of their own, and the brackets of the process.
func points() []hook.Point {
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

// closedAs is what law 4 puts in the place of a failed decider's answer.
func closedAs(p hook.Point) hook.Answer {
	switch p {
	case point.OnSessionStart, point.BeforeTurn, point.BeforeModel, point.AfterModel:
		return hook.AnswerReject
	case point.BeforeStep, point.AfterStep:
		return hook.AnswerStop
	case point.BeforeTool:
		return hook.AnswerDeny
	case point.AfterTool:
		return hook.AnswerWithhold
	case point.Approve:
		return hook.AnswerRefuse
	}
	return hook.AnswerNone
}

// member is one hook of a random set as the oracle sees it.
type member struct {
	path string
	// fails: it has no answer, and closed is what its policy says of that.
	fails, closed bool
	// alone is its answer when nobody else is asked.
	alone asked
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
		case m.fails:
		case info.Kind == "rewrite":
			out.value += strings.TrimPrefix(m.alone.value, start)
		case info.Kind == "contribute":
			for _, item := range m.alone.items {
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
