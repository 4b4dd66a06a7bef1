package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
)

// kept are the agents that clients have made in the project, by name, as they sent them. They are
// registered again when the daemon starts, and pass all hooks again.
type kept struct {
	app.Documents
	app *app.App
}

func keptAgents(opened *app.App, stores *app.Stores) kept {
	return kept{stores.Agents(opened.Project()), opened}
}

// Keep keeps an agent, or what it has become.
func (k kept) Keep(name string, agent []byte) error {
	return k.Change(func(all map[string]json.RawMessage) error {
		all[name] = agent
		return nil
	})
}

// Drop keeps an agent no longer. It returns false if it was not kept.
func (k kept) Drop(name string) (found bool, err error) {
	err = k.Change(func(all map[string]json.RawMessage) error {
		_, found = all[name]
		delete(all, name)
		return nil
	})
	return found, err
}

// Owner returns the file that defines an agent of that name, or that the program does; "" if neither does.
func (k kept) Owner(name string) string { return k.app.Owner(name) }

// Sections are the names of the sections that an agent can have.
func (k kept) Sections() []string { return slices.Sorted(maps.Keys(app.Sections())) }

// agents returns the configurations of the kept agents, by name; model is that of one without. What cannot be
// read is told of, and stays kept.
func (k kept) agents(model string, note func(string)) (out []hook.AgentConfig) {
	all, err := k.Read()
	if err != nil {
		note(fmt.Sprintf("the agents that clients have made are not there: %v; mend or delete the file", err))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if owner := k.Owner(name); owner != "" {
			note(fmt.Sprintf("the agent %s that a client has made is not registered: %s defines one of that name", name, owner))
			continue
		}
		cfg, err := api.ConfigOf(all[name], model)
		if err != nil {
			note(fmt.Sprintf("the agent %s that a client has made is not registered: %v", name, err))
			continue
		}
		out = append(out, cfg)
	}
	return out
}
