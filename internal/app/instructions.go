package app

import (
	"context"
	"os"
	"path/filepath"

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

// Instructions are the instruction files of an agent.
type Instructions struct {
	Files []instructions.File
	// OffBy says who turned the subsystem off for the agent; "" is nobody.
	OffBy string
}

// AgentInstructions returns the instruction files that the agent gets in its next turn. It
// asks nobody: settings that need an approval and have none do not count.
func AgentInstructions(ctx context.Context, o Options, agent Agent) (Instructions, error) {
	o.Trust = nil
	if o.Note == nil {
		o.Note = func(string) {}
	}
	agents := []Agent{agent}
	c, err := loadLayers(ctx, o, agents)
	if err != nil {
		return Instructions{}, err
	}
	layer, ok, err := runtime.AgentLayer(&agents[0].Config)
	if err == nil && ok {
		c, err = c.over(layer)
	}
	if by := c.plan.OffBy("Instructions"); err != nil || by != "" {
		return Instructions{OffBy: by}, err
	}
	in := newInstructions(o)
	cfg, err := in.OnBuildAgent(ctx, agent.Config)
	if err != nil {
		return Instructions{}, err
	}
	files, err := in.Files(ctx, &cfg)
	return Instructions{Files: files}, err
}
