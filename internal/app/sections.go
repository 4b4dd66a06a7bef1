package app

import (
	"github.com/grapnel-go/grapnel/subsystems/audit"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/critique"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/guardrail"
	"github.com/grapnel-go/grapnel/subsystems/instructions"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/memory"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
	"github.com/grapnel-go/grapnel/subsystems/secure"
	"github.com/grapnel-go/grapnel/subsystems/sessions"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/structured"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
	"github.com/grapnel-go/grapnel/subsystems/toolbox"
)

// Sections returns the zero value of each subsystem's section, by its key in an agent's file.
func Sections() map[string]any {
	return map[string]any{
		"audit":        audit.Section{},
		"compact":      compact.Section{},
		"critique":     critique.Section{},
		"delegate":     delegate.Section{},
		"fallback":     fallback.Section{},
		"guard":        guard.Section{},
		"guardrail":    guardrail.Section{},
		"secure":       secure.Section{},
		"instructions": instructions.Section{},
		"mcp":          mcp.Section{},
		"memory":       memory.Section{},
		"ostools":      ostools.Section{},
		"policy":       policy.Rules{},
		"schedule":     schedule.Section{},
		"sessions":     sessions.Section{},
		"skills":       skills.Section{},
		"structured":   structured.Section{},
		"tasks":        tasks.Section{},
		"toolbox":      toolbox.Section{},
	}
}
