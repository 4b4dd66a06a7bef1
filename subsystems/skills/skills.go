// Package skills gives an agent skills: folders with a SKILL.md that say how a
// kind of task is done, in the format of agentskills.io.
//
// The agent's prompt lists the skills by name and description. The model loads
// one with the tool skill when a task fits, a person by beginning a message with
// /name. Either way the instructions come with the folder's path and the list of
// its files, to be read or run when they are needed.
//
//	s := skills.New(&skills.Options{Dirs: []string{".agents/skills", home + "/.agents/skills"}})
//
// Files are read anew each time, so a skill that is changed counts from its next
// use on, and one that is added can be used at once; it is listed in the prompts
// of agents that are registered or refreshed after that.
//
// A skill is text that a model follows, so it deserves as much trust as the
// folder that it comes from. Nothing in it is executed by this package; lines
// like !`command` stay as they are. What frontmatter says about allowed tools,
// models or hooks is read but grants nothing.
package skills

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Skills owns the tool skill and the expansion of /name. It keeps no state
// between calls and is safe for concurrent use.
//
//hook:subsystem
type Skills struct {
	hook.Nop

	sources []source
	maxList int
}

var _ hook.Hook = (*Skills)(nil)

// Options are the settings of [Skills]. The zero value of each field is usable.
type Options struct {
	// Dirs are searched for skills in this order; of two skills with one name the
	// first counts. Those that do not exist are left out.
	Dirs []string
	// Within is the project that those of Dirs belong to that lie below it, judged by
	// their names: nothing out of it is read for them, whatever links there are, and
	// [Skills.Warnings] says so. Other directories may be links. "" is no project.
	Within string
	// MaxList bounds the list of skills in a prompt, in bytes; 0 is [DefaultMaxList]. An
	// agent's section can say otherwise.
	MaxList int
	// Bundled adds the skills of this package after those of Dirs. They are not on
	// disk then, so their scripts cannot be run: to have them whole, write them
	// with [WriteBundled] to a directory and add that to Dirs instead.
	Bundled bool
}

// Section is the agent's section "skills".
type Section struct {
	// Names are the skills that the agent gets. Nil means all, empty means none.
	Names []string `json:"names"`
	// MaxList is [Options.MaxList] for this agent; 0 leaves it at that.
	MaxList int `json:"max_list,omitzero"`
}

// New returns the skills of the options; it reads nothing yet. Nil options have
// no skills.
func New(o *Options) *Skills {
	s := &Skills{maxList: DefaultMaxList}
	if o == nil {
		return s
	}
	if o.MaxList > 0 {
		s.maxList = o.MaxList
	}
	for _, dir := range o.Dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		s.sources = append(s.sources, source{dir: dir, within: o.Within, rank: len(s.sources)})
	}
	if o.Bundled {
		s.sources = append(s.sources, source{files: bundledFiles(), rank: len(s.sources)})
	}
	return s
}

// All returns every skill that can be used, sorted by name. It reads all files.
func (s *Skills) All() []Skill { return s.scan().skills }

// Warnings says what is wrong with the files, in the order in which they are
// found: skills that were left out and why, and those that were loaded although
// they break the format; and what of them a prompt has no room for. It reads all files.
func (s *Skills) Warnings() []string {
	r := s.scan()
	manual := func(k Skill) bool { return k.ManualOnly }
	if note := newCatalog(slices.DeleteFunc(r.skills, manual), s.maxList).note(); note != "" {
		r.warnings = append(r.warnings, note)
	}
	return r.warnings
}

// OnBuildAgent refuses an agent whose section names a skill that does not exist.
func (s *Skills) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	section, _, err := hook.SectionOf[Section](&cfg, "skills")
	if err == nil && section.MaxList < 0 {
		err = fmt.Errorf("agent %q: section skills: max_list is %d; write a number of bytes, or leave it out", cfg.Name, section.MaxList)
	}
	if err != nil || len(section.Names) == 0 {
		return cfg, err
	}
	all := s.All()
	for _, name := range section.Names {
		if _, ok := find(all, name); !ok {
			return cfg, fmt.Errorf("agent %q: section skills: names: there is no skill %q%s", cfg.Name, name, known(all))
		}
	}
	return cfg, nil
}

func known(all []Skill) string {
	if len(all) == 0 {
		return ", nor any other"
	}
	return "; there are " + strings.Join(namesOf(all), ", ")
}

func namesOf(skills []Skill) []string {
	names := make([]string, len(skills))
	for i, k := range skills {
		names[i] = k.Name
	}
	return names
}

func find(skills []Skill, name string) (Skill, bool) {
	i := slices.IndexFunc(skills, func(k Skill) bool { return k.Name == name })
	if i < 0 {
		return Skill{}, false
	}
	return skills[i], true
}

// inScope returns the skills that an agent may use. An agent that is not known
// has none, and so has one whose section cannot be read.
func (s *Skills) inScope(cfg *hook.AgentConfig) []Skill {
	if cfg == nil {
		return nil
	}
	section, _, err := hook.SectionOf[Section](cfg, "skills")
	if err != nil || section.Names != nil && len(section.Names) == 0 {
		return nil
	}
	all := s.All()
	if section.Names == nil {
		return all
	}
	return slices.DeleteFunc(all, func(k Skill) bool { return !slices.Contains(section.Names, k.Name) })
}

// forModel returns those that the model may load.
func (s *Skills) forModel(cfg *hook.AgentConfig) []Skill {
	return slices.DeleteFunc(s.inScope(cfg), func(k Skill) bool { return k.ManualOnly })
}

// inTurn returns the skills that a turn may use: those that its agent and every agent
// above it have. The input of a turn that another agent runs comes from a model, so
// it starts no skill that is for people.
func (s *Skills) inTurn(t *hook.Turn) []Skill {
	skills := s.inScope(t.Agent())
	for above := t.Parent(); above != nil; above = above.Parent() {
		have := s.inScope(above.Agent())
		skills = slices.DeleteFunc(skills, func(k Skill) bool {
			_, ok := find(have, k.Name)
			return !ok || k.ManualOnly
		})
	}
	return skills
}

// ScopedTools takes the tool from an agent that has no skill to load.
func (s *Skills) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	skills := s.forModel(cfg)
	if len(skills) == 0 {
		return hook.Scope{Tools: []string{}}
	}
	section, _, err := hook.SectionOf[Section](cfg, "skills")
	if err != nil || section.Names == nil {
		return hook.Scope{}
	}
	return hook.Scope{Line: "Of the skills: " + strings.Join(namesOf(skills), ", ") + "."}
}

// SystemPrompt lists the skills that the agent's model may load, sorted by name; "" if
// there are none. If there is no room for all of them, descriptions are shortened, and
// then skills are left out: see [Options.MaxList].
func (s *Skills) SystemPrompt(cfg *hook.AgentConfig) string {
	skills := s.forModel(cfg)
	if len(skills) == 0 {
		return ""
	}
	most := s.maxList
	if section, _, err := hook.SectionOf[Section](cfg, "skills"); err == nil && section.MaxList > 0 {
		most = section.MaxList
	}
	tool := cfg.ToolName(ToolSkill)
	return fmt.Sprintf("Skills are instructions for certain tasks. When a task fits the description of one, load it with %s before"+
		" you begin and follow it. Paths in a skill are relative to the directory that it names.\n", tool) + newCatalog(skills, most).text(tool)
}

// location is where the SKILL.md is.
func (k Skill) location() string {
	if k.Dir == "" {
		return "built in"
	}
	return filepath.Join(k.Dir, fileName)
}

// escape writes a text so that it can stand in XML.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
