package hooktest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
)

// scene is one turn with everything that a hook is shown in it.
type scene struct {
	session      *hook.Session
	conversation *hook.Conversation
	turn         *hook.Turn
	step         *hook.Step
	call         *hook.ToolCall
	input        hook.Input
	request      hook.ModelRequest
	reply        hook.ModelReply
	failure      hook.ModelFailure
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

// newScene returns a scene in a conversation of its own, with every field of every
// view set. What a person, a model or a tool says in it holds the text said.
func newScene(id string, cfg *hook.AgentConfig, host hook.Host, said string) *scene {
	s := &scene{input: hook.TextInput(said), request: Request(), reply: Reply(), compaction: Compaction(), compacted: Compacted()}
	s.conversation = hook.NewConversation(hook.ConversationData{ID: "conversation-" + id, Sender: "someone-" + id, Agent: cfg, Host: host})
	var told hook.SessionTeller
	s.session, told = hook.NewSession(hook.SessionData{
		Conversation: s.conversation, ID: "session-" + id, Source: hook.SessionResume, Started: epoch(),
	})
	told.Tell(hook.Totals{}.Add(TurnOutcome(nil)))
	var teller hook.TurnTeller
	s.turn, teller = hook.NewTurn(hook.TurnData{
		Conversation: s.conversation, Session: s.session, ID: "turn-" + id, Number: 2, Started: epoch(),
		Input: s.input, Limits: cfg.Limits, Now: epoch,
	})
	s.ended, s.failed = TurnOutcome(nil), TurnOutcome(errors.New(said))
	s.ended.Message.Content = hook.ListOf(hook.TextBlock(said))
	teller.Tell(hook.Standing{
		History: hook.MessagesOf(hook.UserText(said), s.ended.Message), Usage: usage(), Cost: hook.Dollar, Steps: 1,
		Signals: s.ended.Signals, Errors: hook.ListOf(s.failed.Err),
	})
	teller.Contribute(Contributed())
	s.step = hook.NewStep(s.turn, 1, "model")
	s.call = hook.NewToolCall(hook.ToolCallData{
		Step: s.step, ID: "call-" + id, Tool: s.request.Tools.Tools().At(0), Index: 1,
		Args: `{"note":` + hook.JSON(quote(said)) + `}`, Original: `{"note": ` + hook.JSON(quote(said)) + `}`,
	})
	s.say(said)
	return s
}

// say puts the text into the values of the scene.
func (s *scene) say(said string) {
	s.request.Messages = s.turn.Standing().History
	s.reply.Content = hook.ListOf(hook.Block{Kind: hook.BlockReasoning, Text: said}, hook.TextBlock(said),
		hook.Block{Kind: hook.BlockToolCall, CallID: s.call.ID(), Tool: s.call.Name(), JSON: s.call.Original()})
	s.failure = ModelFailure()
	s.failure.Err = errors.New(said)
	s.asked = hook.AskTool("sure?").From("Guard")
	s.stopping = Stopping()
	s.stopping.Message = s.ended.Message
	s.compaction.Messages = s.turn.Standing().History
	s.compacted.Summary = said
	s.outcome = ToolOutcome()
	s.outcome.Result.Content = hook.ListOf(hook.TextBlock(said))
	s.of(s.call)
}

// of returns the scene about the call, of which the step is.
func (s *scene) of(call *hook.ToolCall) *scene {
	s.call = call
	s.invalid = InvalidCall(call)
	s.stepEnd = StepOutcome(call)
	s.stepEnd.Calls = hook.ListOf(hook.CallEnd{Call: call, Result: s.outcome.Result, Outcome: s.outcome.Outcome, Duration: s.outcome.Duration})
	return s
}

// with returns the same scene about a call of the tool.
func (s *scene) with(tool hook.Tool, args hook.JSON) *scene {
	out := *s
	return out.of(hook.NewToolCall(hook.ToolCallData{Step: s.step, ID: "call-" + tool.Name, Tool: tool, Args: args, Original: args}))
}

// bareScene returns a scene in which nothing is known that may be unknown.
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

// toolEnd is the end of a chain of wraps around a tool: it counts how often the tool
// would have run.
type toolEnd struct {
	result hook.ToolResult
	ran    atomic.Int64
}

// WrapToolAt implements hook.ToolChain.
func (e *toolEnd) WrapToolAt(context.Context, int) hook.ToolResult {
	e.ran.Add(1)
	return e.result
}

// modelEnd is the end of a chain of wraps around a model call.
type modelEnd struct{ reply hook.ModelReply }

// WrapModelAt implements hook.ModelChain.
func (e *modelEnd) WrapModelAt(ctx context.Context, _ int) hook.ModelStream {
	return func(yield func(hook.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(hook.Chunk{}, err)
			return
		}
		if text := e.reply.Text(); text != "" && !yield(hook.Chunk{Kind: hook.ChunkText, Text: text}, nil) {
			return
		}
		yield(hook.Chunk{Kind: hook.ChunkFinish, Finish: hook.FinishStop, Usage: e.reply.Usage}, nil)
	}
}
