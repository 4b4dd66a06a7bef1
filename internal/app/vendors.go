package app

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/config"
	"github.com/grapnel-go/grapnel/internal/keys"
	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/supervisor"
)

// Config returns the user's config.yaml. A project cannot set any of it.
func (p Paths) Config() (config.Config, error) { return config.Load(p.config(), models.Names()) }

// Models returns the models that the settings of the user let the program ask. commands runs
// the commands that print keys; nil runs none. The caller closes the models.
func (p Paths) Models(conf config.Config, commands *supervisor.Supervisor) (*models.Models, error) {
	known, err := p.Catalog()
	if err != nil {
		return nil, err
	}
	vendors := make(map[string]models.Settings, len(conf.Vendors))
	for name, v := range conf.Vendors {
		vendors[name] = models.Settings{
			Preset: v.Preset, Key: v.Key, BaseURL: v.BaseURL, CAFile: p.expanded(v.CAFile), Proxy: v.Proxy,
			FirstByteTimeout: v.FirstByteTimeout, IdleTimeout: v.IdleTimeout, Header: v.Header, ContextWindow: v.ContextWindow,
		}
	}
	return models.New(models.Options{
		Root: p.Root, Vendors: vendors, File: p.Short(p.config()), Keys: keys.New(&keys.Options{Commands: commands}), Catalog: known,
	}), nil
}

// expanded returns a path with the home directory for ~/.
func (p Paths) expanded(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.Home != "" {
		return filepath.Join(p.Home, rest)
	}
	return path
}

// openModels reads the user's settings and makes the models.
func (a *App) openModels(o Options) (err error) {
	if a.conf, err = o.Paths.Config(); err != nil {
		return err
	}
	if file := o.Paths.projectConfig(); file != o.Paths.config() {
		if a.project, err = config.LoadProject(file, o.Paths.Root); err != nil {
			return err
		}
	}
	if a.models, err = o.Paths.Models(a.conf, a.processes.commands); err != nil {
		return err
	}
	a.model = a.conf.Model
	if o.Model != "" && o.Model != a.model.Name { // the settings are those of another model
		a.model = message.Model{Name: o.Model}
	}
	return nil
}

// DefaultModel is the model of agents that name none: that of Options, or else that of the
// user's settings; without a name there is none.
func (a *App) DefaultModel() message.Model { return a.model }

// Vendors returns the vendors that need a key, and whether each has one.
func (a *App) Vendors() []models.Keyed { return a.models.Keyed() }

// ListModels returns the models that there are keys for, or all that are known.
func (a *App) ListModels(all bool) (models.Listed, error) {
	known, err := a.paths.Catalog()
	if err != nil {
		return models.Listed{}, err
	}
	return models.List{Catalog: known, Configured: a.models.Configured, All: all, Now: time.Now()}.Of(), nil
}

// modelled returns the agent with the default model, if it names none, and with the whole id
// of its model. A name that means no model stays; CheckModel reports it.
func (a *App) modelled(cfg hook.AgentConfig) hook.AgentConfig {
	if cfg.Model.Name == "" {
		cfg.Model = a.model.Merge(cfg.Model)
	}
	cfg.Model.Name = a.resolved(cfg.Model.Name)
	return cfg
}

// resolved returns the whole id of a model, or the name if it has none.
func (a *App) resolved(name string) string {
	id, err := a.models.Resolve(name)
	if err != nil {
		return name
	}
	return id
}

// CheckModel returns an error if a model of the agent cannot be used: its own, or one that
// its sections name, unless a person has named another one. It says what to do, and names the
// agent's file, or the user's settings, if they name the model. The error is models.ErrNone if
// nobody does.
func (a *App) CheckModel(cfg *hook.AgentConfig) error {
	if of, ok := a.defined(cfg.Name); ok {
		return a.checkModel(&of, cfg)
	}
	return a.checkModel(nil, cfg)
}

// checkModel is CheckModel for an agent that is defined as of; nil is no file of the project.
func (a *App) checkModel(of *Agent, cfg *hook.AgentConfig) error {
	inFile := ""
	if of != nil {
		inFile = of.Config.Model.Name
	}
	byDefault := of != nil && inFile == "" && cfg.Model.Name != "" && cfg.Model.Name == a.resolved(a.conf.Model.Name)
	named := of != nil && !byDefault && a.resolved(inFile) != cfg.Model.Name
	for key, model := range modelsOf(cfg) {
		settings := message.Model{Name: model}
		switch key {
		case "model":
			settings = cfg.Model
		case "fallback": // a step that goes on with it keeps what goes over
			settings = cfg.Model.For(model)
		}
		err := a.models.CheckSettings(settings)
		switch {
		case err != nil && key == "model" && byDefault:
			return located(a.conf.Problem(key, err.Error(), ""), err)
		case err != nil && of != nil && !named && of.File != "":
			return located(of.Problem(key, err.Error(), ""), err)
		case err != nil || named:
			return err
		}
	}
	return nil
}

// candidates is how many models Candidates returns of one source.
const candidates = 5

// Candidates returns models that a person may switch to: that of the agent, the default one,
// and those that the project's agents name.
func (a *App) Candidates(cfg *hook.AgentConfig) []string {
	var out []string
	seen := map[string]bool{"": true}
	add := func(name string) {
		if name = a.resolved(name); !seen[name] && len(out) < candidates && a.models.Check(name) == nil {
			seen[name], out = true, append(out, name)
		}
	}
	add(cmp.Or(cfg.Model.Name, a.model.Name))
	add(a.model.Name)
	for _, agent := range *a.agents.Load() {
		for _, model := range modelsOf(&agent.Config) {
			add(model)
		}
	}
	return out
}

// FindModel returns the whole id of a model that a person names. The error says why it cannot
// be asked.
func (a *App) FindModel(name string) (id string, err error) {
	if id, err = a.models.Resolve(name); err != nil {
		return "", err
	}
	return id, a.models.Check(id)
}
