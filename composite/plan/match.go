package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Pattern is one alternative of match=: a glob over one attribute of a point's place. *
// stands for any characters, ? for one; in paths * stays within a directory and ** does not.
type Pattern struct {
	// Kind is the attribute: tool, path, command, agent, sender, session or skill.
	Kind string
	Glob string
}

// String returns the pattern in the form of a tag, "tool:mcp__*".
func (p Pattern) String() string { return p.Kind + ":" + p.Glob }

// attribute is one attribute that match= can test.
type attribute struct {
	kind, doc string
	// places are the types of package hook that have it.
	places []string
	// name: a value is a name, letters, digits, _ and -, of at most 64 characters.
	name bool
}

func attributes() []attribute {
	call := []string{"ToolCall"}
	within := []string{"ToolCall", "Step", "Turn", "Session", "Conversation"}
	return []attribute{
		{"tool", "the public name of the tool", []string{"ToolCall", "Event"}, true},
		{"path", "an argument that names a file: path, or a name that ends in _path", call, false},
		{"command", "the argument command", call, false},
		{"agent", "the agent's name", append([]string{"AgentConfig", "Event"}, within...), true},
		{"sender", "who talks to the agent", within, false},
		{"session", "the id of the conversation", append([]string{"Event"}, within...), false},
		{"skill", "the argument name of the tool skill", call, false},
	}
}

// MatchKinds returns the attributes that match= can test, with descriptions.
func MatchKinds() []Word {
	var out []Word
	for _, a := range attributes() {
		out = append(out, Word{Word: a.kind + ":", Doc: a.doc})
	}
	return out
}

func attributeOf(kind string) (attribute, bool) {
	all := attributes()
	i := slices.IndexFunc(all, func(a attribute) bool { return a.kind == kind })
	if i < 0 {
		return attribute{}, false
	}
	return all[i], true
}

// about reports whether the point's place has the attribute.
func (a attribute) about(p Point) bool { return p.narrows() && slices.Contains(a.places, p.Place) }

// parseMatch parses the value of match=: kind:glob, and further globs of that kind after |.
func parseMatch(value string) ([]Pattern, *Problem) {
	kind, globs, ok := strings.Cut(value, ":")
	var kinds []string
	for _, a := range attributes() {
		kinds = append(kinds, a.kind)
	}
	a, known := attributeOf(kind)
	switch {
	case !ok:
		return nil, impossible("match="+value, "match=%s says nothing about what to look at", value).fixed("match=tool:" + value)
	case !known:
		p := impossible("match="+kind, "match= cannot look at %q", kind).fixed("it can look at " + strings.Join(kinds, ", "))
		if near := spell.Closest(kind, kinds); near != "" {
			p.Fix = "match=" + near + ":" + globs
		}
		return nil, p
	}
	var out []Pattern
	for glob := range strings.SplitSeq(globs, "|") {
		other, rest, named := strings.Cut(glob, ":")
		if _, also := attributeOf(other); named && also {
			if other != kind {
				return nil, impossible(glob, "%s behind | is no other %s; patterns of different kinds must all match", glob, kind).
					fixed("match=" + glob + " as an option of its own")
			}
			glob = rest
		}
		if p := a.check(glob, value); p != nil {
			return nil, p
		}
		out = append(out, Pattern{kind, glob})
	}
	return out, nil
}

// check returns a problem if no value can ever match.
func (a attribute) check(glob, value string) *Problem {
	word := "match=" + value
	if strings.Trim(glob, " \t") != glob || glob == "" {
		return impossible(word, "match=%s has an empty pattern or one with blanks around it", value).fixed("match=" + a.kind + ":" + example(a.kind))
	}
	if !utf8.ValidString(glob) {
		return impossible(word, "%q is not text, so it can never match", glob).fixed("write it in UTF-8")
	}
	if !a.name {
		return nil
	}
	for _, r := range glob {
		if !nameRune(r) && r != '*' && r != '?' {
			return impossible(word, "%q can never match a name: %q is in none", a.kind+":"+glob, r).
				fixed("names have letters, digits, _ and -; * stands for any of them, ? for one")
		}
	}
	if len(strings.ReplaceAll(glob, "*", "")) > maxName {
		return impossible(word, "%q can never match a name: names have at most %d characters", a.kind+":"+glob, maxName).fixed("shorten it")
	}
	return nil
}

func example(kind string) string {
	switch kind {
	case "path":
		return "/etc/**"
	case "command":
		return "git *"
	case "tool":
		return "mcp__*"
	}
	return "name"
}

func impossible(word, format string, args ...any) *Problem {
	return &Problem{Code: "HG045", Word: word, Message: fmt.Sprintf(format, args...)}
}

func (p *Problem) fixed(fix string) *Problem {
	p.Fix = fix
	return p
}

// Compile returns a matcher for the globs of one kind: a value matches one of
// them as a whole. A path pattern without a slash matches the last element of a
// path.
func Compile(kind string, globs []string) (*regexp.Regexp, error) {
	var alternatives []string
	for _, glob := range globs {
		expr := ""
		if kind == "path" && !strings.Contains(glob, "/") {
			expr = "(?:.*/)?"
		}
		alternatives = append(alternatives, expr+globExpr(kind, glob))
	}
	return regexp.Compile(`(?s)\A(?:` + strings.Join(alternatives, "|") + `)\z`)
}

func globExpr(kind, glob string) string {
	many, one := ".*", "."
	if kind == "path" {
		many, one = "[^/]*", "[^/]"
	}
	var sb strings.Builder
	for i := 0; i < len(glob); i++ {
		switch {
		case kind == "path" && strings.HasPrefix(glob[i:], "**/"):
			sb.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(glob[i:], "**"):
			sb.WriteString(".*")
			i++
		case glob[i] == '*':
			sb.WriteString(many)
		case glob[i] == '?':
			sb.WriteString(one)
		default:
			j := i
			for j < len(glob) && glob[j] != '*' && glob[j] != '?' {
				j++
			}
			sb.WriteString(regexp.QuoteMeta(glob[i:j]))
			i = j - 1
		}
	}
	return sb.String()
}
