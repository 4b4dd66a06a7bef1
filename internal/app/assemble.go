package app

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/critique"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/guardrail"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
	"github.com/grapnel-go/grapnel/subsystems/structured"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
	"github.com/grapnel-go/grapnel/subsystems/undo"
)

// assembly is the result of assemble.
type assembly struct {
	*Hooks
	// hook is the composite with the configured layers: the hook of the runtime.
	hook hook.Hook
	conf configuration
}

// assemble makes the subsystems from their files. It skips those that are turned off, and does
// not read their files. The subsystems start nothing before the runtime opens them. agents are
// those of the project: assemble removes sections that nobody has approved. known returns the
// agents that tasks can be delegated to.
func assemble(ctx context.Context, o Options, agents []Agent, known func() []delegate.AgentInfo) (a assembly, err error) {
	if a.conf, err = loadLayers(ctx, o, agents); err != nil {
		return a, err
	}
	o.Approval.Store, o.Approval.Project = o.Stores.Answers(), o.Paths.Project()
	var d *Hooks
	o.Approval.Examine = func(call *hook.ToolCall) approval.Examined { return approval.Examined(d.Policy.Examine(call)) }
	d = &Hooks{
		Guard: newGuard(), Approval: approval.New(&o.Approval), AskUser: askuser.New(nil),
		Delegate: delegate.New(&delegate.Options{Agents: known}), Extra: o.Extra,
		Compact: compact.New(nil), Fallback: fallback.New(nil), Structured: structured.New(&structured.Options{Native: o.models.HasFormat}), Toolbox: toolbox.New(),
	}
	a.Hooks = d
	for _, m := range []struct {
		field string
		load  func() error
	}{
		{"Secure", func() error { d.Secure = newSecure(func() *policy.Policy { return d.Policy }); return nil }},
		{"MCP", func() (err error) { d.MCP, err = loadMCP(ctx, o); return err }},
		{"Policy", func() (err error) { d.Policy, err = loadPolicy(ctx, o, agents, d, a.named); return err }},
		{"Cost", func() (err error) { d.Cost, err = loadPrices(o.Paths); return err }},
		{"Audit", func() (err error) { d.Audit, err = newAudit(o); return err }},
		{"Skills", func() (err error) { d.Skills, err = loadSkills(ctx, o, d.Delegate); return err }},
		{"Instructions", func() error { d.Instructions = newInstructions(o); return nil }},
		{"Guardrail", func() error { d.Guardrail = guardrail.New(nil); return nil }},
		{"Critique", func() error { d.Critique = critique.New(); return nil }},
		{"Sessions", func() error { d.Sessions = newSessions(o); return nil }},
		{"Tasks", func() error { d.Tasks = tasks.New(); return nil }},
		{"Undo", func() error { d.Undo = undo.New(o.turns, &undo.Options{Except: unchanging()}); return nil }},
		{"Memory", func() (err error) { d.Memory, err = loadMemories(ctx, o, agents); return err }},
		{"Schedule", func() (err error) {
			if o.Schedules {
				d.Schedule, err = o.Stores.schedules(ctx, schedule.Options{Run: o.scheduled, Ready: o.ready, Note: o.Note})
			}
			return err
		}},
		{"OS", func() (err error) {
			d.OS, err = ostools.New(o.Paths.Root, &ostools.Options{Readable: o.Paths.skillDirs(), Supervisor: o.processes.commands, Sandbox: o.processes.sandbox})
			return err
		}},
	} {
		if a.conf.off(m.field) {
			continue
		}
		if err := m.load(); err != nil {
			return a, errors.Join(err, a.discard(ctx))
		}
	}
	a.hook, err = d.Compose().Layered(a.conf.layers...)
	if err == nil && a.Policy != nil {
		// A rule for a tool that does not exist must not fail the registration of the
		// first agent.
		_, err = a.Policy.OnBuildAgent(ctx, hook.AgentConfig{})
	}
	if err != nil {
		return a, errors.Join(err, a.discard(ctx))
	}
	return a, nil
}

func loadMCP(ctx context.Context, o Options) (*mcp.MCP, error) {
	servers, err := loadServers(ctx, o)
	if err != nil {
		return nil, err
	}
	return mcp.New(servers, &mcp.Options{Dir: o.Paths.Root, Allow: allowServer(o), Supervisor: o.processes.commands, Sandbox: o.processes.sandbox, Notice: o.Note})
}

// discard closes subsystems that the runtime has not opened.
func (a *assembly) discard(ctx context.Context) error {
	var errs []error
	if a.OS != nil {
		errs = append(errs, a.OS.Close())
	}
	if a.Memory != nil {
		errs = append(errs, a.Memory.OnClose(ctx))
	}
	if a.Schedule != nil {
		errs = append(errs, a.Schedule.OnClose(ctx))
	}
	return errors.Join(errs...)
}

// named returns the tools that a rule may name: all tools, and those of subsystems that are
// turned off, so that turning one off needs no change of the rules.
func (a *assembly) named() []message.Tool {
	out := a.hook.Schema()
	for _, d := range a.conf.plan.Off {
		for _, name := range a.Compose().Plan().Member(d.Field).Tools {
			out = append(out, message.Tool{Name: name})
		}
	}
	return out
}

// newGuard returns a guard without limits: an agent has those of its file, limits and guard.
func newGuard() *guard.Guard {
	return guard.New(&guard.Options{Turn: guard.Limits{Steps: guard.Off, Tokens: guard.Off, Time: guard.Off}})
}
