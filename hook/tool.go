package hook

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
)

// ReservedTools are the public names, separated by blanks, that no hook's tool may
// have. Package subsystems/structured offers final_answer to models that have no response
// format of their own. Some models call multi_tool_use unasked, to bundle calls.
const ReservedTools = "final_answer multi_tool_use"

// Scope is a hook's answer to "which of your tools may this agent use?".
type Scope struct {
	// Tools are local names or patterns of them, see [message.MatchName]. Nil means all;
	// empty and non-nil means none.
	Tools []string
	// Senders keep tools for some senders, in addition to those of the agent's configuration.
	// Their tools are local names or patterns of them.
	Senders []message.SenderRule
	// Line is added to the prompt's <scope> block; "" adds nothing.
	Line string
}

// Restricted reports whether the scope narrows anything.
func (s Scope) Restricted() bool { return s.Tools != nil || len(s.Senders) > 0 }

// Runner runs a bound call. Run is called at most once per approval, concurrently
// with the other calls of the step, on a goroutine of its own. It ends soon after ctx
// does. A failure is a result, not a panic.
type Runner interface {
	Run(ctx context.Context, env *Env) message.ToolResult
}

// Invocation is a call that Dispatch has bound: the arguments as all later points see them, and either its Runner or the reason why it
// cannot run. The zero Invocation cannot run.
type Invocation struct {
	args   message.JSON
	runner Runner
	err    *ArgError
}

// Bound returns an invocation that can be run. args are the canonical arguments from which r was made.
func Bound(args message.JSON, r Runner) Invocation { return Invocation{args: args, runner: r} }

// BadArgs returns an invocation that cannot run, with the error for the model. args are the arguments as the model sent them.
func BadArgs(args message.JSON, err *ArgError) Invocation { return Invocation{args: args, err: err} }

// Args returns the arguments: canonical if the invocation can be run.
func (i Invocation) Args() message.JSON { return i.args }

// Runner returns the runner of the call, or nil if it cannot run.
func (i Invocation) Runner() Runner { return i.runner }

// Err returns why the call cannot run, or nil.
func (i Invocation) Err() *ArgError { return i.err }

// ArgError describes an error in the arguments of a call, for the model that has to
// correct them. It never repeats a value.
type ArgError struct {
	Tool string
	// Path is the place of the error: "title", "items[2].name"; "" is the whole value.
	Path string
	// Reason names the expectation: "is required", "must be one of low, high".
	Reason string
	// Schema is the tool's input schema; the model gets it with the error.
	Schema message.JSON
}

// Error returns one line without the schema.
func (e *ArgError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: invalid arguments: %s", e.Tool, e.Reason)
	}
	return fmt.Sprintf("%s: invalid argument %s: %s", e.Tool, e.Path, e.Reason)
}

// Result returns the failed result that answers the call: the error and the
// schema to follow.
func (e *ArgError) Result() message.ToolResult {
	text := e.Error()
	if e.Schema != "" {
		text += "\nThe arguments must fit this schema: " + string(e.Schema)
	}
	return message.FailedResult(message.FailArguments, text)
}

// Env holds the facts of a call that are known only when it runs.
type Env struct {
	Call *ToolCall
	// Grant is what the call may do; the zero Grant adds no limit.
	Grant Grant
	// Attempt counts from 1; each retry by WrapTool increments it.
	Attempt int
	// Key is the same for every attempt at this call, also after a crash: pass it to
	// services that take idempotency keys. The runtime makes it of the turn's id, a
	// slash and the call's id. So a client that has seen the event of a call knows the
	// id of the inquiry that the call will make.
	Key string
	// Deadline is when ctx ends; zero if there is none.
	Deadline time.Time

	report func(text string)
}

// WithProgress returns a copy of e whose Progress calls report, from any goroutine. The runtime uses it.
func (e Env) WithProgress(report func(text string)) *Env { e.report = report; return &e }

// Progress shows clients the progress of the call, in one line. It may be called
// from any goroutine while Run runs; it never blocks for long and does nothing
// if nobody listens.
func (e *Env) Progress(text string) {
	if e.report != nil {
		e.report(text)
	}
}

// Grant limits the effects of a call. Deciders narrow it; grants are intersected,
// never widened. The zero Grant adds no limit to those that the tool's owner enforces.
type Grant struct {
	// ReadOnly: no change to files or elsewhere.
	ReadOnly bool `json:"read_only,omitzero"`
	// NoNetwork: nothing beyond this machine.
	NoNetwork bool `json:"no_network,omitzero"`
	// Root is an absolute, slash-separated path below which files may be touched;
	// "" is no limit.
	Root string `json:"root,omitzero"`
	// Timeout bounds the execution; 0 is no bound.
	Timeout time.Duration `json:"timeout,omitzero"`
	// MaxOutput bounds the output in bytes; 0 is no bound.
	MaxOutput int `json:"max_output,omitzero"`
	// Void: nothing is allowed, whatever the other fields say. Two grants with
	// disjoint roots intersect to it.
	Void bool `json:"void,omitzero"`
}

// String returns the limits in words, for people; "" for the zero Grant.
func (g Grant) String() string {
	var out []string
	add := func(on bool, text string) {
		if on {
			out = append(out, text)
		}
	}
	add(g.Void, "nothing")
	add(g.ReadOnly, "read only")
	add(g.NoNetwork, "no network")
	add(g.Root != "", "below "+g.Root)
	add(g.Timeout > 0, g.Timeout.String())
	add(g.MaxOutput > 0, fmt.Sprintf("%d bytes", g.MaxOutput))
	return strings.Join(out, ", ")
}

// Intersect returns a grant with the limits of both g and o.
func (g Grant) Intersect(o Grant) Grant {
	out := Grant{
		ReadOnly:  g.ReadOnly || o.ReadOnly,
		NoNetwork: g.NoNetwork || o.NoNetwork,
		Timeout:   tighter(g.Timeout, o.Timeout),
		MaxOutput: tighter(g.MaxOutput, o.MaxOutput),
		Void:      g.Void || o.Void,
	}
	root, ok := inner(g.Root, o.Root)
	out.Root = root
	out.Void = out.Void || !ok
	return out
}

// inner returns the narrower of two roots, where "" is no limit. If neither contains the
// other it returns false, with one of them: "" would be no limit.
func inner(a, b string) (string, bool) {
	a, b = clean(a), clean(b)
	switch {
	case a == "" || b != "" && within(b, a):
		return b, true
	case b == "" || within(a, b):
		return a, true
	}
	return min(a, b), false
}

// clean returns the shortest spelling of a root.
func clean(root string) string {
	if root == "" {
		return ""
	}
	return path.Clean(root)
}

// tighter returns the smaller of two bounds, where 0 is no bound.
func tighter[T ~int | ~int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// within reports whether p is dir or lies below it; both are clean.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// ToolError is an error of a typed tool that sets the kind of its failed result. Any
// other error is FailOperation, except the two of a context.
type ToolError struct {
	Kind message.FailureKind
	// Text is for the model.
	Text string
}

// Error returns the text.
func (e *ToolError) Error() string { return e.Text }
