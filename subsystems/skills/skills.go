// Package skills gives an agent skills: folders with a SKILL.md that describe how to
// do a kind of task, in the format of agentskills.io.
//
// The agent's prompt lists the skills by name and description. The model loads a skill
// for a task with the tool skill; a person loads one with /name at the begin of a
// message. The instructions come with the folder's path and a list of its files, which
// the model reads or runs when it needs them.
//
//	s := skills.New(&skills.Options{Dirs: []string{".agents/skills", home + "/.agents/skills"}})
//
// Files are read anew at each use, so a changed skill counts from its next use, and a
// new one can be used at once. Prompts list it for agents that are registered or
// refreshed after that.
//
// A skill is text that a model follows, so trust it as much as the folder that it comes
// from. This package executes nothing in it; lines like !`command` stay as they are.
//
// The frontmatter grants nothing. Allowed tools narrow what the agent may call in the rest of
// the turn; a model answers the rest of the turn, and with "context: fork" an agent runs the
// skill as a turn of its own, if [Options] let the skill choose them.
package skills

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Skills owns the tool skill and the expansion of /name, and keeps turns to what their skills
// allow. It is safe for concurrent use.
//
//hook:subsystem
type Skills struct {
	hook.Nop

	sources []source
	maxList int
	o       Options

	// active is stored, so that a resumed turn stays narrowed. offered and first save work within a turn.
	active  hook.ConversationState[active]
	offered hook.TurnState[offered]
	first   hook.TurnState[*hook.Step]
	// tool is the public name of the tool.
	tool atomic.Pointer[string]
	mu   sync.Mutex
	// compiled has lists of allowed tools, compiled.
	compiled map[string]compiled
}

var (
	_ hook.Hook           = (*Skills)(nil)
	_ hook.Stateful       = (*Skills)(nil)
	_ hook.RewriteRequest = (*Skills)(nil)
	_ hook.OnModelError   = (*Skills)(nil)
	_ hook.BeforeTool     = (*Skills)(nil)
)

// Options are the settings of [Skills]. The zero value of each field is usable.
type Options struct {
	// Dirs are searched for skills in order; of two skills with one name the first
	// counts. Missing directories are ignored.
	Dirs []string
	// Within is a project. Directories of Dirs whose path is below it belong to it: for
	// them no link out of the project is followed, and [Skills.Warnings] names such
	// links. Other directories may be links. "" is no project.
	Within string
	// MaxList limits the list of skills in a prompt, in bytes; 0 is [DefaultMaxList]. An
	// agent's section can override it.
	MaxList int
	// Bundled adds the skills of this package after those of Dirs. They are not on
	// disk, so their scripts cannot run. For scripts, write the skills to a directory
	// with [WriteBundled] and add that to Dirs instead.
	Bundled bool
	// Allow compiles allowed tools. It must not block. The error names wrong entries, which allow nothing. Nil knows
	// tools by name only: an entry with a pattern, such as Bash(git *), then allows nothing.
	Allow func(list []string) (Allowance, error)
	// Model returns the model that a skill names, with its ContextWindow if that is known. The
	// error says that there is none, or that it cannot be asked. Nil takes every name as it is.
	Model func(name string) (message.Model, error)
	// MayChoose returns why the skill may choose neither its model nor its agent; nil if it may.
	// It is called at each use of a skill that does. A nil func lets every skill choose.
	MayChoose func(k Skill) error
	// MayRun returns why the turn may not run that agent; nil if it may. A nil func allows all.
	MayRun func(t *hook.Turn, agent string) error
}

// Allowance judges calls by a list of allowed tools. It is safe for concurrent use.
type Allowance interface {
	// Names reports whether some call of the tool may be allowed. It decides what a model is offered.
	Names(tool string) bool
	// Allows reports whether the call is allowed.
	Allows(tool message.Tool, args message.JSON) bool
}

// Section is the agent's section "skills".
type Section struct {
	// Names are the skills that the agent gets. Nil means all, empty means none.
	Names []string `json:"names"`
	// MaxList is [Options.MaxList] for this agent; 0 keeps that one.
	MaxList int `json:"max_list,omitzero"`
}

// New returns the subsystem. It reads no files yet. Nil options have no skills.
func New(o *Options) *Skills {
	s := &Skills{maxList: DefaultMaxList, compiled: map[string]compiled{}}
	if o == nil {
		return s
	}
	s.o = *o
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

// All returns all usable skills, sorted by name. It reads all files.
func (s *Skills) All() []Skill { return s.scan().skills }

// Warnings returns the problems of the files, in the order of the search: skills that
// were left out and why, and skills that break the format. The last one says which skills
// do not fit into a prompt. It reads all files.
func (s *Skills) Warnings() []string {
	r := s.scan()
	for _, k := range r.skills {
		if _, err := s.allowance(k.AllowedTools); err != nil {
			r.warnings = append(r.warnings, fmt.Sprintf("%s: allowed-tools: %s", k.location(), strings.ReplaceAll(err.Error(), "\n", "; ")))
		}
	}
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

// inScope returns the skills that an agent may use. A nil agent has none, and so has an
// agent with a wrong section.
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

func (s *Skills) forModel(cfg *hook.AgentConfig) []Skill {
	return slices.DeleteFunc(s.inScope(cfg), func(k Skill) bool { return k.ManualOnly })
}

// inTurn returns the skills that a turn may use: those that its agent and all agents
// above it have. The input of a child's turn comes from a model, so it has no skills that
// only people may load.
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

// ScopedTools removes the tool from an agent without skills to load.
func (s *Skills) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	if name := cfg.ToolName(ToolSkill); name != s.toolName() {
		s.tool.Store(&name)
	}
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
// there are none. If the list exceeds [Options.MaxList], it shortens descriptions, and
// then leaves out skills.
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

// location returns the path of the SKILL.md.
func (k Skill) location() string {
	if k.Dir == "" {
		return "built in"
	}
	return filepath.Join(k.Dir, fileName)
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}
