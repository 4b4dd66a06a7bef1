// Package laws holds the composition laws of DESIGN.md as properties: what a
// composite of any hooks has to do, written down once more and compared with the
// generated and the dynamic composite over random sets of hooks. There is a test file
// for each law, with composites beside it that break the law and have to be caught.
// Laws 12 and 13 are package runtime's.
package laws

import (
	"context"

	"github.com/grapnel-go/grapnel/hook"
)

//go:generate go tool hookgen .

// Actor has every point, and tools that are known at run time: those of its part.
//
//hook:subsystem dynamic
type Actor struct{ Part }

// Six is a composite of up to six hooks: the policies of C are open everywhere, E
// fails closed where it contributes, and B and F have a second to answer.
//
//hook:ignore HG047
//hook:composite
type Six struct {
	A *Actor `hook:"optional"`
	B *Actor `hook:"optional; OnSessionStart: timeout=1s; BeforeTurn: timeout=1s; TurnPolicy: timeout=1s; TurnContext: timeout=1s; RefineContext: timeout=1s; TurnTools: timeout=1s; PromptSections: timeout=1s; BeforeStep: timeout=1s; RewriteRequest: timeout=1s; BeforeModel: timeout=1s; OnModelError: timeout=1s; RewriteReply: timeout=1s; AfterModel: timeout=1s; OnInvalidTool: timeout=1s; RewriteArgs: timeout=1s; BeforeTool: timeout=1s; Approve: timeout=1s; RewriteResult: timeout=1s; AfterTool: timeout=1s; AfterStep: timeout=1s; OnStop: timeout=1s; OnTurnError: timeout=1s; BeforeCompaction: timeout=1s"`
	C *Actor `hook:"optional; OnSessionStart: failopen; BeforeTurn: failopen; BeforeStep: failopen; RewriteRequest: failopen; BeforeModel: failopen; OnModelError: failopen; RewriteReply: failopen; AfterModel: failopen; OnInvalidTool: failopen; RewriteArgs: failopen; BeforeTool: failopen; Approve: failopen; RewriteResult: failopen; AfterTool: failopen; AfterStep: failopen; OnStop: failopen; OnTurnError: failopen; BeforeCompaction: failopen"`
	D *Actor `hook:"optional"`
	E *Actor `hook:"optional; TurnPolicy: failclosed; TurnContext: failclosed; RefineContext: failclosed; TurnTools: failclosed; PromptSections: failclosed"`
	F *Actor `hook:"optional; BeforeTool: timeout=1s; AfterTool: timeout=1s; RewriteArgs: timeout=1s; TurnContext: timeout=1s,parallel"`
}

// Nest has the fields of Six again, the middle ones in a composite and in a group:
// B and C keep the policies that they have there, D and E share those of the group.
//
//hook:ignore HG047
//hook:composite
type Nest struct {
	A     *Actor      `hook:"optional"`
	Core  *Core       `hook:"optional"`
	Extra []hook.Hook `hook:"TurnPolicy: failclosed; TurnContext: failclosed; RefineContext: failclosed; TurnTools: failclosed; PromptSections: failclosed"`
	F     *Actor      `hook:"optional; BeforeTool: timeout=1s; AfterTool: timeout=1s; RewriteArgs: timeout=1s; TurnContext: timeout=1s,parallel"`
}

// Core is a member of Nest.
//
//hook:ignore HG047
//hook:composite
type Core struct {
	B *Actor `hook:"optional; OnSessionStart: timeout=1s; BeforeTurn: timeout=1s; TurnPolicy: timeout=1s; TurnContext: timeout=1s; RefineContext: timeout=1s; TurnTools: timeout=1s; PromptSections: timeout=1s; BeforeStep: timeout=1s; RewriteRequest: timeout=1s; BeforeModel: timeout=1s; OnModelError: timeout=1s; RewriteReply: timeout=1s; AfterModel: timeout=1s; OnInvalidTool: timeout=1s; RewriteArgs: timeout=1s; BeforeTool: timeout=1s; Approve: timeout=1s; RewriteResult: timeout=1s; AfterTool: timeout=1s; AfterStep: timeout=1s; OnStop: timeout=1s; OnTurnError: timeout=1s; BeforeCompaction: timeout=1s"`
	C *Actor `hook:"optional; OnSessionStart: failopen; BeforeTurn: failopen; BeforeStep: failopen; RewriteRequest: failopen; BeforeModel: failopen; OnModelError: failopen; RewriteReply: failopen; AfterModel: failopen; OnInvalidTool: failopen; RewriteArgs: failopen; BeforeTool: failopen; Approve: failopen; RewriteResult: failopen; AfterTool: failopen; AfterStep: failopen; OnStop: failopen; OnTurnError: failopen; BeforeCompaction: failopen"`
}

// Keeper owns two tools that are known when the composite is generated.
//
//hook:subsystem
type Keeper struct {
	hook.Nop
	// Ran is told which tool has run.
	Ran func(tool string)
}

// Read reads.
//
//hook:tool name=read
func (k *Keeper) Read(context.Context) error { k.Ran("read"); return nil }

// Write writes.
//
//hook:tool name=write
func (k *Keeper) Write(context.Context) error { k.Ran("write"); return nil }

// Owners has owners of every kind: of static tools, with and without a prefix, and of
// tools that are known at run time.
//
//hook:ignore HG047
//hook:composite
type Owners struct {
	D     *Actor
	K     *Keeper
	P     *Keeper `hook:"prefix=p_"`
	Q     *Actor  `hook:"prefix=q_"`
	Extra []hook.Hook
}
