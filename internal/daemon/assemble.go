package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/cost"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/guard"
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
	o.Approval.Dir, o.Approval.Project = o.Paths.Approvals(), o.Paths.Root
	d = &Daemon{
		Guard: newGuard(), Approval: approval.New(&o.Approval), AskUser: askuser.New(nil),
		Delegate: delegate.New(&delegate.Options{Agents: known}), Extra: o.Extra,
	}
	if d.Policy, err = loadPolicy(ctx, o, agents, d.Schema); err != nil {
		return nil, err
	}
	if d.Cost, err = loadPrices(o.Paths); err != nil {
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

// newGuard makes a guard without limits of its own: an agent has those of its file,
// limits and guard.
func newGuard() *guard.Guard {
	return guard.New(&guard.Options{Turn: guard.Limits{Steps: guard.Off, Tokens: guard.Off, Time: guard.Off}})
}

// loadPrices reads the user's price list; there need not be one. A project has none:
// what a person pays is not the project's to say.
func loadPrices(p Paths) (*cost.Cost, error) {
	if p.prices() == "" {
		return cost.New(&cost.Options{Quiet: true})
	}
	data, err := os.ReadFile(p.prices())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cost.New(&cost.Options{Quiet: true})
	case err != nil:
		return nil, fmt.Errorf("read the prices: %w", err)
	}
	table, err := cost.Parse(data, p.Short(p.prices()))
	if err != nil {
		return nil, err
	}
	return cost.New(&cost.Options{Prices: table})
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
