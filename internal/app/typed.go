package app

import (
	"slices"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

// Typed is what a person may type that is no message: a slash, the name and an argument.
type Typed struct {
	Name, Argument, Help string
	// Skill: it starts a skill.
	Skill bool
}

// Typed returns the commands that subsystems answer, then the skills that a person may start with the agent, sorted by name, except those
// with the name of a command. It reads the files of the skills.
func (a *App) Typed(agent *runtime.Agent) []Typed {
	answered := a.Commands(agent)
	out := make([]Typed, len(answered))
	for i, c := range answered {
		out[i] = Typed{Name: c.Name, Argument: c.Argument, Help: c.Help}
	}
	section, _, err := hook.SectionOf[skills.Section](agent.Config(), "skills")
	if err != nil || section.Names != nil && len(section.Names) == 0 {
		return out
	}
	for _, k := range a.Skills(agent) {
		taken := slices.ContainsFunc(answered, func(c Command) bool { return c.Name == k.Name })
		if !taken && !k.NotManual && (section.Names == nil || slices.Contains(section.Names, k.Name)) {
			out = append(out, Typed{Name: k.Name, Argument: k.ArgumentHint, Help: k.Description, Skill: true})
		}
	}
	return out
}
