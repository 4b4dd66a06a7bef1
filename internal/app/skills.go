package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// loadSkills returns the skills of the project, of the user and of the program. It writes
// those of the program to the state directory, so that their scripts can run.
func loadSkills(ctx context.Context, o Options, d *delegate.Delegate) (*skills.Skills, error) {
	if err := skills.WriteBundled(o.Paths.bundledSkills()); err != nil {
		return nil, err
	}
	c := &choices{root: o.Paths.Root}
	s := skills.New(&skills.Options{
		Dirs: o.Paths.skillDirs(), Within: o.Paths.Root,
		Allow: func(list []string) (skills.Allowance, error) {
			return policy.NewAllowed(list, &policy.Options{Root: o.Paths.Root, Home: o.Paths.Home})
		},
		Model: o.modelOf, MayChoose: c.mayChoose, MayRun: d.MayRun,
	})
	for _, w := range s.Warnings() {
		o.Note(w)
	}
	return s, c.trust(ctx, o, s.All())
}

// choices are the skills that may choose their model and their agent.
type choices struct {
	root string
	// approved has the digests of those of the project.
	approved map[string]bool
}

// foreign reports whether the skill is the project's and chooses something.
func (c *choices) foreign(k skills.Skill) bool {
	rel, err := filepath.Rel(c.root, k.Dir)
	return (k.Model != "" || k.Agent != "") && k.Dir != "" && (err != nil || filepath.IsLocal(rel))
}

// digest covers what the skill chooses, so that another choice needs another approval.
func digest(k skills.Skill) string { return trust.Digest(k.Name, k.Dir, k.Model, k.Agent) }

// mayChoose returns why the skill may not choose; nil if it may.
func (c *choices) mayChoose(k skills.Skill) error {
	if !c.foreign(k) || c.approved[digest(k)] {
		return nil
	}
	return errors.New("nobody has approved that for this project; start grapnel in a terminal to be asked, or move the skill to your home directory")
}

// trust asks about the skills of the project that choose a model or an agent. Without an approval they work without
// that model, and do not run as that agent.
func (c *choices) trust(ctx context.Context, o Options, all []skills.Skill) error {
	var lines, digests []string
	for _, k := range all {
		if !c.foreign(k) {
			continue
		}
		line := "skill " + k.Name + ":"
		if k.Model != "" {
			line += " model " + k.Model
		}
		if k.Agent != "" {
			line += " agent " + k.Agent
		}
		lines, digests = append(lines, line), append(digests, digest(k))
	}
	if len(lines) == 0 {
		return nil
	}
	want := trust.Request{From: "the project", Wants: map[trust.Kind][]string{trust.Skills: lines}}
	answer, err := o.confirm(ctx, want, filepath.Join(o.Paths.Root, "skills"), trust.Digest(digests))
	if err != nil {
		return err
	}
	if answer.Allows() {
		c.approved = map[string]bool{}
		for _, d := range digests {
			c.approved[d] = true
		}
		return nil
	}
	why := "nobody has approved it; run the command in a terminal to be asked"
	if answer == trust.Refused {
		why = refusedTrust
	}
	o.Note(fmt.Sprintf("skills of the project choose no model and no agent (%s): %s", strings.Join(lines, "; "), why))
	return nil
}

// modelOf returns the model that a name means, with its context window.
func (o *Options) modelOf(name string) (message.Model, error) {
	id, err := o.models.Resolve(name)
	if err == nil {
		err = o.models.Check(id)
	}
	if err != nil {
		return message.Model{}, err
	}
	return message.Model{Name: id, ContextWindow: o.models.ContextWindow(id)}, nil
}
