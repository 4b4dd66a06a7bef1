package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// Reloaded says what Reload has done with each agent, sorted by name.
type Reloaded struct {
	Added, Updated, Removed []string
	// Unchanged is how many agents are as they were.
	Unchanged int
	// Refused are the agents that keep what they had; a new one is not there.
	Refused []Refusal
	// Settings are those of other files that have changed since the program started, and count when it starts again.
	Settings []Setting
}

// Refusal is an agent that could not be reloaded, and why.
type Refusal struct{ Agent, Why string }

// Reload reads the files of the agents again, and registers, updates and unregisters what has changed.
// Turns that run keep the agent that they have; the next ones have the new one. If a file is wrong,
// Reload returns the mistakes of all files, and every agent stays as it is; an agent that a hook or
// the runtime refuses stays as it is alone. What an agent requests and nobody has approved is left
// out, as by Open; Options.TrustLater is asked, also about servers that an agent's file defines. Rules, hooks.json,
// servers and skills are read when the program starts; if rules or hooks.json have changed since, Reload refuses.
// A removed agent ends with its turns; when ctx ends, they are cancelled.
//
// One Reload at a time works; the others wait.
func (a *App) Reload(ctx context.Context) (Reloaded, error) {
	select {
	case a.reloads <- struct{}{}:
		defer func() { <-a.reloads }()
	case <-ctx.Done():
		return Reloaded{}, context.Cause(ctx)
	}
	agents, err := a.readAgain(ctx)
	if err != nil {
		return Reloaded{}, err
	}
	old := *a.agents.Load()
	a.agents.Store(both(agents, old)) // new agents may name each other
	var out Reloaded
	next := make([]Agent, 0, len(agents))
	for _, is := range agents {
		name := is.Config.Name
		was, known := named(old, name)
		registered := slices.Contains(a.Runtime.Agents(), name)
		var err error
		switch {
		case registered && !known:
			err = errors.New("a client has made an agent of that name; delete that one first")
		case registered && reflect.DeepEqual(was, is):
			out.Unchanged++
		case registered:
			if err = a.update(ctx, was, is); err == nil {
				out.Updated = append(out.Updated, name)
			}
		default:
			if err = a.add(ctx, is); err == nil {
				out.Added = append(out.Added, name)
			}
		}
		if err != nil {
			out.Refused = append(out.Refused, Refusal{name, err.Error()})
			is = was
		}
		if err == nil || known {
			next = append(next, is)
		}
	}
	a.agents.Store(&next)
	for _, was := range old {
		name := was.Config.Name
		if _, kept := named(agents, name); kept {
			continue
		}
		if err := a.Runtime.Unregister(ctx, name); err != nil && !gone(err) {
			out.Refused = append(out.Refused, Refusal{name, err.Error()})
			continue
		}
		out.Removed = append(out.Removed, name)
	}
	out.Settings = a.changedSettings()
	slices.SortFunc(out.Refused, func(x, y Refusal) int { return strings.Compare(x.Agent, y.Agent) })
	return out, nil
}

// readAgain returns the agents of the files, without what nobody has approved.
func (a *App) readAgain(ctx context.Context) ([]Agent, error) {
	a.Started()
	agents, err := Agents(a.paths, a.options.Note)
	if err == nil {
		err = a.approve(ctx, agents)
	}
	if err == nil {
		err = a.settled() // after approve, which reads the same files
	}
	if err == nil {
		err = a.checkDelegates(agents)
	}
	return agents, err
}

// both returns the agents, and behind them the old ones of other names.
func both(agents, old []Agent) *[]Agent {
	all := slices.Clone(agents)
	for _, was := range old {
		if _, there := named(agents, was.Config.Name); !there {
			all = append(all, was)
		}
	}
	return &all
}

// checkDelegates returns an error if an agent delegates to one that there will not be: the next start would fail.
func (a *App) checkDelegates(agents []Agent) (err error) {
	for _, of := range agents {
		s, _, wrong := hook.SectionOf[delegate.Section](&of.Config, "delegate")
		if wrong != nil {
			continue // the registration says it better
		}
		for _, name := range s.Agents {
			if _, there := named(agents, name); !there {
				err = errors.Join(err, fmt.Errorf("%s: agent %q: section delegate: agents: there is no agent %q", a.paths.Short(of.File), of.Config.Name, name))
			}
		}
	}
	return err
}

// settings returns the digests of the files that limit what agents may do. An approval of an agent's section is one of them as well.
func (p Paths) settings() (map[string]string, error) {
	out := map[string]string{}
	for _, f := range []struct {
		file string
		read func(string) ([]byte, error)
	}{{p.projectRules(), p.readProject}, {p.projectHooks(), p.readProject}, {p.userRules(), readUser}, {p.userHooks(), readUser}} {
		data, err := f.read(f.file)
		if err != nil {
			return nil, err
		}
		out[f.file] = trust.Digest(string(data))
	}
	return out, nil
}

// settled returns an error if those files are not as they were when the program started: it has the old ones, and an agent would
// be approved under the new ones.
func (a *App) settled() error {
	now, err := a.paths.settings()
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(now)) {
		if now[file] != a.settings[file] {
			return fmt.Errorf("%s has changed since the program started, which has what was there before; start it again", a.paths.Short(file))
		}
	}
	return nil
}

// approve removes from the agents what nobody has approved, as Open does.
func (a *App) approve(ctx context.Context, agents []Agent) error {
	o := a.options
	o.Trust = o.TrustLater
	if _, err := loadLayers(ctx, o, agents); err != nil {
		return err
	}
	if !a.assembly.conf.off("Policy") {
		if _, err := loadProjectRules(ctx, o, agents); err != nil {
			return err
		}
	}
	if a.assembly.conf.off("Memory") {
		return nil
	}
	return trustMemories(ctx, o, agents)
}

// add registers an agent that was not there.
func (a *App) add(ctx context.Context, is Agent) error {
	cfg := a.modelled(is.Config)
	if err := a.checkModel(&is, &cfg); err != nil {
		return err
	}
	_, err := a.register(ctx, is, hook.AgentConfig{})
	return err
}

// update replaces what an agent was by what it is. After an error it is what it was.
func (a *App) update(ctx context.Context, was, is Agent) error {
	cfg := a.modelled(is.Config)
	if err := a.checkModel(&is, &cfg); err != nil {
		return err
	}
	agent, err := a.Runtime.Update(ctx, cfg)
	if err != nil {
		return a.explained(is, cfg, err)
	}
	if err = a.checkChoice(is, agent); err == nil {
		return nil
	}
	if _, back := a.Runtime.Update(context.WithoutCancel(ctx), a.modelled(was.Config)); back != nil {
		return fmt.Errorf("%w; and it cannot be again what it was: %w", err, back)
	}
	return err
}
