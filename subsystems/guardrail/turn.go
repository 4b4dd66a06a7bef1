package guardrail

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// The codes of the diagnostics. What was blocked or returned is for the audit: the turn says it, too. The others are for users.
const (
	CodeBlocked  hook.DiagnosticCode = "guardrail.blocked"  // an input or a reply was blocked
	CodeReturned hook.DiagnosticCode = "guardrail.returned" // a reply was returned to the model
	CodeMasked   hook.DiagnosticCode = "guardrail.masked"   // a part was masked
	CodeWarned   hook.DiagnosticCode = "guardrail.warned"   // a text that does not pass, with the action warn
	CodeUnjudged hook.DiagnosticCode = "guardrail.unjudged" // a text passes although it could not be judged
)

// judged is what was found in a reply.
type judged struct {
	step int
	// said is the text of the reply as it was left.
	said string
	// worst is what blocks the reply or returns it; nil if it passes.
	worst *objection
}

// Preprocess masks what the checks of inputs mask.
func (g *Guardrail) Preprocess(ctx context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	list := g.of(t.Agent()).input
	messages := in.Messages.Slice()
	changed := false
	for i := range messages {
		if content, masked := g.mask(ctx, t.Host(), list, messages[i].Content); masked {
			messages[i].Content, changed = content, true
		}
	}
	if changed {
		in.Messages = message.Freeze(messages)
	}
	return in, nil
}

// BeforeTurn checks an input, and every message to the running turn.
func (g *Guardrail) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	list := g.of(t.Agent()).input
	if len(list) == 0 {
		return hook.TurnDecision{}, nil
	}
	worst := g.worst(ctx, t.Host(), g.all(ctx, t.Host(), list, text{said: in.Text(), whole: true}))
	if worst == nil {
		return hook.TurnDecision{}, nil
	}
	g.tell(ctx, t.Host(), CodeBlocked, event.VisibleAudit, "an input was blocked", worst)
	return hook.RejectTurn(worst.error().Error()), nil
}

// HoldsReply says which replies nobody may see before they are checked, see package composite.
func (g *Guardrail) HoldsReply(step *hook.Step) bool {
	list, _ := g.checked(step)
	return len(list) > 0
}

// checked returns the checks of the step's reply. A summary of a conversation is for the model, and not checked.
func (g *Guardrail) checked(step *hook.Step) (list []check, retries int) {
	t := step.Turn()
	if t == nil || t.IsCompaction() {
		return nil, 0
	}
	return g.output(t)
}

// RewriteReply masks what has to be masked, and checks the reply.
func (g *Guardrail) RewriteReply(ctx context.Context, step *hook.Step, reply message.ModelReply) (message.ModelReply, error) {
	list, _ := g.checked(step)
	if len(list) == 0 {
		return reply, nil
	}
	reply.Content, _ = g.mask(ctx, step.Host(), list, reply.Content)
	worst := g.judge(ctx, step.Host(), list, reply)
	g.judged.Update(step.Turn(), func(judged) judged { return judged{step.Number(), reply.Text(), worst} })
	return reply, nil
}

// AfterModel blocks a reply that does not pass, or returns it to the model.
func (g *Guardrail) AfterModel(ctx context.Context, step *hook.Step, reply message.ModelReply) (hook.ReplyDecision, error) {
	list, retries := g.checked(step)
	if len(list) == 0 {
		return hook.ReplyDecision{}, nil
	}
	was := g.judged.Get(step.Turn())
	if was.step != step.Number() || was.said != reply.Text() { // another hook has written it since
		was.worst = g.judge(ctx, step.Host(), list, reply)
	}
	worst := was.worst
	switch {
	case worst == nil:
		return hook.ReplyDecision{}, nil
	case worst.Action == Retry && g.retried.Update(step.Turn(), func(n int) int { return min(n+1, retries+1) }) <= retries:
		g.tell(ctx, step.Host(), CodeReturned, event.VisibleAudit, "a reply was returned to the model", worst)
		return hook.RetryReply("Nobody has seen your reply, because of a check: " + cmp.Or(worst.Say, worst.why) + ". Write the whole reply again so that it passes."), nil
	}
	g.tell(ctx, step.Host(), CodeBlocked, event.VisibleAudit, "a reply was blocked", worst)
	err := worst.error()
	return hook.RejectReply(err.Error()).WithError(err), nil
}

// judge returns what blocks the reply or returns it; nil if it passes.
func (g *Guardrail) judge(ctx context.Context, host hook.Host, list []check, reply message.ModelReply) *objection {
	whole := reply.Finish != message.FinishPause
	for range reply.Calls() {
		whole = reply.Finish == message.FinishFilter // its calls are dropped
	}
	return g.worst(ctx, host, g.all(ctx, host, list, text{said: reply.Text(), hidden: reply.Reasoning(), whole: whole}))
}

// worst returns the first objection that blocks, or else the first that returns the reply. It says what only warns.
func (g *Guardrail) worst(ctx context.Context, host hook.Host, found []objection) (worst *objection) {
	for i := range found {
		o := &found[i]
		switch {
		case o.failed && o.FailOpen:
			g.tell(ctx, host, CodeUnjudged, event.VisibleUser, "a text passes unjudged", o)
		case o.Action == Warn:
			g.tell(ctx, host, CodeWarned, event.VisibleUser, "a text does not pass", o)
		case worst == nil || worst.Action == Retry && o.Action != Retry:
			worst = o
		}
	}
	return worst
}

// mask masks the texts of the content.
func (g *Guardrail) mask(ctx context.Context, host hook.Host, list []check, content message.List[message.Block]) (_ message.List[message.Block], changed bool) {
	var blocks []message.Block
	for i := range list {
		c := &list[i]
		if c.Action != Redact {
			continue
		}
		if blocks == nil {
			blocks = content.Slice()
		}
		masked := 0
		for j := range blocks {
			if blocks[j].Kind == message.BlockText {
				n := len(c.spans(blocks[j].Text))
				if n > 0 {
					blocks[j].Text = c.mask(blocks[j].Text)
				}
				masked += n
			}
		}
		if masked > 0 {
			changed = true
			g.tell(ctx, host, CodeMasked, event.VisibleUser, fmt.Sprintf("masked, times: %d", masked), &objection{check: *c})
		}
	}
	if !changed {
		return content, false
	}
	return message.Freeze(blocks), true
}

// error is why the text is blocked.
func (o *objection) error() *Error { return &Error{o.Name, cmp.Or(o.Say, o.why)} }

// tell emits a diagnostic. It has nothing of the text, and nothing that a model has said about it.
func (g *Guardrail) tell(ctx context.Context, host hook.Host, code hook.DiagnosticCode, to hook.Visibility, what string, o *objection) {
	why := ""
	if o.Rule == "" && o.why != "" {
		why = ": " + o.why
	}
	host.Emit(ctx, hook.Diagnostic{Code: code, Visibility: to, Text: strings.TrimSpace(fmt.Sprintf("guardrail %q: %s%s", o.Name, what, why))}.Event())
}
