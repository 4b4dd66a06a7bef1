package loop

import (
	"encoding/json"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// maxRepairs is how often one call may be repaired.
const maxRepairs = 2

// repairCalls binds the calls of a reply in their order, and asks OnInvalidTool to repair those
// that cannot be bound. It runs before any event about the calls and before their gates. The
// verdict is a retry if the whole reply has to be dropped.
//
// It skips a call that was cut off at the token limit: the rest of its arguments is unknown, and
// a repair would run a guess.
func (t *Turn) repairCalls(calls []call) hook.Verdict {
	if !t.hooks.Has(point.OnInvalidTool) || t.hasStop() {
		return hook.Verdict{}
	}
	for i := range calls {
		if c := &calls[i]; !c.cutOff {
			if v := t.repair(c); v.Kind == hook.AnswerRetry {
				return v
			}
		}
	}
	return hook.Verdict{}
}

// repair binds one call, repaired by the hooks if need be. If that fails, the call is the
// model's again, with its first error.
func (t *Turn) repair(c *call) hook.Verdict {
	if t.ctx.Err() != nil || t.bindStrictly(c, c.at) || !c.invalid() {
		return hook.Verdict{}
	}
	end := c.end
	for n := 1; n <= maxRepairs; n++ {
		d := t.askInvalidTool(c, n)
		v := d.Verdict()
		at := c.at
		switch v.Kind {
		case hook.AnswerRetry:
			return v
		case hook.AnswerRepair:
			at = at.WithArgs(d.Args())
		case hook.AnswerRename:
			tool, _ := t.view.Find(d.Name())
			at = at.Renamed(tool)
		}
		if v.Kind == hook.AnswerNone || t.ctx.Err() != nil {
			break
		}
		c.end = hook.CallEnd{}
		if t.bindStrictly(c, at) {
			t.emit(hook.Diagnostic{Code: event.CodeCallRepaired, Text: repairText(c, v), Visibility: event.VisibleUser}.Event())
			return hook.Verdict{}
		}
		if !c.invalid() {
			return hook.Verdict{}
		}
	}
	c.at, c.runner, c.end, c.parsed = &c.first, nil, end, false
	return hook.Verdict{}
}

// bindStrictly is bind, but refuses arguments that are no JSON even if the owner accepts them.
func (t *Turn) bindStrictly(c *call, at *hook.ToolCall) bool {
	bound := t.bind(c, at)
	if c.parsed = json.Valid([]byte(at.Args())); c.parsed {
		return bound
	}
	if bound {
		c.setResult(message.OutcomeInvalid, noJSON())
	}
	c.at, c.runner = at, nil
	return false
}

// noJSON is the result of a call whose owner accepted arguments that are no JSON.
func noJSON() message.ToolResult {
	return message.FailedResult(message.FailArguments, "the arguments are no JSON")
}

// invalid reports whether the call could not be bound because of the model's name or arguments.
func (c *call) invalid() bool {
	switch c.end.Result.Failure {
	case message.FailNotRegistered, message.FailNotAvailable, message.FailArguments:
		return true
	}
	return false
}

func (t *Turn) askInvalidTool(c *call, attempt int) hook.RepairDecision {
	t.updatePlace()
	in := hook.InvalidCall{
		Call: &c.first, Failure: c.end.Result.Failure, Reason: c.end.Result.Text(), Tools: t.view.Callable(), Attempt: attempt,
	}
	t.enterForeign(point.OnInvalidTool)
	d, _ := t.hooks.OnInvalidTool(t.ctx, t.step, in)
	return exitForeignDecided(t.ctx, t, d)
}

// repairText is the text of the event about a repaired call.
func repairText(c *call, v hook.Verdict) string {
	by := v.By
	if by == "" {
		by = "a hook"
	}
	text := fmt.Sprintf("call %s: %s has repaired it", c.at.ID(), by)
	if c.at.Name() != c.first.Name() {
		text += fmt.Sprintf(": %q is now %q", c.first.Name(), c.at.Name())
	}
	return text
}

// freeIDs frees the call ids of a reply that was dropped.
func (t *Turn) freeIDs(reply message.ModelReply) {
	for _, b := range reply.Calls() {
		t.thread.ids[b.CallID] = t.thread.replies
	}
}
