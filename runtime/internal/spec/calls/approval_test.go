package calls_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
)

// asker asks about every call and counts how often it decided.
func asker(decided *[]message.JSON) hook.Hook {
	return point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		*decided = append(*decided, c.Args())
		return hook.AskTool("sure?"), nil
	})
}

func TestLawApprovedIsWhatRuns(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	p := &rig.Person{Answers: []hook.ApprovalDecision{hook.ApproveCall()}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s": "a"}`)), rig.Says("done")), asker(&decided), p, rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, "tool 1 x: x:a", w.History()[2])
	assert.Equal(t, []message.JSON{`{"s":"a"}`}, p.Shown)
	assert.Equal(t, []message.JSON{`{"s":"a"}`}, decided, "an asked call is asked once")
	asked, given := w.EventsOf(event.ApprovalAsked)[0], w.EventsOf(event.ApprovalGiven)[0]
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
		"nobody answers":    &rig.Person{},
		"it refuses":        &rig.Person{Answers: []hook.ApprovalDecision{hook.RefuseCall("")}},
		"it fails": point.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
			return hook.ApproveCall(), errors.New("terminal gone")
		}),
		"it panics": point.ApproveFunc(func(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
			panic("terminal gone")
		}),
	} {
		t.Run(name, func(t *testing.T) {
			w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), asker(&decided), approver, rig.Box(rig.Does("x", rig.Never(t))))
			w.Send("go")
			d := w.EventsOf(event.CallResult)[0].Detail()
			assert.Equal(t, message.OutcomeDenied, d.Outcome)
			assert.Equal(t, message.FailDenied, d.Result.Failure)
			assert.NotEmpty(t, d.Result.Text())
			assert.NotContains(t, d.Result.Text(), "terminal gone", "the cause is not for the model")
			assert.Equal(t, hook.AnswerRefuse, w.EventsOf(event.ApprovalGiven)[0].Detail().Answer)
		})
	}
}

func TestLawModifiedArgumentsAreDecidedAgain(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	p := &rig.Person{Answers: []hook.ApprovalDecision{hook.ModifyCall(`{ "s": "mine" }`)}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", `{"s":"theirs"}`)), rig.Says("done")), asker(&decided), p, rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, []message.JSON{`{"s":"theirs"}`, `{"s":"mine"}`}, decided)
	assert.Len(t, p.Shown, 1, "an ask for the exact bytes just approved is satisfied")
	assert.Equal(t, []string{`assistant [1 x {"s":"mine"}]`, "tool 1 x: x:mine"}, w.History()[1:3])
	assert.Equal(t, message.JSON(`{"s":"mine"}`), w.EventsOf(event.ApprovalGiven)[0].Detail().Args)
}

func TestLawModifiedArgumentsMayStillBeDenied(t *testing.T) {
	t.Parallel()
	guard := point.BeforeToolFunc(func(_ context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
		if c.Args() == `{"s":"worse"}` {
			return hook.DenyTool("not that"), nil
		}
		return hook.AskTool("sure?"), nil
	})
	p := &rig.Person{Answers: []hook.ApprovalDecision{hook.ModifyCall(`{"s":"worse"}`)}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), guard, p, rig.Box(rig.Does("x", rig.Never(t))))
	w.Send("go")
	assert.Equal(t, "tool 1 x denied: not that", w.History()[2])
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
	p := &rig.Person{Answers: []hook.ApprovalDecision{hook.ModifyCall(`{"s":"mine"}`), hook.ApproveCall()}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), rewriter, asker(&decided), p, rig.Box(rig.Named("x")))
	w.Send("go")
	assert.Equal(t, []message.JSON{"{}", `{"s":"mine, safer"}`}, p.Shown, "what was not shown has to be")
	assert.Equal(t, "tool 1 x: x:mine, safer", w.History()[2])
}

func TestLawModifiedArgumentsThatDoNotFitDoNotRun(t *testing.T) {
	t.Parallel()
	var decided []message.JSON
	p := &rig.Person{Answers: []hook.ApprovalDecision{hook.ModifyCall(`{"what":"ever"}`)}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), asker(&decided), p, rig.Box(rig.Does("x", rig.Never(t))))
	w.Send("go")
	assert.Contains(t, w.History()[2], "tool 1 x invalid_arguments:")
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
	p := &rig.Person{Answers: []hook.ApprovalDecision{modify, modify, modify, modify}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")), restless, asker(&decided), p, rig.Box(rig.Does("x", rig.Never(t))))
	w.Send("go")
	assert.Len(t, p.Shown, 3)
	assert.Contains(t, w.History()[2], "tool 1 x denied:")
}

func TestLawGrantsAreIntersectedAndReachTheTool(t *testing.T) {
	t.Parallel()
	narrow := func(g hook.Grant) hook.Hook {
		return point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) { return hook.NarrowTool(g), nil })
	}
	var got hook.Grant
	shows := rig.Tool{Tool: message.Tool{Name: "x"}, Run: func(_ context.Context, env *hook.Env, _ string) message.ToolResult {
		got = env.Grant
		return message.TextResult("ok")
	}}
	w := rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")),
		narrow(hook.Grant{Root: "/srv", ReadOnly: true}), narrow(hook.Grant{Root: "/srv/a", MaxOutput: 1}), rig.Box(shows))
	w.Send("go")
	assert.Equal(t, hook.Grant{Root: "/srv/a", ReadOnly: true, MaxOutput: 1}, got)

	w = rig.Start(t, rig.Plays(rig.Calls(rig.Call("1", "x", "{}")), rig.Says("done")),
		narrow(hook.Grant{Root: "/srv"}), narrow(hook.Grant{Root: "/home"}), rig.Box(rig.Does("x", rig.Never(t))))
	w.Send("go")
	assert.Contains(t, w.History()[2], "tool 1 x denied:", "disjoint grants leave nothing")
}
