package differential

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Files owns two tools and has every point.
//
//hook:subsystem
type Files struct{ Member }

// ReadInput is the input of read.
type ReadInput struct {
	// Path to read.
	Path string `json:"path"`
}

// Read reads a file.
//
//hook:tool name=read readonly
func (f *Files) Read(_ context.Context, in ReadInput) (string, error) {
	f.Log.Add(f.Name + ".read(" + in.Path + ")")
	return f.Name + " read " + in.Path, nil
}

// Write writes a file.
//
//hook:tool name=write destructive
func (f *Files) Write(_ context.Context, in ReadInput) error {
	f.Log.Add(f.Name + ".write(" + in.Path + ")")
	return &hook.ToolError{Kind: message.FailNotFound, Text: "no " + in.Path}
}

// Notes owns one tool and has every point.
//
//hook:subsystem
type Notes struct{ Member }

// Add adds a note.
//
//hook:tool name=add
func (n *Notes) Add(_ context.Context, in struct {
	// Text of the note.
	Text string `json:"text"`
}) (string, error) {
	n.Log.Add(n.Name + ".add(" + in.Text + ")")
	return n.Name + " added " + in.Text, nil
}

// Quiet has one tool and one point.
//
//hook:subsystem
type Quiet struct {
	hook.Nop
	member Member
}

// NewQuiet returns a Quiet that does as m does.
func NewQuiet(m Member) *Quiet { return &Quiet{member: m} }

// Hush says nothing.
//
//hook:tool name=hush
func (q *Quiet) Hush(context.Context) error { return nil }

// OnEvent implements hook.Hook.
func (q *Quiet) OnEvent(ctx context.Context, ev hook.Event) { q.member.OnEvent(ctx, ev) }

// Late owns tools that are known only at run time.
//
//hook:subsystem dynamic
type Late struct {
	Member
	Names []string
	// Broken: the tools cannot be told.
	Broken bool
}

// Schema implements hook.Hook.
func (l *Late) Schema() []message.Tool {
	if l.Broken {
		panic(l.Name + " has lost its tools")
	}
	var out []message.Tool
	for _, n := range l.Names {
		out = append(out, message.Tool{Name: n})
	}
	return out
}

// Dispatch implements hook.Hook.
func (l *Late) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	for _, n := range l.Names {
		if n == call.Name() {
			return hook.Bound(call.Args(), lateCall{l, n}), true
		}
	}
	return hook.Invocation{}, false
}

type lateCall struct {
	l    *Late
	tool string
}

func (c lateCall) Run(context.Context, *hook.Env) message.ToolResult {
	return message.TextResult(c.l.Name + " ran " + c.tool)
}

// Core is nested.
//
//hook:composite
type Core struct {
	Guard *Files `hook:"order=200,prefix=g_"`
	Notes *Notes
}

// Welded has everything a composite can have.
//
//hook:ignore HG047
//hook:composite
type Welded struct {
	First *Files `hook:"optional; AfterTool: failopen"`
	Core  *Core  `hook:"prefix=core_"`
	Users *Notes `hook:"prefix=users_; BeforeTool: failopen; RewriteArgs: failopen; WrapTool: failopen; WrapModel: failopen; Preprocess: failopen"`
	Front *Notes `hook:"before=First"`
	Plain Core   `hook:"prefix=plain_"`
	Quiet *Quiet `hook:"optional"`
	Run   *Late
	Any   hook.Hook `hook:"optional"`
	Extra []hook.Hook

	// Ignored has hook methods but takes no part.
	Ignored *Notes `hook:"-"`
	// Debug is no hook.
	Debug bool
}
