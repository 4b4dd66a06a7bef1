package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime"
)

// Which subsystems there are and how they act is said by the user's hooks.json, over
// it by the project's, and over both by Options.Set; and for one agent by its file.
// What of that is the project's, its agents' files too, may turn off what is no gate.
// A gate that it turns off or has fail open counts if it is approved, as what its
// rules allow.

// Settings are what is said of subsystems in so many words, as --set of a command. The
// zero value says nothing. It is a value for package flag and its like.
type Settings struct {
	texts map[string]string
	layer plan.Layer
}

// Empty reports whether nothing is said.
func (s *Settings) Empty() bool { return len(s.texts) == 0 }

// String is "": what a flag without a value says.
func (s *Settings) String() string { return "" }

// Type is what a value looks like.
func (s *Settings) Type() string { return "NAME=SETTING" }

// Set adds what is said of one subsystem, "Memory=off".
func (s *Settings) Set(text string) (err error) {
	name, setting, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("say what of %s, as in %s=off", text, text)
	}
	if _, twice := s.texts[name]; twice {
		return fmt.Errorf("%s is given twice; say all of it at once, with a semicolon between points", name)
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[name] = setting
	s.layer, err = composite.NewLayer("--set", s.texts)
	return err
}

// configuration is what was said of the subsystems of the process.
type configuration struct {
	layers []plan.Layer
	plan   *plan.Plan
}

// off reports whether the subsystem in this field takes no part in the process.
func (c configuration) off(field string) bool { return c.plan.OffBy(field) != "" }

// over returns the configuration with one more layer.
func (c configuration) over(l plan.Layer) (configuration, error) {
	layers := append(slices.Clone(c.layers), l)
	p, problems := new(Hooks).Compose().Plan().Layered(plan.Merge(layers))
	errs := make([]error, len(problems))
	for i, problem := range problems {
		errs[i] = problem
	}
	return configuration{layers, p}, errors.Join(errs...)
}

// loadLayers reads what is said of the subsystems. The sections of agents that nobody
// has approved are taken out.
func loadLayers(ctx context.Context, o Options, agents []Agent) (configuration, error) {
	c := configuration{plan: new(Hooks).Compose().Plan()}
	user, err := o.Paths.parseLayer(o.Paths.userHooks(), readUser)
	if err != nil {
		return c, err
	}
	if c, err = c.over(user); err != nil {
		return c, err
	}
	var project plan.Layer
	if o.Paths.projectHooks() != o.Paths.userHooks() {
		if project, err = o.Paths.parseLayer(o.Paths.projectHooks(), o.Paths.readProject); err != nil {
			return c, err
		}
	}
	if c, err = trustLayers(ctx, o, c, project, agents); err != nil {
		return c, err
	}
	return c.over(o.Set.layer)
}

// Plan returns the plan of the program as the configuration has it. It asks nobody:
// what nobody has approved yet does not count.
func Plan(ctx context.Context, o Options) (*plan.Plan, error) {
	o.Trust = nil
	agents, err := Agents(o.Paths, o.Note)
	if err != nil {
		return nil, err
	}
	c, err := loadLayers(ctx, o, agents)
	return c.plan, err
}

// parseLayer reads a file of settings; there need not be one.
func (p Paths) parseLayer(file string, read func(string) ([]byte, error)) (plan.Layer, error) {
	data, err := read(file)
	if err != nil || data == nil {
		return plan.Layer{}, err
	}
	return composite.ParseLayer(p.Short(file), data)
}

// trustLayers returns the configuration with the project's layer over it. Without an
// approval the layer is left out if it loosens a gate, and so are agents' sections.
func trustLayers(ctx context.Context, o Options, c configuration, project plan.Layer, agents []Agent) (configuration, error) {
	with, err := c.over(project)
	if err != nil {
		return c, err
	}
	var loose []string
	var effects []plan.Layer
	if loosens(c, with, project) {
		loose, effects = append(loose, said(project)...), append(effects, project)
	}
	var theirs []int
	for i, a := range agents {
		layer, ok, err := runtime.AgentLayer(&a.Config)
		if err != nil || !ok {
			continue // registering the agent says so, with the place
		}
		own, err := with.over(layer)
		if err == nil && loosens(with, own, layer) {
			loose, theirs, effects = append(loose, said(layer)...), append(theirs, i), append(effects, layer)
		}
	}
	if len(loose) == 0 {
		return with, nil
	}
	want := trust.Request{From: "the project", Wants: map[trust.Kind][]string{trust.Guards: loose}}
	answer, err := o.confirm(ctx, want, filepath.Join(o.Paths.Root, "hooks"), trust.Digest(effects))
	if err != nil || answer.Allows() {
		return with, err
	}
	why := "nobody has approved it; run the command in a terminal to be asked, or with --dangerously-accept-project-rules, or write it in " + o.Paths.Short(o.Paths.userHooks())
	if answer == trust.Refused {
		why = refusedTrust
	}
	o.Note(fmt.Sprintf("subsystems that guard stay as they are (%s): %s", strings.Join(loose, "; "), why))
	for _, i := range theirs {
		agents[i].Config = agents[i].Config.WithSection(runtime.LayerSection, "")
	}
	if loosens(c, with, project) {
		return c, nil
	}
	return with, nil
}

// loosens reports whether the layer that leads from one configuration to another
// takes something away that guards, or brings back what was turned off.
func loosens(from, to configuration, l plan.Layer) bool {
	return from.plan.Beyond(to.plan) != "" ||
		slices.ContainsFunc(l.Settings, func(s plan.Setting) bool { return s.Switch == plan.On })
}

// said is what a layer says, one line for each member.
func said(l plan.Layer) []string {
	out := make([]string, len(l.Settings))
	for i, s := range l.Settings {
		out[i] = fmt.Sprintf("%s: %s: %s", l.Source, s.Member, s)
	}
	return out
}
