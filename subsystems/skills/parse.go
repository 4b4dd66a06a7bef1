package skills

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

// Skill is one skill, from its SKILL.md.
type Skill struct {
	// Name is its name; Description says what it is for and when to use it.
	Name        string
	Description string
	// WhenToUse is more about when to use it.
	WhenToUse string
	// License, Compatibility and Metadata are for people.
	License       string
	Compatibility string
	Metadata      map[string]string
	// ArgumentHint shows the arguments behind /name; Arguments are their names in
	// order.
	ArgumentHint string
	Arguments    []string
	Effects
	// ManualOnly: only a person may load it. NotManual: only the model may.
	ManualOnly bool
	NotManual  bool
	// Dir is the absolute path of its folder; "" if it is built in and not on disk.
	Dir string
	// Resources are the other files of the folder, at most 100, sorted, relative.
	Resources []string

	body string
	rank int
}

// Effects are what a skill changes for the rest of a turn that loads it.
type Effects struct {
	// AllowedTools are the only tools that the agent may call, in the syntax of rules:
	// "Bash(git *)". They grant nothing. Nil restricts nothing; empty and non-nil allows no
	// tool.
	AllowedTools []string
	// Model answers; "" is the agent's.
	Model string
	// Fork: the skill runs as a turn of its own, whose answer is what loading it returns.
	// Agent is who answers there; "" is the agent that loads the skill.
	Fork  bool
	Agent string
}

const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
)

var specName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// parse reads a SKILL.md in a folder of that name. It is lenient: notes say where the
// file breaks the format, and an error that the skill cannot be used.
func parse(text, folder string) (Skill, []string, error) {
	p := parser{}
	front, body, err := yamldoc.Split(text)
	if err != nil && !errors.Is(err, yamldoc.ErrMissing) {
		return Skill{}, nil, fmt.Errorf("%w; close it with a line ---", err)
	}
	p.skill.body = strings.TrimSpace(body)
	if err != nil && strings.HasPrefix(p.skill.body, "---") { // it may restrict the skill: do not ignore it
		return Skill{}, nil, errors.New("the frontmatter does not begin in the first line; begin the file with a line ---")
	}
	if err := p.front(front); err != nil {
		return Skill{}, p.notes, err
	}
	if err := p.name(folder); err != nil {
		return Skill{}, p.notes, err
	}
	if err := p.description(); err != nil {
		return Skill{}, p.notes, err
	}
	if n := utf8.RuneCountInString(p.skill.Compatibility); n > maxCompatibility {
		p.note("compatibility has %d characters; the format allows %d", n, maxCompatibility)
	}
	if p.skill.Agent != "" && !p.skill.Fork {
		p.note("key agent has an effect only with context: fork")
	}
	return p.skill, p.notes, nil
}

type parser struct {
	skill Skill
	notes []string
}

func (p *parser) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// manualOnly is the key that keeps a skill from the model.
const manualOnly = "disable-model-invocation"

// keys returns the keys of the format and of Claude Code.
func keys() *yamldoc.Keys {
	return &yamldoc.Keys{
		Free:    []string{"description", "license", "compatibility", "when_to_use", "argument-hint", "version"},
		Guarded: []string{manualOnly, "user-invocable", "allowed-tools", "disallowed-tools", "hooks"},
		Other:   []string{"name", "metadata", "arguments", "model", "effort", "context", "agent", "background", "paths", "shell"},
	}
}

func (p *parser) front(text string) error {
	top, quoted, err := yamldoc.Front(text, keys())
	switch {
	case err != nil:
		return fmt.Errorf("the frontmatter %w", err)
	case top == nil:
		return nil
	case top.Kind != yaml.MappingNode:
		return errors.New("the frontmatter is no list of keys and values")
	}
	if quoted {
		p.note("the frontmatter is YAML only with quotes around values that have a colon")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key := top.Content[i].Value
		if seen[key] {
			p.note("key %q is given twice", key)
		}
		seen[key] = true
		p.set(key, top.Content[i+1])
	}
	return nil
}

// set sets the field of one key, of the format or of Claude Code.
func (p *parser) set(key string, v *yaml.Node) {
	k := &p.skill
	switch key {
	case "name":
		k.Name = strings.TrimSpace(v.Value)
	case "description":
		k.Description = strings.TrimSpace(v.Value)
	case "license":
		k.License = v.Value
	case "compatibility":
		k.Compatibility = v.Value
	case "metadata":
		k.Metadata = mapping(v)
	case "allowed-tools":
		p.allow(v)
	case "when_to_use":
		k.WhenToUse = strings.TrimSpace(v.Value)
	case "argument-hint":
		k.ArgumentHint = v.Value
	case "arguments":
		k.Arguments = words(v)
	case manualOnly:
		p.restrict(v)
	case "user-invocable":
		yes, ok := truth(v)
		k.NotManual = ok && !yes
		if !ok {
			p.note("%s: %q is neither true nor false", key, v.Value)
		}
	case "model":
		k.Model = p.choice(key, v)
	case "agent":
		k.Agent = p.choice(key, v)
	case "context":
		k.Fork = v.Value == "fork"
		if !k.Fork {
			p.note("context %q has no effect; the only one is fork", v.Value)
		}
	case "disallowed-tools", "effort", "background", "hooks", "paths", "shell":
		p.note("key %s is understood elsewhere but has no effect here", key)
	default:
		if yamldoc.Almost(key, []string{manualOnly}) != "" {
			p.note("key %q is read as %q", key, manualOnly)
			p.restrict(v)
			return
		}
		p.note("unknown key %q is passed over", key)
	}
}

// restrict makes the skill manual unless the value is clearly false. A later value does not
// lift it.
func (p *parser) restrict(v *yaml.Node) {
	yes, ok := truth(v)
	p.skill.ManualOnly = p.skill.ManualOnly || yes || !ok
	if !ok {
		p.note("%s: %q is neither true nor false; only people can start the skill", manualOnly, v.Value)
	}
}

// Limits of the keys that have an effect on turns: entries of allowed-tools, and characters of an entry, a
// model or an agent.
const (
	maxAllowed = 100
	maxValue   = 200
)

// allow sets the allowed tools. Of a long list it keeps the beginning, because less is allowed then. Of a second
// key only the tools count that both lists name.
func (p *parser) allow(v *yaml.Node) {
	if v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) == "" {
		p.note("allowed-tools is empty and restricts nothing; write [] to allow no tool")
		return
	}
	list := []string{} // not nil: a list without tools allows none
	for _, entry := range tools(v) {
		if utf8.RuneCountInString(entry) > maxValue || len(list) == maxAllowed {
			p.note("allowed-tools has more than %d entries, or one of more than %d characters; the rest allows nothing", maxAllowed, maxValue)
			break
		}
		list = append(list, entry)
	}
	if before := p.skill.AllowedTools; before != nil {
		list = slices.DeleteFunc(list, func(entry string) bool { return !slices.Contains(before, entry) })
	}
	p.skill.AllowedTools = list
}

// choice reads the name of a model or an agent. "inherit" is the agent's own, and so is "".
func (p *parser) choice(key string, v *yaml.Node) string {
	name := strings.TrimSpace(v.Value)
	switch {
	case name == "inherit":
		return ""
	case v.Kind != yaml.ScalarNode || utf8.RuneCountInString(name) > maxValue || strings.ContainsFunc(name, odd):
		p.note("%s is no name and has no effect", key)
		return ""
	}
	return name
}

// truth reads a boolean in the forms that people write; ok is false if it is none.
func truth(v *yaml.Node) (yes, ok bool) {
	switch strings.ToLower(v.Value) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

func mapping(v *yaml.Node) map[string]string {
	if v.Kind != yaml.MappingNode {
		return nil
	}
	out := map[string]string{}
	for i := 0; i+1 < len(v.Content); i += 2 {
		out[v.Content[i].Value] = v.Content[i+1].Value
	}
	return out
}

func words(v *yaml.Node) []string {
	if v.Kind != yaml.SequenceNode {
		return strings.Fields(v.Value)
	}
	var out []string
	for _, item := range v.Content {
		out = append(out, item.Value)
	}
	return out
}

// tools reads a list, or a text that is separated by blanks or commas outside of
// parentheses: "Bash(git log:*) Read".
func tools(v *yaml.Node) []string {
	if v.Kind == yaml.SequenceNode {
		return words(v)
	}
	depth := 0
	return strings.FieldsFunc(v.Value, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth <= 0 && (r == ',' || unicode.IsSpace(r))
	})
}

// name sets the skill's name. If the name breaks the format and the folder's name does not,
// it takes the folder's name.
func (p *parser) name(folder string) error {
	k := &p.skill
	good := func(s string) bool { return len(s) <= maxName && specName.MatchString(s) }
	switch {
	case k.Name == "":
		k.Name = folder
		p.note("has no name; the folder's is used")
	case good(k.Name):
		if k.Name != folder {
			p.note("name %q is not the folder's, %q", k.Name, folder)
		}
		return nil
	case good(folder):
		p.note("name %q is not valid (a-z, 0-9 and single hyphens, at most %d); the folder's is used", k.Name, maxName)
		k.Name = folder
		return nil
	}
	if strings.ContainsAny(k.Name, `/\`) || strings.Contains(k.Name, "..") || strings.ContainsFunc(k.Name, odd) || len(k.Name) > 4*maxName {
		return fmt.Errorf("name %q cannot be used; use a-z, 0-9 and single hyphens", k.Name)
	}
	if !good(k.Name) {
		p.note("name %q is not valid (a-z, 0-9 and single hyphens, at most %d)", k.Name, maxName)
	}
	return nil
}

func odd(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) && r != ' ' }

// description sets the description; its default is the first paragraph of the
// instructions. A skill without both is an error.
func (p *parser) description() error {
	k := &p.skill
	if n := utf8.RuneCountInString(k.Description); n > maxDescription {
		p.note("description has %d characters; the format allows %d", n, maxDescription)
	}
	if k.Description != "" {
		return nil
	}
	for par := range strings.SplitSeq(k.body, "\n\n") {
		par = strings.TrimSpace(par)
		if par != "" && !strings.HasPrefix(par, "#") {
			k.Description = par
			p.note("has no description; the first paragraph is used")
			return nil
		}
	}
	return errors.New("has no description")
}
