// Package hook is the contract of Grapnel: the interfaces that a subsystem implements, and the values that it receives.
//
// A subsystem is a type that implements [Hook]. It embeds [Nop], which
// implements all nine methods as "nothing to add", and writes only the methods
// it needs. It may also implement any of the points ([BeforeTool],
// [RewriteArgs], [AfterModel], …): one-method interfaces that the runtime calls
// at one moment of the lifecycle each.
//
//	type Polite struct{ hook.Nop }
//
//	func (Polite) SystemPrompt(*hook.AgentConfig) string { return "Be polite." }
//
// A composite makes one hook of several subsystems. It is a struct of hooks for which
// command hookgen generates a table, or the result of composite.New. A runtime drives the
// agent loop through that one hook and knows nothing else.
//
// # Order of calls
//
// The most used points; docs/lifecycle.md has all. A process: OnOpen … OnClose. An agent: OnBuildAgent, ScopedTools,
// SystemPrompt, OnRegisterAgent … OnUnregisterAgent. A turn: Preprocess (also for messages
// that reach the running turn, before its next step), then steps, then AfterTurn. A step:
// RewriteRequest, BeforeModel, WrapModel, RewriteReply, AfterModel, and for each tool call
// Dispatch, RewriteArgs, BeforeTool, Approve, WrapTool, RewriteResult, AfterTool. The runtime
// rewrites every value first and has it judged afterwards, so no rewriter can slip something
// past a decider.
//
// # Concurrency
//
// Calls that belong to one turn come from the loop's goroutine, one at a time, except:
//   - WrapTool and [Runner].Run are called concurrently for the calls of one step.
//   - OnEvent is called on the goroutine that delivers the event, one event of a
//     conversation at a time.
//   - A member whose tag says parallel, record or background is called concurrently with
//     others.
//   - If a hook hangs in a cancelled turn, AfterTool, AfterStep and AfterTurn are called
//     in the background.
//
// Different turns run concurrently, so a hook that keeps state guards it.
//
// # Values and places
//
// A hook cannot change what it receives: places ([Turn], [Step], [ToolCall],
// [Conversation]) have accessors only, sequences are [message.List], JSON is the string
// type [message.JSON], and everything else is a value. A hook answers by returning.
//
// # Packages
//
// Package message has what goes to and from a model and how a call ended, and imports nothing
// of ours. Package event has the kinds of event, package point a constant and a function
// adapter for each point. The contract imports the standard library and package message only.
package hook
