package directive

import "time"

// The grammar: one struct per directive. Parser, hookgen explain and documentation are made from these structs; the doc comments
// are the manual. A field's tag is the option's name; "…args" takes all words that are no option, "…word" one of them.

// Composite marks a struct of hooks. Generated are the nine methods of hook.Hook, DispatchAll, and Compose, which
// returns the composite with all points of the members. Fields are configured by their tag `hook:"…"`.
type Composite struct{}

// Subsystem marks the type whose methods may be tools. Its Schema and Dispatch are generated. Its options for order, requirements and
// policies apply to every field of the type in any composite, unless the field's tag overrides them. T is a type with the
// name of its package, or one of this package; several are joined by commas.
type Subsystem struct {
	// Prefix precedes every tool name that is made from a method's name.
	Prefix string `option:"prefix"`
	// Dynamic: the tools are known only at run time. Schema and Dispatch are written by hand, and a composite tries the
	// subsystem after all owners of static tools.
	Dynamic bool `option:"dynamic"`
	// Order is the place in a composite: a number, lower first, 100 by default.
	Order int `option:"order"`
	// Version is that of the subsystem, a number from 1, which is the default. Raise it when the meaning of its queued calls changes.
	Version int `option:"version"`
	// Accepts is the oldest version whose queued calls the subsystem still takes; by default only its own.
	Accepts int `option:"accepts"`
	// Requires are types of which the composite must have a field: skills.Skills.
	Requires []string `option:"requires"`
	// Before are types whose fields come after this one's.
	Before []string `option:"before"`
	// After are types whose fields come before this one's.
	After []string `option:"after"`
	// Timeout bounds points: BeforeTool:2s,AfterTool:500ms.
	Timeout []string `option:"timeout"`
	// FailOpen are points at which a failure counts as no opinion: BeforeTool,AfterTool.
	FailOpen []string `option:"failopen"`
	// FailClosed are points at which a failure blocks.
	FailClosed []string `option:"failclosed"`
}

// Tool makes a method a tool of its subsystem: (ctx[, env *hook.Env][, in T]) (out, error), or only error. The method's doc
// comment is the description that the model sees. It makes the receiver's type a subsystem, with //hook:subsystem or without;
// the type is a hook.Hook, which it becomes by embedding hook.Nop.
type Tool struct {
	// Name is the tool's name; without it, prefix and method name in snake_case.
	Name string `option:"name"`
	// ReadOnly: the tool changes nothing.
	ReadOnly bool `option:"readonly"`
	// Destructive: the tool may overwrite or delete.
	Destructive bool `option:"destructive"`
	// Idempotent: a second call with the same arguments changes nothing more.
	Idempotent bool `option:"idempotent"`
	// OpenWorld: the tool reaches beyond this machine or runs code of others.
	OpenWorld bool `option:"openworld"`
	// Waits: the tool waits for a person or another agent and takes no execution slot.
	Waits bool `option:"waits"`
	// Timeout bounds one execution: 30s, 2m.
	Timeout time.Duration `option:"timeout"`
	// Exclusive is a key: calls with the same key never overlap.
	Exclusive string `option:"exclusive"`
	// MaxResult bounds the text of a result, in bytes.
	MaxResult int `option:"maxresult"`
	// Trust is where results are from that do not say so themselves, failures included: trusted, workspace or external, which is
	// the default. Trusted is what the subsystem itself says.
	Trust string `option:"trust" oneof:"trusted workspace external"`
}

// Tools names the tools of a subsystem whose Schema and Dispatch are written by hand, so that a composite can route to them.
type Tools struct {
	// Names are the tools' names.
	Names []string `option:"…args" example:"read write"`
}

// Enum says that the constants of a named string or integer type are all of its values. It is the default for a type with
// constants in its package; with open, other values are allowed too.
type Enum struct {
	// Open: other values than the constants are allowed.
	Open bool `option:"open"`
}

// Schema describes the JSON that a type with its own UnmarshalJSON or UnmarshalText reads, in JSON Schema on the rest of the line:
// above the type, or above an input field with a type of another package. The decoder checks it before it calls the type's method, so
// only keywords that generated code checks are allowed: type (one or several), description, enum of strings and integers,
// minLength, maxLength, pattern, format, minimum, maximum, items, minItems, maxItems, and properties with required and
// additionalProperties.
type Schema struct {
	// JSON is the schema: {"type":"string","pattern":"^[0-9]+$"}.
	JSON string `option:"…rest" example:"{\"type\":\"string\"}"`
}

// Point declares a point of the lifecycle; only in package hook, on a method of Hook or on a one-method interface.
type Point struct {
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string `option:"…word" oneof:"facade contribute rewrite decide wrap observe"`
	// Combine is the rule that combines the answers of several hooks.
	Combine string `option:"…word" oneof:"union join fold gate judge first nest each"`
	// Reverse: the last hook comes first.
	Reverse bool `option:"reverse"`
	// Bracket: the point is one end of a pair, as OnOpen and OnClose are: a hook called at one end is called at the other.
	Bracket bool `option:"bracket"`
	// FailClosed: a hook's own failure counts as a denial.
	FailClosed bool `option:"failclosed"`
	// Answer is the answer of the closed fail policy: deny. Without it a failed decider has no opinion.
	Answer string `option:"answer" example:"deny"`
	// FailOpen: a hook's own failure counts as if the hook were absent.
	FailOpen bool `option:"failopen"`
	// Timeout is how long a hook may take if its tag does not say: 5s.
	Timeout time.Duration `option:"timeout"`
}

// Ignore silences these codes on the line below and in the declaration that it documents: up to its first line, and in all lines of a
// type. It silences warnings, findings of the analyzer, and errors about methods that may be intended; no other code.
type Ignore struct {
	// Codes are codes such as HG013.
	Codes []string `option:"…args" example:"HG013"`
}
