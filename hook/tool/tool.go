// Package tool makes typed tools from functions, without the generator: for programs that
// embed a runtime and offer a few functions.
//
//	weather := tool.New("weather", "Weather says how the weather is in a city.", lookUp, nil)
//	rt := runtime.New(tool.Set(weather), model, nil)
//
// Tools with state, a prompt or decisions, and tools that use the [hook.Env] of a call, are
// methods of a subsystem. For those hookgen generates the same without reflection, and checks
// it before the program runs. The structs of arguments work with both: they have the same
// schema, the same strict decoder (composite/args) and the same tags
// (docs/hookgen-reference.md). One difference: the description of an argument stands in the
// tag, because the program does not contain comments:
//
//	type Query struct {
//		City string `json:"city" hook:"minlen=1,description=The city's name."`
//		Days int    `json:"days" hook:"min=1,max=7,default=1,description='How many days, from today on.'"`
//		Unit Unit   `json:"unit,omitzero" hook:"enum=celsius|kelvin,description=The unit of temperatures."`
//	}
//
// For the same reason constants of a type are no enum: the tag has to list them, as with
// Unit. A field whose type has an UnmarshalJSON is refused, because //hook:schema, which
// would declare its schema, is a comment too.
package tool

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Options are the properties of a tool other than its name and description, like the
// options of //hook:tool. Nil is the zero Options.
type Options struct {
	// Annotations are claims about the tool's effects, for policies and people. The zero
	// Annotations claim nothing.
	Annotations message.Annotations
	// Timeout bounds one execution, counted from its start; 0 is no bound of the tool's
	// own.
	Timeout time.Duration
	// Exclusive is a key: calls with the same non-empty key never overlap, even of
	// different tools.
	Exclusive string
	// MaxResult bounds the text of a result in bytes; 0 is the runtime's default.
	MaxResult int
	// Trust is the label of results that have none, failures included; "" is external. Trusted is what the program itself says.
	Trust message.Trust
	// Waits: the tool waits for a person or another agent and takes no execution slot.
	Waits bool
}

// Tool is a function with a name, a description and the schema of its arguments. Make it
// with [New] and offer it with [Set]. It never changes, and is safe for concurrent use.
type Tool struct {
	described message.Tool
	bind      func(*hook.ToolCall) hook.Invocation
}

// New returns the tool that calls run. In is a struct, the arguments; struct{} takes
// none. run gets arguments that fit the schema, in a value of its own. It is called
// concurrently with itself, on goroutines of the runtime, and should return soon after
// its context has ended.
//
// Out becomes a result as with generated tools: a string is text, a [message.ToolResult]
// stays as it is, and anything else is written by encoding/json. An error is a failed
// result that the model reads; a *[hook.ToolError] says of which kind.
//
// New reads the types once. It panics on a mistake in the program: the name does not match
// ^[a-zA-Z0-9_-]{1,64}$, In is no struct, a field has a type or a tag that arguments
// cannot have, run is nil, or a bound is negative.
func New[In, Out any](name, description string, run func(context.Context, In) (Out, error), o *Options) *Tool {
	if o == nil {
		o = &Options{}
	}
	switch {
	case name == "":
		refuse(name, "the tool has no name")
	case !message.ValidToolName(name):
		refuse(name, "the name has to match ^[a-zA-Z0-9_-]{1,64}$")
	case run == nil:
		refuse(name, "there is no function to run")
	case o.Timeout < 0 || o.MaxResult < 0:
		refuse(name, "a bound is negative")
	}
	in, err := inputOf(reflect.TypeFor[In]())
	if err != nil {
		refuse(name, err.Error())
	}
	described := message.Tool{
		Name: name, Description: description, Input: in.text, Output: outputOf(reflect.TypeFor[Out]()),
		Annotations: o.Annotations, Timeout: o.Timeout, Exclusive: o.Exclusive, MaxResult: o.MaxResult, Trust: o.Trust, Waits: o.Waits,
	}
	return &Tool{described, func(c *hook.ToolCall) hook.Invocation {
		bound := &call[In, Out]{run: run}
		d := args.New(c, in.text)
		in.read(&d, reflect.ValueOf(&bound.in).Elem())
		return d.Bind(bound)
	}}
}

func refuse(name, why string) { panic(fmt.Sprintf("tool: New %q: %s", name, why)) }

// call is a bound call.
type call[In, Out any] struct {
	run func(context.Context, In) (Out, error)
	in  In
}

// Run implements [hook.Runner].
func (c *call[In, Out]) Run(ctx context.Context, _ *hook.Env) message.ToolResult {
	return composite.Reply(c.run(ctx, c.in))
}

// Set returns a hook that has these tools, in this order, and nothing else. It may be
// the only hook of a runtime, or a member of a composite in a field of type hook.Hook
// or []hook.Hook, beside subsystems with generated tools. A tool may be in several sets.
//
// Set panics if a tool is nil or two have the same name. If another member of the composite
// has a tool of that name, [composite.Composite.Ready] returns an error when a runtime opens;
// a prefix in the field's tag avoids that.
func Set(tools ...*Tool) hook.Hook {
	s := &set{owned: make(map[string]*Tool, len(tools))}
	for i, t := range tools {
		switch {
		case t == nil:
			panic(fmt.Sprintf("tool: Set: tool %d is nil", i))
		case s.owned[t.described.Name] != nil:
			panic(fmt.Sprintf("tool: Set: two tools are named %q", t.described.Name))
		}
		s.owned[t.described.Name] = t
		s.schema = append(s.schema, t.described)
	}
	return s
}

type set struct {
	hook.Nop
	schema []message.Tool
	owned  map[string]*Tool
}

// Schema implements [hook.Hook].
func (s *set) Schema() []message.Tool { return s.schema[:len(s.schema):len(s.schema)] }

// FixedTools declares that Schema never changes, so that a composite checks the names when
// it is opened.
func (s *set) FixedTools() {}

// Dispatch implements [hook.Hook].
func (s *set) Dispatch(_ context.Context, c *hook.ToolCall) (hook.Invocation, bool) {
	t, ok := s.owned[c.Name()]
	if !ok {
		return hook.Invocation{}, false
	}
	return t.bind(c), true
}
