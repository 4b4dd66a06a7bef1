package hooktest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// scene has all places and values that a hook gets in one turn.
type scene struct {
	session      *hook.Session
	conversation *hook.Conversation
	turn         *hook.Turn
	step         *hook.Step
	call         *hook.ToolCall
	input        message.Input
	request      message.ModelRequest
	reply        message.ModelReply
	failure      message.ModelFailure
	invalid      hook.InvalidCall
	asked        hook.ToolDecision
	outcome      hook.ToolOutcome
	stepEnd      hook.StepOutcome
	stopping     hook.Stopping
	failed       hook.TurnOutcome
	ended        hook.TurnOutcome
	compaction   hook.Compaction
	compacted    hook.Compacted
}

// newScene returns a scene in a conversation of its own, with every field of every value
// set. All texts of people, models and tools contain said.
func newScene(id string, cfg *hook.AgentConfig, host hook.Host, said string) *scene {
	s := &scene{input: message.TextInput(said), request: Request(), reply: Reply(), compaction: Compaction(), compacted: Compacted()}
	s.conversation = hook.NewConversation(hook.ConversationData{ID: "conversation-" + id, Sender: "someone-" + id, Agent: cfg, Host: host})
	var sessionTeller hook.SessionTeller
	s.session, sessionTeller = hook.NewSession(hook.SessionData{
		Conversation: s.conversation, ID: "session-" + id, Source: hook.SessionResume, Started: epoch(),
	})
	sessionTeller.Tell(hook.Totals{}.Add(TurnOutcome(nil)))
	var teller hook.TurnTeller
	s.turn, teller = hook.NewTurn(hook.TurnData{
		Conversation: s.conversation, Session: s.session, ID: "turn-" + id, Number: 2, Started: epoch(),
		Input: s.input, Limits: cfg.Limits, Now: epoch,
	})
	s.ended, s.failed = TurnOutcome(nil), TurnOutcome(errors.New(said))
	s.ended.Message.Content = message.ListOf(message.TextBlock(said))
	teller.Tell(hook.Standing{
		History: message.MessagesOf(message.UserText(said), s.ended.Message), Usage: usage(), Cost: hook.Dollar, Steps: 1,
		Signals: s.ended.Signals, Errors: message.ListOf(s.failed.Err),
	})
	teller.Contribute(Contributed())
	s.step = hook.NewStep(s.turn, 1, "model")
	s.call = hook.NewToolCall(hook.ToolCallData{
		Step: s.step, ID: "call-" + id, Tool: s.request.Tools.Tools().At(0), Index: 1,
		Args: `{"note":` + message.JSON(quote(said)) + `}`, Original: `{"note": ` + message.JSON(quote(said)) + `}`,
	})
	s.setTexts(said)
	return s
}

// values returns the places and values that a hook gets at the point, one of each type.
func (s *scene) values(p hook.Point) []any {
	ended := s.ended
	if p == point.OnTurnError {
		ended = s.failed
	}
	return []any{
		s.session, s.conversation, s.turn, s.step, s.call, s.input, s.request, s.reply, s.failure, s.invalid, s.asked,
		s.call.Args(), s.outcome, s.outcome.Result, s.stepEnd, s.stopping, ended, s.compaction, s.compacted,
	}
}

// setTexts puts the text into the values of the scene.
func (s *scene) setTexts(said string) {
	s.request.Messages = s.turn.Standing().History
	s.reply.Content = message.ListOf(message.Block{Kind: message.BlockReasoning, Text: said}, message.TextBlock(said),
		message.Block{Kind: message.BlockToolCall, CallID: s.call.ID(), Tool: s.call.Name(), JSON: s.call.Original()})
	s.failure = ModelFailure()
	s.failure.Err = errors.New(said)
	s.asked = hook.ToolDecision{Ruling: hook.AskTool("sure?").Under("Guard")}
	s.stopping = Stopping()
	s.stopping.Message = s.ended.Message
	s.compaction.Messages = s.turn.Standing().History
	s.compacted.Summary = said
	s.outcome = ToolOutcome()
	s.outcome.Result.Content = message.ListOf(message.TextBlock(said))
	s.setCall(s.call)
}

// setCall sets the scene's tool call and the values made from it.
func (s *scene) setCall(call *hook.ToolCall) *scene {
	s.call = call
	s.invalid = InvalidCall(call)
	s.stepEnd = StepOutcome(call)
	s.stepEnd.Calls = message.ListOf(hook.CallEnd{Call: call, Result: s.outcome.Result, Outcome: s.outcome.Outcome, Duration: s.outcome.Duration})
	return s
}

// with returns a copy of the scene about a call of the tool.
func (s *scene) with(tool message.Tool, args message.JSON) *scene {
	out := *s
	return out.setCall(hook.NewToolCall(hook.ToolCallData{Step: s.step, ID: "call-" + tool.Name, Tool: tool, Args: args, Original: args}))
}

// bareScene returns a scene with every optional field unset.
func bareScene() *scene {
	s := &scene{}
	s.conversation = hook.NewConversation(hook.ConversationData{Agent: &hook.AgentConfig{}})
	s.session, _ = hook.NewSession(hook.SessionData{Conversation: s.conversation})
	s.turn, _ = hook.NewTurn(hook.TurnData{Conversation: s.conversation})
	s.step = hook.NewStep(s.turn, 0, "")
	s.call = hook.NewToolCall(hook.ToolCallData{Step: s.step})
	s.invalid.Call = s.call
	return s
}

// toolEnd is the end of a chain of wraps around a tool. It counts the runs of the tool.
type toolEnd struct {
	result message.ToolResult
	ran    atomic.Int64
}

// Run implements [hook.ToolNext].
func (e *toolEnd) Run(context.Context) message.ToolResult {
	e.ran.Add(1)
	return e.result
}

// modelEnd is the end of a chain of wraps around a model call.
type modelEnd struct{ reply message.ModelReply }

// Stream implements [hook.ModelNext].
func (e *modelEnd) Stream(ctx context.Context) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(message.Chunk{}, err)
			return
		}
		if text := e.reply.Text(); text != "" && !yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil) {
			return
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: e.reply.Usage}, nil)
	}
}
