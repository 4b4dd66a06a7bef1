package daemon

import (
	"context"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// assemble makes the subsystems of what is on disk. They start nothing yet: the
// runtime opens them. agents are those of the project, whose rules may be taken
// back; known are those that there are to delegate to.
func assemble(ctx context.Context, o Options, agents []Agent, known func() []delegate.AgentInfo) (d *Daemon, err error) {
	servers, err := loadServers(ctx, o)
	if err != nil {
		return nil, err
	}
	o.Approval.Dir, o.Approval.Project = o.Paths.approvals(), o.Paths.Root
	d = &Daemon{
		Approval: approval.New(&o.Approval), AskUser: askuser.New(nil),
		Delegate: delegate.New(&delegate.Options{Agents: known}), Extra: o.Extra,
	}
	if d.Policy, err = loadPolicy(ctx, o, agents, d.Schema); err != nil {
		return nil, err
	}
	if d.MCP, err = mcp.New(servers, &mcp.Options{Dir: o.Paths.Root, Allow: allowServer(o)}); err != nil {
		return nil, err
	}
	if d.Skills, err = loadSkills(o); err != nil {
		return nil, err
	}
	if d.Memory, err = memory.Open(ctx, o.Paths.Memories, nil); err != nil {
		return nil, damaged(o.Paths.Memories, err)
	}
	d.OS, err = ostools.New(o.Paths.Root, &ostools.Options{Readable: o.Paths.skillDirs()})
	if err != nil {
		return nil, errors.Join(err, d.Memory.OnClose(ctx))
	}
	// A rule for a tool that does not exist is no mistake of the agent that is
	// registered first.
	if _, err = d.Policy.OnBuildAgent(ctx, hook.AgentConfig{}); err != nil {
		return nil, errors.Join(err, d.OS.Close(), d.Memory.OnClose(ctx))
	}
	return d, nil
}

// loadSkills makes the skills of the project, of the user and of the program
// itself, which are written to the state directory so that their scripts can be
// run.
func loadSkills(o Options) (*skills.Skills, error) {
	if err := skills.WriteBundled(o.Paths.bundledSkills()); err != nil {
		return nil, err
	}
	s := skills.New(&skills.Options{Dirs: o.Paths.skillDirs()})
	for _, w := range s.Warnings() {
		o.Note(w)
	}
	return s, nil
}
