package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// asker asks about every call and counts how often it decided.
func asker(decided *[]message.JSON) hook.Hook {
	return point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		*decided = append(*decided, c.Args())
		return hook.AskTool("sure?"), nil
	})
}

// person answers one ask after the other and remembers what it was shown.
type person struct {
	hook.Nop
	answers []hook.ApprovalDecision
	shown   []message.JSON
}

func (p *person) Approve(_ context.Context, c *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	p.shown = append(p.shown, c.Args())
	if len(p.answers) == 0 {
		return hook.ApprovalDecision{}, nil
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

func TestLawApprovedIsWhatRuns(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	p := &person{answers: []hook.ApprovalDecision{hook.ApproveCall()}}
	w := start(t, plays(calls(want{"1", "x", `{"s": "a"}`}), says("done")), asker(&decided), p, box(named("x")))
	w.send("go")
	assert.Equal(t, "tool 1 x: x:a", w.history()[2])
	assert.Equal(t, []message.JSON{`{"s":"a"}`}, p.shown)
	assert.Equal(t, []message.JSON{`{"s":"a"}`}, decided, "an asked call is asked once")
	asked, given := w.eventsOf(event.ApprovalAsked)[0], w.eventsOf(event.ApprovalGiven)[0]
	assert.Equal(t, "sure?", asked.Text)
	assert.Equal(t, message.JSON(`{"s":"a"}`), asked.Detail().Args)
	assert.Equal(t, hook.AnswerApprove, given.Detail().Answer)
	assert.Equal(t, "H1", given.Detail().By)
}

func TestLawAskWithoutAnybodyIsRefused(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	for name, approver := range map[string]hook.Hook{
		"no Approve at all": hook.Nop{},
		"nobody answers":    &person{},
		"it refuses":        &person{answers: []hook.ApprovalDecision{hook.RefuseCall("")}},
		"it fails": point.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
			return hook.ApproveCall(), errors.New("terminal gone")
		}),
		"it panics": point.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
			panic("terminal gone")
		}),
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), asker(&decided), approver, box(does("x", never(t))))
			w.send("go")
			d := w.eventsOf(event.CallResult)[0].Detail()
			assert.Equal(t, message.OutcomeDenied, d.Outcome)
			assert.Equal(t, message.FailDenied, d.Result.Failure)
			assert.NotEmpty(t, d.Result.Text())
			assert.NotContains(t, d.Result.Text(), "terminal gone", "the cause is not for the model")
			assert.Equal(t, hook.AnswerRefuse, w.eventsOf(event.ApprovalGiven)[0].Detail().Answer)
		})
	}
}

func TestLawModifiedArgumentsAreDecidedAgain(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	p := &person{answers: []hook.ApprovalDecision{hook.ModifyCall(`{ "s": "mine" }`)}}
	w := start(t, plays(calls(want{"1", "x", `{"s":"theirs"}`}), says("done")), asker(&decided), p, box(named("x")))
	w.send("go")
	assert.Equal(t, []message.JSON{`{"s":"theirs"}`, `{"s":"mine"}`}, decided)
	assert.Len(t, p.shown, 1, "an ask for the exact bytes just approved is satisfied")
	assert.Equal(t, []string{`assistant [1 x {"s":"mine"}]`, "tool 1 x: x:mine"}, w.history()[1:3])
	assert.Equal(t, message.JSON(`{"s":"mine"}`), w.eventsOf(event.ApprovalGiven)[0].Detail().Args)
}

func TestLawModifiedArgumentsMayStillBeDenied(t *testing.T) {
	t.Parallel()
	guard := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Args() == `{"s":"worse"}` {
			return hook.DenyTool("not that"), nil
		}
		return hook.AskTool("sure?"), nil
	})
	p := &person{answers: []hook.ApprovalDecision{hook.ModifyCall(`{"s":"worse"}`)}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), guard, p, box(does("x", never(t))))
	w.send("go")
	assert.Equal(t, "tool 1 x denied: not that", w.history()[2])
}

func TestLawModifiedArgumentsAreRewrittenAndAskedAboutIfTheyChange(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	rewriter := point.RewriteArgsFunc(func(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
		if args == `{"s":"mine"}` {
			return `{"s":"mine, safer"}`, nil
		}
		return args, nil
	})
	p := &person{answers: []hook.ApprovalDecision{hook.ModifyCall(`{"s":"mine"}`), hook.ApproveCall()}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), rewriter, asker(&decided), p, box(named("x")))
	w.send("go")
	assert.Equal(t, []message.JSON{"{}", `{"s":"mine, safer"}`}, p.shown, "what was not shown has to be")
	assert.Equal(t, "tool 1 x: x:mine, safer", w.history()[2])
}

func TestLawModifiedArgumentsThatDoNotFitDoNotRun(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	p := &person{answers: []hook.ApprovalDecision{hook.ModifyCall(`{"what":"ever"}`)}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), asker(&decided), p, box(does("x", never(t))))
	w.send("go")
	assert.Contains(t, w.history()[2], "tool 1 x invalid_arguments:")
}

func TestLawAfterThreeRoundsACallIsDenied(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	n := 0
	restless := point.RewriteArgsFunc(func(context.Context, *hook.ToolCall, message.JSON) (message.JSON, error) {
		n++
		return message.JSON(`{"s":"` + string(rune('a'+n)) + `"}`), nil
	})
	modify := hook.ModifyCall(`{"s":"mine"}`)
	p := &person{answers: []hook.ApprovalDecision{modify, modify, modify, modify}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")), restless, asker(&decided), p, box(does("x", never(t))))
	w.send("go")
	assert.Len(t, p.shown, 3)
	assert.Contains(t, w.history()[2], "tool 1 x denied:")
}

func TestLawGrantsAreIntersectedAndReachTheTool(t *testing.T) {
	t.Parallel()
	narrow := func(g hook.Grant) hook.Hook {
		return point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return hook.NarrowTool(g), nil })
	}
	var got hook.Grant
	shows := tool{message.Tool{Name: "x"}, func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		got = env.Grant
		return message.TextResult("ok")
	}}
	w := start(t, plays(calls(want{"1", "x", "{}"}), says("done")),
		narrow(hook.Grant{Root: "/srv", ReadOnly: true}), narrow(hook.Grant{Root: "/srv/a", MaxOutput: 1}), box(shows))
	w.send("go")
	assert.Equal(t, hook.Grant{Root: "/srv/a", ReadOnly: true, MaxOutput: 1}, got)

	w = start(t, plays(calls(want{"1", "x", "{}"}), says("done")),
		narrow(hook.Grant{Root: "/srv"}), narrow(hook.Grant{Root: "/home"}), box(does("x", never(t))))
	w.send("go")
	assert.Contains(t, w.history()[2], "tool 1 x denied:", "disjoint grants leave nothing")
}
