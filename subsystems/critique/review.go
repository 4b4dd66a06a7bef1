package critique

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/review"
)

// The codes of the diagnostics. Those of answers that nobody has approved are for users, the
// others for the audit.
const (
	CodeApproved    hook.DiagnosticCode = "critique.approved"     // the judge has approved the answer
	CodeReturned    hook.DiagnosticCode = "critique.returned"     // it was returned with feedback
	CodeNotApproved hook.DiagnosticCode = "critique.not_approved" // it was returned as often as it may be, and is still not approved
	CodeUnreviewed  hook.DiagnosticCode = "critique.unreviewed"   // the judge has failed: nobody has reviewed it
)

// AfterModel judges a final answer: one without tool calls and with text.
func (c *Critique) AfterModel(ctx context.Context, step *hook.Step, reply message.ModelReply) (hook.ReplyDecision, error) {
	if step.Turn() == nil || step.Turn().IsCompaction() {
		return hook.ReplyDecision{}, nil
	}
	s, ok := c.at(step.Turn().Agent(), OnReply)
	called := calls(reply.Content) && reply.Finish != message.FinishFilter // which drops them, and leaves the text
	answer := paused(step.Turn()) + reply.Text()
	if !ok || reply.Finish == message.FinishPause || called || strings.TrimSpace(answer) == "" {
		return hook.ReplyDecision{}, nil
	}
	r := &hearing{Critique: c, s: s, turn: step.Turn(), host: step.Host()}
	feedback, failed := r.of(ctx, requestOf(step.Turn(), step.Number()), answer)
	switch {
	case feedback != "":
		return hook.RetryReply(feedback), nil
	case failed != nil && s.OnFailure == Reject:
		return hook.RejectReply(failed.Error()).WithError(failed), nil
	}
	return hook.ReplyDecision{}, nil
}

// OnStop judges the answer of a turn that is about to end completed.
func (c *Critique) OnStop(ctx context.Context, turn *hook.Turn, stopping hook.Stopping) (hook.StopDecision, error) {
	s, ok := c.at(turn.Agent(), AtStop)
	text := stopping.Message.Text()
	if !ok || stopping.Stop != hook.StopCompleted || strings.TrimSpace(text) == "" {
		return hook.StopDecision{}, nil
	}
	r := &hearing{Critique: c, s: s, turn: turn, host: turn.Host()}
	if feedback, _ := r.of(ctx, requestOf(turn, turn.Standing().Steps+1), text); feedback != "" {
		return hook.ContinueTurn(feedback), nil
	}
	return hook.StopDecision{}, nil
}

// AfterTurn tells of an answer that nobody has reviewed, because the turn ended otherwise than completed.
func (c *Critique) AfterTurn(ctx context.Context, turn *hook.Turn, out hook.TurnOutcome) {
	if _, ok := c.at(turn.Agent(), AtStop); !ok || out.Stop == hook.StopCompleted || strings.TrimSpace(out.Text()) == "" {
		return
	}
	r := &hearing{Critique: c, turn: turn, host: turn.Host()}
	r.tell(ctx, CodeUnreviewed, event.VisibleUser, "critique: nobody has reviewed the answer, because the turn ended with "+string(out.Stop))
}

// hearing is the review of one answer.
type hearing struct {
	*Critique
	s    Section
	turn *hook.Turn
	host hook.Host
}

// of judges the answer. Feedback that is not empty returns it to the writer; an error says that
// nobody has approved it. Without both it is approved.
func (r *hearing) of(ctx context.Context, request, answer string) (feedback string, failed *Error) {
	v, failed := r.s.judge(ctx, r.host, request, answer)
	switch {
	case failed != nil:
		r.tell(ctx, CodeUnreviewed, event.VisibleUser, "critique: nobody has reviewed the answer: "+failed.Reason)
		return "", failed
	case v.approves(r.s):
		r.tell(ctx, CodeApproved, event.VisibleAudit, "critique: the answer is approved"+v.scored())
		return "", nil
	}
	n := r.returned.Update(r.turn, func(n int) int { return min(n+1, r.s.Max+1) })
	if n > r.s.Max {
		failed = &Error{Reason: fmt.Sprintf("it was returned %d times, and the review still asks for changes", r.s.Max)}
		r.tell(ctx, CodeNotApproved, event.VisibleUser, "critique: "+failed.Error()+v.scored())
		return "", failed
	}
	r.tell(ctx, CodeReturned, event.VisibleAudit, fmt.Sprintf("critique: the answer is returned, %d of %d times%s", n, r.s.Max, v.scored()))
	return r.s.feedback(v, answer), nil
}

// tell emits a diagnostic.
func (r *hearing) tell(ctx context.Context, code hook.DiagnosticCode, to hook.Visibility, text string) {
	r.host.Emit(ctx, hook.Diagnostic{Code: code, Text: text, Visibility: to}.Event())
}

// scored returns the score in brackets; "" if there is none.
func (v verdict) scored() string {
	if v.Score == nil {
		return ""
	}
	return fmt.Sprintf(" (score %d)", *v.Score)
}

// feedback is what the writer gets. An answer that is returned before it becomes history is
// quoted, so that the writer need not begin anew.
func (s Section) feedback(v verdict, answer string) string {
	why := v.Feedback
	if v.Verdict == approve {
		why = strings.TrimSpace(fmt.Sprintf("Its score is %d, and at least %d is needed. %s", *v.Score, s.Threshold, why))
	}
	text := "A reviewer has returned your answer: " + why + "\n\nAnswer again, with the whole answer and nothing about the review."
	if s.On == OnReply {
		text += " What you had written:\n\n" + review.Cut(answer, maxEcho)
	}
	return text
}

// paused returns the text of the answer before the model paused, which is history already: an answer of which a part is
// missing is not judged.
func paused(turn *hook.Turn) (text string) {
	history := turn.Standing().History
	for i := history.Len() - 1; i >= 0; i-- {
		m := history.At(i)
		if m.Role != message.RoleAssistant || calls(m.Content) {
			break
		}
		text = m.Text() + text
	}
	return text
}

// calls reports whether the reply calls tools.
func calls(content message.List[message.Block]) bool {
	for _, b := range content.All() {
		if b.Kind == message.BlockToolCall {
			return true
		}
	}
	return false
}

// requestOf returns what people have said since the last answer: in the first step the turn's
// input, later the messages to the running turn as well.
func requestOf(turn *hook.Turn, step int) string {
	if step <= 1 {
		return textOf(turn.Input())
	}
	var said []string
	history := turn.Standing().History
	for i := history.Len() - 1; i >= 0; i-- {
		m := history.At(i)
		if m.Role == message.RoleUser && m.Label == "" {
			said = append(said, m.Text())
		}
		if m.Role == message.RoleAssistant && !calls(m.Content) && len(said) > 0 {
			break
		}
	}
	if len(said) == 0 {
		return textOf(turn.Input())
	}
	slices.Reverse(said)
	return strings.Join(said, "\n\n")
}

func textOf(in message.Input) string {
	var said []string
	for _, m := range in.Messages.All() {
		if m.Label == "" {
			said = append(said, m.Text())
		}
	}
	return strings.Join(said, "\n\n")
}
