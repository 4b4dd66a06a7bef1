package hook

import (
	"context"

	"github.com/grapnel-go/grapnel/hook/message"
)

// ContractVersion is the version of what jobs keep of the arguments of hooks. A queued call of
// another version is kept, but does not run.
const ContractVersion = 1

// Hook is the facade of one subsystem, or of a whole composite of them. Embed
// [Nop] and implement what is needed. A nil Hook is [Nop] wherever one is
// accepted.
//
// The error of a method is the hook's own failure; answers have types of their
// own. Each method says what its failure causes.
type Hook interface {
	// Schema returns the tools this hook owns; there is no other registry.
	// Called when the runtime works out what an agent may use: at registration, at
	// Refresh, and for turns with layers, a guest agent or fewer tools. The result
	// is only read and may be shared. Two owners of one name are an error: at generation for
	// static tools, at registration for tools known only at run time.
	//
	//hook:point facade union
	Schema() []message.Tool

	// SystemPrompt returns standing instructions about this hook's tools for one
	// agent, or "". Called after ScopedTools whenever Schema is, and only if the
	// agent has at least one of the hook's tools or the hook has no tools at all.
	// Under a prefix, cfg.ToolName gives the public name of a tool.
	//
	//hook:point facade join
	SystemPrompt(cfg *AgentConfig) string

	// OnBuildAgent may change the configuration before the agent is registered.
	// Each hook gets the configuration that the one before it returned. It may do
	// I/O. An error ends the registration.
	//
	//hook:point facade fold
	OnBuildAgent(ctx context.Context, cfg AgentConfig) (AgentConfig, error)

	// OnRegisterAgent is called before the agent becomes visible, which it is once
	// every hook has returned nil. If one fails, the hooks before it get
	// OnUnregisterAgent in reverse order and the registration ends with that error.
	// cfg stays valid and unchanged until OnUnregisterAgent, which gets the same pointer.
	//
	//hook:point facade each bracket
	OnRegisterAgent(ctx context.Context, cfg *AgentConfig) error

	// OnUnregisterAgent is called in reverse order, after the agent's last turn has
	// ended, exactly once for each OnRegisterAgent that returned nil.
	//
	//hook:point facade each reverse bracket
	OnUnregisterAgent(ctx context.Context, cfg *AgentConfig)

	// Preprocess may rewrite the user's input or expand it to several messages
	// (slash commands live here). Called once for the input of a turn, before it
	// becomes history, and once for each message that reaches the running turn, before
	// its next step; t.Input is then that message. If the process dies before that, the
	// resumed turn calls it again. Each hook gets the input that the one before it returned.
	// An error rejects the turn, or only the message: then the event steer_refused tells its
	// sender and the turn continues.
	//
	//hook:point facade fold
	Preprocess(ctx context.Context, t *Turn, in message.Input) (message.Input, error)

	// ScopedTools narrows this hook's tools for one agent and may add a line to
	// the prompt's <scope> block. The zero Scope means "all of my tools, no
	// line"; an empty, non-nil list means none. Names are local names.
	//
	//hook:point facade union
	ScopedTools(cfg *AgentConfig) Scope

	// Dispatch binds a call to a tool of this hook: it decodes and validates the
	// arguments and returns an invocation, to be run later or never. It has no
	// effect of its own and must not block. False means "not mine". It may be
	// called several times for one call, because rewritten arguments are bound
	// again.
	//
	//hook:point facade first
	Dispatch(ctx context.Context, call *ToolCall) (Invocation, bool)

	// OnEvent observes an event. It cannot fail or change anything, and must not block.
	// Within one conversation it is called for one event at a time, in order, on the
	// goroutine that delivers: the loop's, or that of a hook or tool that emits. A slow
	// OnEvent slows the turn.
	//
	//hook:point facade each
	OnEvent(ctx context.Context, ev Event)
}

// Nop implements every method of [Hook] as the identity of that method's
// combination rule: putting Nop anywhere in a composite changes nothing.
// Subsystems embed it by value; an embedder passes it to run without hooks.
type Nop struct{}

var _ Hook = Nop{}

// Schema returns no tools.
func (Nop) Schema() []message.Tool { return nil }

// SystemPrompt returns "".
func (Nop) SystemPrompt(*AgentConfig) string { return "" }

// OnBuildAgent returns cfg as it is.
func (Nop) OnBuildAgent(_ context.Context, cfg AgentConfig) (AgentConfig, error) { return cfg, nil }

// OnRegisterAgent returns nil.
func (Nop) OnRegisterAgent(context.Context, *AgentConfig) error { return nil }

// OnUnregisterAgent does nothing.
func (Nop) OnUnregisterAgent(context.Context, *AgentConfig) {}

// Preprocess returns in as it is.
func (Nop) Preprocess(_ context.Context, _ *Turn, in message.Input) (message.Input, error) {
	return in, nil
}

// ScopedTools returns the zero Scope: nothing narrowed.
func (Nop) ScopedTools(*AgentConfig) Scope { return Scope{} }

// Dispatch owns no tool.
func (Nop) Dispatch(context.Context, *ToolCall) (Invocation, bool) { return Invocation{}, false }

// OnEvent ignores the event.
func (Nop) OnEvent(context.Context, Event) {}
