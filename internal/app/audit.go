package app

import (
	"fmt"
	"path/filepath"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/subsystems/audit"
)

// AuditLog is the user's audit record, one for all projects.
func AuditLog(p Paths) *audit.Log { return audit.NewLog(filepath.Join(p.State, "audit"), nil) }

// newAudit records the agents with a section, and all of them if config.yaml says so.
func newAudit(o Options) (*audit.Audit, error) {
	settings := audit.Options{Log: AuditLog(o.Paths), Project: o.Paths.Project()}
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
