package app

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/audit"
)

// newAudit records the agents with a section, and all of them if config.yaml says so.
func newAudit(o Options) (*audit.Audit, error) {
	settings := audit.Options{Log: o.Stores.Audit(), Project: o.Paths.Project(), Node: o.Stores.node}
	if o.audit != "" {
		all := hook.AgentConfig{}.WithSection("audit", o.audit)
		s, _, err := hook.SectionOf[audit.Section](&all, "audit")
		if err != nil {
			return nil, fmt.Errorf("~/.grapnel/config.yaml: %w", err)
		}
		settings.All = &s
	}
	return audit.New(settings), nil
}
