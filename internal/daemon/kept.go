package daemon

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/lockedfile"
)

// kept are the agents that clients have made, by project and name, as they sent them. They are
// registered again when the daemon starts, and pass all hooks again.
type kept struct {
	file    lockedfile.File[map[string]json.RawMessage]
	app     *app.App
	project string
}

func keptAgents(opened *app.App, state string) kept {
	k := kept{app: opened, project: opened.Project()}
	k.file.Path = filepath.Join(state, "agents.json")
	return k
}

// Keep keeps an agent, or what it has become.
func (k kept) Keep(name string, agent []byte) error {
	return k.file.Change(func(projects map[string]map[string]json.RawMessage) error {
		if projects[k.project] == nil {
			projects[k.project] = map[string]json.RawMessage{}
		}
		projects[k.project][name] = agent
		return nil
	})
}

// Drop keeps an agent no longer. It returns false if it was not kept.
func (k kept) Drop(name string) (found bool, err error) {
	return found, k.file.Change(func(projects map[string]map[string]json.RawMessage) error {
		_, found = projects[k.project][name]
		delete(projects[k.project], name)
		return nil
	})
}

// Owner returns the file that defines an agent of that name, or that the program does; "" if neither does.
func (k kept) Owner(name string) string { return k.app.Owner(name) }

// Sections are the names of the sections that an agent can have.
func (k kept) Sections() []string { return slices.Sorted(maps.Keys(app.Sections())) }

// agents returns the configurations of the kept agents, by name; model is that of one without. What cannot be
// read is told of, and stays kept.
func (k kept) agents(model string, note func(string)) (out []hook.AgentConfig) {
	projects, err := k.file.Read()
	if err != nil {
		note(fmt.Sprintf("the agents that clients have made are not there: %v; mend or delete the file", err))
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(projects[k.project])) {
		if owner := k.Owner(name); owner != "" {
			note(fmt.Sprintf("the agent %s that a client has made is not registered: %s defines one of that name", name, owner))
			continue
		}
		cfg, err := api.ConfigOf(projects[k.project][name], model)
		if err != nil {
			note(fmt.Sprintf("the agent %s that a client has made is not registered: %v", name, err))
			continue
		}
		out = append(out, cfg)
	}
	return out
}
