// Package app puts the program together: the composite of all subsystems, which the
// generator joins into one hook, and its assembly from what is on disk. Commands and the
// server open one [App] and run agents with it.
package app

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/cost"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

//go:generate go tool hookgen plan -o ../../docs/daemon-plan.md .

// Hooks is everything that the program offers to an agent, as one hook. The
// order of the fields is the order in which they act; what goes out (results,
// replies, the end of the process) goes through them in reverse.
//
//hook:composite
type Hooks struct {
	// Policy comes first, so that what is denied and what needs approval does not
	// depend on anything behind it.
	Policy *policy.Policy
	// Guard counts a call that the rules let pass, before anybody is asked about it.
	Guard *guard.Guard
	// Approval answers what has to be approved, by what people say and have said. Its
	// timeout is an option, and not in the tag: an operator sets it, and a timeout is
	// no failure.
	Approval *approval.Approval
	// Skills expands /name before anybody else reads the input.
	Skills *skills.Skills
	// AskUser and Delegate act at no point: they own a tool each, and what they reach
	// is beyond the composite, people and other agents. They stand where the prompt
	// is to speak of both, behind what an agent knows and before what it can do
	// itself.
	AskUser  *askuser.AskUser
	Delegate *delegate.Delegate
	// Memory is opened before and closed after the subsystems whose events it
	// could have to note: a server that is being stopped, a command that still
	// runs.
	Memory *memory.Memory `hook:"optional"`
	// MCP has tools that are only known at run time; they are routed after all
	// static ones wherever it stands.
	MCP *mcp.MCP
	// OS is innermost of what has tools: it does what the others have decided.
	OS *ostools.OS
	// Cost is told of a step before all others, so that they can read what it cost.
	Cost *cost.Cost
	// Extra are hooks that a program adds at run time. They come last and so
	// cannot get between the question and the answer of those above, which is always
	// one: none of theirs is asked to approve.
	Extra []hook.Hook
}
