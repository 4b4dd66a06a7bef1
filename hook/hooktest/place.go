package hooktest

import (
	"context"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Agent returns cfg as hooks get it at and after registration. An empty name becomes
// "tester".
func Agent(cfg hook.AgentConfig) *hook.AgentConfig {
	if cfg.Name == "" {
		cfg.Name = "tester"
	}
	return &cfg
}

// Conversation returns the place of a history between agent and a sender
// "someone". A nil agent is Agent of the zero configuration; a nil host offers
// nothing.
func Conversation(agent *hook.AgentConfig, host hook.Host) *hook.Conversation {
	if agent == nil {
		agent = Agent(hook.AgentConfig{})
	}
	return hook.NewConversation(hook.ConversationData{
		ID: "conversation-1", Sender: "someone", Agent: agent, Host: host,
	})
}

// Session returns the place of a session of c that began with its first turn. A nil
// conversation is one of a bare agent without a host.
func Session(c *hook.Conversation) *hook.Session {
	if c == nil {
		c = Conversation(nil, nil)
	}
	s, _ := hook.NewSession(hook.SessionData{
		Conversation: c, ID: "session-1", Source: hook.SessionStartup, Started: epoch(),
	})
	return s
}

// epoch is the time of everything in the kit.
func epoch() time.Time { return time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC) }

// Turn returns the place of the first turn of c, started by one line of text at
// a fixed time by a clock that stands still. A nil conversation is one of a bare
// agent without a host. For a turn with progress use hook.NewTurn and its teller, with
// a [Clock] as its Now.
func Turn(c *hook.Conversation, text string) *hook.Turn {
	if c == nil {
		c = Conversation(nil, nil)
	}
	t, _ := hook.NewTurn(hook.TurnData{
		Conversation: c, Session: Session(c), ID: "turn-1", Number: 1, Started: epoch(),
		Input: message.TextInput(text), Limits: c.Agent().Limits, Now: epoch,
	})
	return t
}

// Step returns the place of the first step of t, by a model "model". A nil turn
// is one with the input "hello".
func Step(t *hook.Turn) *hook.Step {
	if t == nil {
		t = Turn(nil, "hello")
	}
	return hook.NewStep(t, 1, "model")
}

// Call returns the place of the first call of s: to the named tool, with the
// arguments as a model sent them. A nil step is one of a bare turn. Only the
// name of the descriptor is set.
func Call(s *hook.Step, tool string, args message.JSON) *hook.ToolCall {
	if s == nil {
		s = Step(nil)
	}
	return hook.NewToolCall(hook.ToolCallData{
		Step: s, ID: "call-1", Tool: message.Tool{Name: tool}, Args: args, Original: args,
	})
}

// Invoke binds the call and runs it once, without any other hook, under ctx and the
// tool's own timeout. A call without an owner, and one whose arguments cannot be bound,
// get the result that a runtime gives them.
func Invoke(ctx context.Context, h hook.Hook, call *hook.ToolCall) message.ToolResult {
	inv, owned := h.Dispatch(ctx, call)
	if !owned {
		return message.FailedResult(message.FailNotRegistered, "no tool named "+call.Name())
	}
	if err := inv.Err(); err != nil {
		return err.Result()
	}
	env := hook.Env{Call: call.WithArgs(inv.Args()), Attempt: 1, Key: call.ID()}
	if tool, ok := find(h.Schema(), call.Name()); ok && tool.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tool.Timeout)
		defer cancel()
	}
	env.Deadline, _ = ctx.Deadline()
	return inv.Runner().Run(ctx, &env)
}

func find(tools []message.Tool, name string) (message.Tool, bool) {
	i := slices.IndexFunc(tools, func(t message.Tool) bool { return t.Name == name })
	if i < 0 {
		return message.Tool{}, false
	}
	return tools[i], true
}
