package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
)

// maxInstructions limits the project's instructions in a prompt, in bytes: about 8,000 tokens.
const maxInstructions = 32 << 10

// contributions leave room for the project's instructions beside what others contribute.
func contributions() runtime.ContributionBudget {
	var b runtime.ContributionBudget
	b = b.Filled()
	b.SectionChars = maxInstructions
	b.SectionsChars += maxInstructions
	return b
}

// newInstructions returns the subsystem for the project. Agents work in the directory of the
// process if that is in the project.
func newInstructions(o Options) *instructions.Instructions {
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		dir = "" // it is gone: the root of the project
	}
	return instructions.New(&instructions.Options{Root: o.Paths.Root, Dir: dir, Max: maxInstructions})
}

// Description is an agent with the instruction files of the project that it gets.
type Description struct {
	Agent Agent
	// Files are those of its next turn, then those that are left out.
	Files []instructions.File
	// OffBy says who turned them off for the agent; "" is nobody.
	OffBy string
}

// Describe returns the agent with that name. It starts nothing and asks nobody: settings that
// need an approval and have none do not count.
func Describe(ctx context.Context, o Options, name string) (Description, error) {
	o.Trust = nil
	agents, err := Agents(o.Paths, o.Note)
	if err != nil {
		return Description{}, err
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	i := slices.IndexFunc(agents, func(a Agent) bool { return a.Config.Name == name })
	if i < 0 {
		return Description{}, unknown(agents, name)
	}
	c, err := loadLayers(ctx, o, agents)
	if err != nil {
		return Description{}, err
	}
	d := Description{Agent: agents[i]}
	layer, ok, err := runtime.AgentLayer(&d.Agent.Config)
	if err == nil && ok {
		c, err = c.over(layer)
	}
	if err != nil {
		return d, err
	}
	if d.OffBy = c.plan.OffBy("Instructions"); d.OffBy != "" {
		return d, nil
	}
	in := newInstructions(o)
	if _, err := in.OnBuildAgent(ctx, d.Agent.Config); err != nil {
		return d, fmt.Errorf("%s: %w", o.Paths.Short(d.Agent.File), err)
	}
	d.Files, err = in.Files(ctx, &d.Agent.Config)
	return d, err
}

// Instructions returns the instruction files of an agent's next turn, then those that are left out, or who has turned them off for it.
func (a *App) Instructions(ctx context.Context, agent *runtime.Agent) (files []instructions.File, offBy string, err error) {
	if offBy = agent.Plan().OffBy("Instructions"); offBy != "" || a.Hooks.Instructions == nil {
		return nil, offBy, nil
	}
	files, err = a.Hooks.Instructions.Files(ctx, agent.Config())
	return files, "", err
}
