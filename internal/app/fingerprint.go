package app

import (
	"path/filepath"

	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
)

// Fingerprint returns a digest of what agents see in this project: its agents, skills, rules, hooks.json, MCP servers and
// default model as this program has them, and the instruction files as they are now. It is equal for two programs whose agents
// see the same, wherever the project is on their disks.
func (a *App) Fingerprint() string {
	var seen []any
	for _, is := range *a.agents.Load() {
		seen = append(seen, is.Config)
	}
	if a.Hooks.Skills != nil {
		for _, k := range a.Hooks.Skills.All() {
			k.Dir = filepath.Base(k.Dir)
			seen = append(seen, k)
		}
	}
	p := a.paths
	for _, file := range []string{p.projectRules(), p.projectHooks(), p.userRules(), p.userHooks(), p.servers()} {
		seen = append(seen, a.settings[file])
	}
	for _, name := range instructions.DefaultFiles() {
		text, err := p.readProject(filepath.Join(p.Root, name))
		seen = append(seen, name, string(text), err == nil)
	}
	return trust.Digest(append(seen, a.model)...)
}
