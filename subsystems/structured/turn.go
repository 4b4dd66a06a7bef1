package structured

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/schema"
)

// progress is the state of a turn that asks for JSON.
type progress struct {
	// format is what the last request asked for; the zero one is text.
	format message.ResponseFormat
	// schema is compiled; nil is any JSON. bad is the error of one that is none.
	schema *schema.Schema
	bad    error
	// tool: the last request offered final_answer, in the set offered, which is base with the
	// tool.
	tool          bool
	base, offered *message.ToolSet
	// retried counts the replies that were asked for again; dropped are those of them that
	// the model sees again.
	retried int
	dropped []dropped
	// finals is how often the last reply called final_answer if it called nothing else and
	// not once.
	finals int
	// mixed: the last reply called final_answer beside other tools. The next request says so.
	mixed bool
}

// asks reports whether the turn asks for JSON.
func (p *progress) asks() bool { return wanted(p.format) }

func wanted(f message.ResponseFormat) bool { return f.JSON || f.Schema != "" }

// RewriteRequest offers final_answer to a model without a response format, and tells it what
// was wrong with its use of the tool.
func (s *Structured) RewriteRequest(_ context.Context, step *hook.Step, req message.ModelRequest) (message.ModelRequest, error) {
	turn := step.Turn()
	was := s.turn.Get(turn)
	if !wanted(req.Model.Format) && !was.asks() {
		return req, nil
	}
	now := was
	if now.format != req.Model.Format {
		now = progress{format: req.Model.Format, retried: was.retried, dropped: was.dropped}
		now.schema, now.bad = s.compile(req.Model.Format)
	}
	now.tool = wanted(req.Model.Format) && now.bad == nil && !s.isNative(turn, req.Model.Name)
	now.finals = 0
	if now.tool {
		if now.offered == nil || now.base != req.Tools {
			now.base, now.offered = req.Tools, message.NewToolSet(append(req.Tools.Tools().Slice(), now.finalAnswer()))
		}
		req.Tools, req.Model.Format = now.offered, message.ResponseFormat{}
		if req.Model.Choice.Mode == message.ToolChoiceNone {
			req.Model.Choice = message.ToolChoice{Mode: message.ToolChoiceTool, Tool: Tool}
		}
	}
	req.Messages = withDropped(req.Messages, now.dropped)
	if was.mixed {
		note := message.UserText("Your call of " + Tool + " was left out, because it came with calls of other tools. Their results are above. " +
			"When you have all that you need, call " + Tool + " alone.")
		note.Label, note.Ephemeral = "feedback", true
		req.Messages = req.Messages.Fork().Append(note)
	}
	s.turn.Update(turn, func(progress) progress { return now })
	return req, nil
}

func (s *Structured) isNative(turn *hook.Turn, model string) bool {
	switch s.of(turn.Agent()).mode {
	case ModeNative:
		return true
	case ModeTool:
		return false
	}
	return s.native != nil && s.native(model)
}

// BeforeModel rejects a request with a schema that cannot be checked. Those of agents were
// refused at registration.
func (s *Structured) BeforeModel(_ context.Context, step *hook.Step, _ message.ModelRequest) (hook.ModelDecision, error) {
	if bad := s.turn.Get(step.Turn()).bad; bad != nil {
		return hook.RejectModel("the schema of the answer: " + bad.Error()), nil
	}
	return hook.ModelDecision{}, nil
}

// WantsStream says which calls WrapModel surrounds, see package composite: turns that ask for no JSON are left alone.
func (s *Structured) WantsStream(step *hook.Step, _ message.ModelRequest) bool {
	now := s.turn.Get(step.Turn())
	return now.asks()
}

// WrapModel makes the text of the answer of a call of final_answer, or of a fenced text. Until
// the end of such a reply it keeps back all but reasoning.
func (s *Structured) WrapModel(ctx context.Context, step *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	now := s.turn.Get(step.Turn())
	if !now.asks() {
		return next.Stream(ctx)
	}
	return func(yield func(message.Chunk, error) bool) {
		r := reader{tool: now.tool, wrapped: now.wraps(), yield: yield}
		r.ended = func() {
			s.turn.Update(step.Turn(), func(p progress) progress { p.mixed, p.finals = r.mixed, r.finals; return p })
		}
		r.read(next.Stream(ctx))
	}
}

// AfterModel checks a reply without tool calls. One that does not fit is asked for again, and
// at last rejected.
func (s *Structured) AfterModel(_ context.Context, step *hook.Step, reply message.ModelReply) (hook.ReplyDecision, error) {
	turn := step.Turn()
	now := s.turn.Get(turn)
	if !now.asks() {
		return hook.ReplyDecision{}, nil
	}
	for range reply.Calls() {
		return hook.ReplyDecision{}, nil
	}
	problems := now.check(reply)
	if problems == nil {
		return hook.ReplyDecision{}, nil
	}
	err := &Error{Name: now.format.Name, Problems: problems, Retries: now.retried}
	if now.retried >= s.of(turn.Agent()).retries {
		return hook.RejectReply(err.Error()).WithError(err), nil
	}
	feedback := now.feedback(err)
	s.turn.Update(turn, func(p progress) progress {
		p.retried++
		if text := reply.Text(); len(text) <= maxShown && strings.TrimSpace(text) != "" && reply.Finish != message.FinishFilter {
			p.dropped = append(slices.Clip(p.dropped), dropped{text, feedback})
		}
		return p
	})
	return hook.RetryReply(feedback), nil
}

// dropped is a reply that was not accepted, and what the model was told about it. The runtime
// drops the reply, but a model has to see what it is to correct.
type dropped struct{ text, feedback string }

// maxShown limits a reply that the model sees again, in bytes. A longer one would take the room
// of its correction.
const maxShown = 64 << 10

// withDropped returns the messages with each dropped reply before its feedback.
func withDropped(all message.Messages, replies []dropped) message.Messages {
	if len(replies) == 0 {
		return all
	}
	out := make([]message.Message, 0, all.Len()+len(replies))
	for _, m := range all.All() {
		if len(replies) > 0 && m.Ephemeral && strings.Contains(m.Text(), replies[0].feedback) {
			said := message.UserText(replies[0].text)
			said.Role, said.Ephemeral = message.RoleAssistant, true
			out, replies = append(out, said), replies[1:]
		}
		out = append(out, m)
	}
	return message.MessagesOf(out...)
}

// check returns what is wrong with a reply without tool calls.
func (p *progress) check(reply message.ModelReply) []Problem {
	switch {
	case p.finals > 1:
		return []Problem{{Want: fmt.Sprintf("must be given by one call of %s; there were %d", Tool, p.finals)}}
	case reply.Finish == message.FinishLength:
		return []Problem{{Want: "must be complete, and was cut off at the limit of tokens; make it shorter"}}
	case reply.Finish == message.FinishFilter:
		return []Problem{{Want: "must be complete, and was withheld by the provider's filter"}}
	case p.schema == nil:
		return problemsOf(schema.CheckJSON(reply.Text()))
	}
	return problemsOf(p.schema.Check(reply.Text()))
}

// feedback tells the model what was wrong.
func (p *progress) feedback(err *Error) string {
	how := "Answer again, with the whole JSON value and nothing else."
	if p.tool {
		how = "Answer again, by one call of " + Tool + " with the whole value, and nothing else."
	}
	return "The answer was not accepted:\n- " + strings.Join(err.lines(), "\n- ") + "\n" + how
}
