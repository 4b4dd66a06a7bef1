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
// have: final_answer is kept for the runtime, where a provider has no response
// format of its own, and multi_tool_use is what some models call on their own to
// bundle calls.
const ReservedTools = "final_answer multi_tool_use"

// Scope is a hook's answer to "which of your tools may this agent use?".
type Scope struct {
	// Tools are local names. Nil means all; empty and non-nil means none.
	Tools []string
	// Line is added to the prompt's <scope> block; "" adds nothing.
	Line string
}

// Restricted reports whether the scope narrows anything.
func (s Scope) Restricted() bool { return s.Tools != nil }

// Runner runs a bound call. Run is called at most once per approval, concurrently
// with the other calls of the step, on a goroutine of its own. It ends soon after ctx
// does. A failure is a result, not a panic.
type Runner interface {
	Run(ctx context.Context, env *Env) message.ToolResult
}

// Invocation is a call that Dispatch has bound: the arguments as everyone from
// here on sees them, and either a way to run it or the reason why it cannot be
// run. The zero Invocation cannot be run.
//
// It is four words: the compiler keeps it in registers on its way from the owner
// through the composites above. With a word more each of them would copy it in
// memory, which takes longer than finding the owner does.
type Invocation struct {
	args message.JSON
	// runner also says what is rare, by its type: unread or refused.
	runner Runner
}

// unread is the runner of a call for whose arguments nobody vouches.
type unread struct{ Runner }

// refused stands where a call that cannot be run has no runner.
type refused struct{ err *ArgError }

// Run answers as the runtime does, which does not run such a call.
func (r refused) Run(context.Context, *Env) message.ToolResult { return r.err.Result() }

// Bound returns an invocation that can be run. args are the canonical arguments
// from which r was made. It allocates once; [Parsed] does not.
func Bound(args message.JSON, r Runner) Invocation { return Invocation{args: args, runner: unread{r}} }

// Parsed is Bound for an owner that has read the call's arguments to their end and
// vouches that they are one JSON text. The runtime reads them itself where nobody
// does: what is no JSON never runs.
func Parsed(args message.JSON, r Runner) Invocation { return Invocation{args: args, runner: r} }

// BadArgs returns an invocation that cannot be run, with the error that the
// model is told. args are the arguments as they came.
func BadArgs(args message.JSON, err *ArgError) Invocation {
	return Invocation{args: args, runner: refused{err}}
}

// Args returns the arguments: canonical if the invocation can be run.
func (i Invocation) Args() message.JSON { return i.args }

// Runner returns what runs the call, or nil if it cannot be run.
func (i Invocation) Runner() Runner {
	switch r := i.runner.(type) {
	case unread:
		return r.Runner
	case refused:
		return nil
	}
	return i.runner
}

// Parsed reports whether the owner vouches that the call's arguments are JSON. It is
// false if the call cannot be run.
func (i Invocation) Parsed() bool {
	switch i.runner.(type) {
	case nil, unread, refused:
		return false
	}
	return true
}

// Err returns why the call cannot be run, or nil.
func (i Invocation) Err() *ArgError {
	r, _ := i.runner.(refused)
	return r.err
}

// ArgError says what is wrong with the arguments of a call, for the model that
// has to mend them. It never repeats a value.
type ArgError struct {
	Tool string
	// Path is where: "title", "items[2].name"; "" is the whole value.
	Path string
	// Reason is what is expected: "is required", "must be one of low, high".
	Reason string
	// Schema is the tool's input schema; it goes back to the model with the error.
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

// Env is what is known of a call only when it runs.
type Env struct {
	Call *ToolCall
	// Grant is what the call may do; the zero Grant adds no limit.
	Grant Grant
	// Attempt counts from 1; a retry by WrapTool counts on.
	Attempt int
	// Key is the same for every attempt at this call, also after a crash: hand it
	// to a service that knows idempotency keys. The runtime makes it of the turn's
	// id, a slash and the call's id, so that who has seen the event of a call knows
	// the id of the inquiry that the call will make.
	Key string
	// Deadline is when ctx ends; zero if there is none.
	Deadline time.Time

	reporter Reporter
}

// Reporter is told how far a call is.
type Reporter interface{ Report(text string) }

// WithReporter returns a copy of e whose Progress tells r. The runtime uses it.
func (e Env) WithReporter(r Reporter) *Env { e.reporter = r; return &e }

// WithProgress is WithReporter with a function.
func (e Env) WithProgress(report func(text string)) *Env { return e.WithReporter(progressFunc(report)) }

type progressFunc func(text string)

// Report implements Reporter.
func (f progressFunc) Report(text string) { f(text) }

// Progress tells the clients how far the call is, in one line. It may be called
// from any goroutine while Run runs; it never blocks for long and does nothing
// where nobody listens.
func (e *Env) Progress(text string) {
	if e.reporter != nil {
		e.reporter.Report(text)
	}
}

// Grant is what a call is allowed to do beyond its arguments. Deciders narrow
// it; grants are intersected, never widened. The zero Grant adds no limit to
// what the tool's owner enforces anyway.
type Grant struct {
	// ReadOnly: no change to files or elsewhere.
	ReadOnly bool
	// NoNetwork: nothing beyond this machine.
	NoNetwork bool
	// Root is an absolute, slash-separated path below which files may be touched;
	// "" is no limit.
	Root string
	// Timeout bounds the execution; 0 is no bound.
	Timeout time.Duration
	// MaxOutput bounds the output in bytes; 0 is no bound.
	MaxOutput int
	// Void: nothing is allowed, whatever the other fields say. Two grants with
	// disjoint roots intersect to it.
	Void bool
}

// Intersect returns what both g and o allow.
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

// inner returns the narrower of two roots, where "" is no limit; if neither lies
// in the other, it returns one of them, so that nobody mistakes the result for no
// limit, and false.
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

// ToolError is the error by which a typed tool says what kind of failure its
// result is. Any other error is FailOperation, except the two of a context.
type ToolError struct {
	Kind message.FailureKind
	// Text is what the model reads.
	Text string
}

// Error returns the text.
func (e *ToolError) Error() string { return e.Text }
