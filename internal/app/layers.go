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

// The user's hooks.json configures the subsystems. The project's hooks.json overrides it, and
// Options.Set overrides both. An agent's file configures them for that agent. The files of the
// project, including those of its agents, may turn off subsystems that are no gates. Turning a
// gate off, or letting it fail open, needs an approval, like the project's rules that allow.

// Settings configure subsystems by name, as the flag --set of a command does. The zero value
// has none. It implements flag.Value and pflag.Value.
type Settings struct {
	texts map[string]string
	layer plan.Layer
}

// Empty reports whether there are no settings.
func (s *Settings) Empty() bool { return len(s.texts) == 0 }

// String returns "", the default of the flag.
func (s *Settings) String() string { return "" }

// Type returns the form of a value, for the help.
func (s *Settings) Type() string { return "NAME=SETTING" }

// Set adds the setting of one subsystem, such as "Memory=off".
func (s *Settings) Set(text string) (err error) {
	name, setting, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("the setting of %s is missing; write for example %s=off", text, text)
	}
	if _, twice := s.texts[name]; twice {
		return fmt.Errorf("%s is given twice; write one setting, with a semicolon between points", name)
	}
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	s.texts[name] = setting
	s.layer, err = composite.NewLayer("--set", s.texts)
	return err
}

// configuration has the layers of the process and the plan that results.
type configuration struct {
	layers []plan.Layer
	plan   *plan.Plan
}

// off reports whether the subsystem in the field is turned off for the process.
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

// loadLayers reads the configuration of the subsystems. It removes sections of agents that
// nobody has approved.
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

// Plan returns the plan of the program with its configuration. It asks nobody: settings that
// need an approval and have none do not count.
func Plan(ctx context.Context, o Options) (*plan.Plan, error) {
	o.Trust = nil
	agents, err := Agents(o.Paths, o.Note)
	if err != nil {
		return nil, err
	}
	c, err := loadLayers(ctx, o, agents)
	return c.plan, err
}

// parseLayer reads a file of settings, if there is one.
func (p Paths) parseLayer(file string, read func(string) ([]byte, error)) (plan.Layer, error) {
	data, err := read(file)
	if err != nil || data == nil {
		return plan.Layer{}, err
	}
	return composite.ParseLayer(p.Short(file), data)
}

// trustLayers adds the project's layer to the configuration. Layers of the project and
// sections of agents that loosen a gate need an approval, and are left out without it.
func trustLayers(ctx context.Context, o Options, c configuration, project plan.Layer, agents []Agent) (configuration, error) {
	with, err := c.over(project)
	if err != nil {
		return c, err
	}
	var loose []string
	var effects []plan.Layer
	if loosens(c, with, project) {
		loose, effects = append(loose, settings(project)...), append(effects, project)
	}
	var theirs []int
	for i, a := range agents {
		layer, ok, err := runtime.AgentLayer(&a.Config)
		if err != nil || !ok {
			continue // the registration of the agent reports it, with the place
		}
		own, err := with.over(layer)
		if err == nil && loosens(with, own, layer) {
			loose, theirs, effects = append(loose, settings(layer)...), append(theirs, i), append(effects, layer)
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

// loosens reports whether the layer, which changes the configuration from into to, loosens a
// gate or turns a subsystem on again.
func loosens(from, to configuration, l plan.Layer) bool {
	return from.plan.Beyond(to.plan) != "" ||
		slices.ContainsFunc(l.Settings, func(s plan.Setting) bool { return s.Switch == plan.On })
}

// settings returns the settings of a layer, one line for each member.
func settings(l plan.Layer) []string {
	out := make([]string, len(l.Settings))
	for i, s := range l.Settings {
		out[i] = fmt.Sprintf("%s: %s: %s", l.Source, s.Member, s)
	}
	return out
}
