// Package app assembles the program: it reads the configuration, makes the subsystems, and
// joins them into one composite by generated code. Commands and the server open one [App]
// and run agents with it.
package app

import (
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/audit"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/cost"
	"github.com/grapnel-go/grapnel/subsystems/critique"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/guardrail"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
	"github.com/grapnel-go/grapnel/subsystems/secure"
	"github.com/grapnel-go/grapnel/subsystems/sessions"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/structured"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
	"github.com/grapnel-go/grapnel/subsystems/undo"
)

//go:generate go tool hookgen plan -o ../../docs/daemon-plan.md .

// Hooks is the composite of all subsystems. They act in the order of the fields; results,
// replies and the end of the process pass them in reverse order.
//
//hook:composite
type Hooks struct {
	// Secure is first: no other hook changes what it denies or sends to approval, and it sees results and replies as all others
	// have left them.
	Secure *secure.Secure `hook:"before=*"`
	// Policy is next, so that no other subsystem changes what it denies or sends to approval.
	Policy *policy.Policy
	// Guard counts a call that the rules allow, before anybody approves it.
	Guard *guard.Guard
	// Approval decides about calls that need approval, by new and remembered answers. Its
	// timeout is an option and not in the tag: an operator sets it, and it is no failure.
	Approval *approval.Approval
	// Guardrail sees an input before others expand it, and a reply after all others have written it.
	Guardrail *guardrail.Guardrail `hook:"optional"`
	// Instructions has the project's AGENTS.md and its relatives for the prompt of each turn.
	Instructions *instructions.Instructions `hook:"optional"`
	// Skills expands /name before other subsystems read the input.
	Skills *skills.Skills `hook:"after=Guardrail"`
	// AskUser and Delegate reach people and other agents. Their place is that of their text in
	// the prompt: after what the agent knows, before what it can do itself.
	AskUser  *askuser.AskUser
	Delegate *delegate.Delegate
	// Memory opens before and closes after the subsystems whose events it may have to
	// record: a server that stops, a command that still runs. It bounds its own waiting, so that
	// it costs nothing where it is off: a timeout of the composite has a goroutine and two timers.
	Memory *memory.Memory `hook:"optional; TurnPolicy: timeout=none; TurnContext: timeout=none; RefineContext: timeout=none; TurnTools: timeout=none; PromptSections: timeout=none"`
	// Tasks has the plan and the tasks of a conversation. Its text stands beside what the agent
	// remembers, and waits for nothing.
	Tasks *tasks.Tasks `hook:"optional; TurnContext: timeout=none"`
	// Sessions searches past conversations, beside Memory, which has what was kept of them.
	Sessions *sessions.Sessions `hook:"optional"`
	// MCP has tools that are known only at run time. They are routed after all static
	// tools, whatever its place.
	MCP *mcp.MCP
	// OS is the innermost owner of tools: it runs what the others have decided.
	OS *ostools.OS
	// Undo takes its snapshots next to the tools: when all others have allowed a call.
	Undo *undo.Undo `hook:"optional"`
	// Cost gets the end of a step first, so that the others can read the cost.
	Cost *cost.Cost
	// Audit records what was decided and done. It waits for its file, and has no other timeout.
	Audit *audit.Audit `hook:"optional"`
	// Toolbox replaces schemas by a search, after Skills has narrowed the tools and before Compact
	// measures the request.
	Toolbox *toolbox.Toolbox `hook:"optional,after=Skills,after=MCP"`
	// Critique lets a second model judge a final answer, after Structured has looked at its form.
	Critique *critique.Critique `hook:"optional"`
	// Compact makes room in requests, and Fallback chooses the model of each: both before
	// Structured, which asks whether that model has a format of its own.
	Compact  *compact.Compact   `hook:"after=Toolbox"`
	Fallback *fallback.Fallback `hook:"after=Compact"`
	// Structured is next to the model: it sees a request as the others have left it, and a
	// reply before them.
	Structured *structured.Structured `hook:"after=Fallback"`
	// Schedule begins turns and acts in none. A program that does not run for long has none.
	Schedule *schedule.Schedule `hook:"optional"`
	// Extra are hooks that a program adds at run time. They are last, so that they cannot
	// come between a request for approval and its answer.
	Extra []hook.Hook
}
