package policy

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// RuleError is the error of one rule.
type RuleError struct {
	// At is the place of the rule: "policy.json: deny[2]", counted from 0.
	At string
	// Rule is the text of the rule.
	Rule string
	// Problem names the mistake, and Fix says how to correct it.
	Problem, Fix string
}

// Error returns one line.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s: rule %q: %s; %s", e.At, e.Rule, e.Problem, e.Fix)
}

// rule is a rule, compiled.
type rule struct {
	effect Effect
	// text is the text of the rule, at its place.
	text, at string
	// tool is the pattern for the tool's name, in lower case; tools is the same, compiled.
	tool  string
	tools form
	form  ruleForm
	// arg is the name of the argument that an aText rule matches.
	arg  string
	glob glob
	// path is the pattern for paths, folded the same in lower case, for file systems that do not tell case apart.
	path, folded pathGlob
	grant        hook.Grant
	// line is the whole line of an allow rule for commands without a wildcard; "" otherwise.
	line string
	// senders are patterns; nil is every sender.
	senders []string
}

// ruleForm is the kind of value that a rule matches.
type ruleForm int

const (
	everyCall ruleForm = iota
	aCommand
	aPath
	aText
)

type compiler struct {
	subjects map[string]Subject
	places   places
}

// compile compiles all rules of one place. The error has all wrong rules, in the order
// deny, ask, allow.
func (c compiler) compile(r Rules) ([]*rule, error) {
	var out []*rule
	var errs []error
	source := r.Source
	if source != "" {
		source += ": "
	}
	if r.Default.rank() < 0 {
		errs = append(errs, fmt.Errorf("%sdefault: there is no default %q; write deny, ask, annotations or allow", source, r.Default))
	}
	for _, effect := range []Effect{Deny, Ask, Allow} {
		for i, written := range r.of(effect) {
			one := &rule{effect: effect, text: strings.TrimSpace(written.Rule), at: fmt.Sprintf("%s%s[%d]", source, effect, i)}
			if p := c.rule(one, written); p != nil {
				errs = append(errs, &RuleError{At: one.at, Rule: written.Rule, Problem: p.what, Fix: p.fix})
				continue
			}
			out = append(out, one)
		}
	}
	return out, errors.Join(errs...)
}

var toolPattern = regexp.MustCompile(`^[A-Za-z0-9_*-]+$`)

func (c compiler) rule(r *rule, written Rule) *problem {
	name, rest, patterned := strings.Cut(r.text, "(")
	pattern, closed := strings.CutSuffix(rest, ")")
	switch {
	case r.text == "":
		return &problem{"it is empty", "write a tool, or a tool and a pattern: Bash(git *)"}
	case patterned && !closed:
		return &problem{"the parenthesis is not closed at the end", "write the tool and then its pattern, and nothing behind it: Bash(git *)"}
	case !toolPattern.MatchString(name):
		return &problem{fmt.Sprintf("%q is no name of a tool", name), "use letters, digits, _ and -, and * for any of them: mcp__server__*"}
	case patterned && strings.TrimSpace(pattern) == "":
		return &problem{"the pattern is empty", fmt.Sprintf("write %s for every call", name)}
	}
	r.tool = alias(name)
	r.tools = newForm(r.tool, false)
	var p *problem
	if patterned && !c.whole(r.tool, pattern) {
		p = c.pattern(r, pattern)
	}
	if p == nil {
		p = c.grant(r, written.Grant)
	}
	if p == nil {
		p = r.setSenders(written.Senders)
	}
	return p
}

// maxSenders bounds the senders of a rule, and maxSender the length of each in bytes.
const maxSenders, maxSender = 1000, 1024

func (r *rule) setSenders(senders []string) *problem {
	if senders != nil && len(senders) == 0 {
		return &problem{"its list of senders is empty", "name the senders for which the rule holds, or leave senders out for all"}
	}
	if len(senders) > maxSenders {
		return &problem{fmt.Sprintf("it has %d senders", len(senders)), fmt.Sprintf("write at most %d, or a pattern: gateway:*", maxSenders)}
	}
	for _, s := range senders {
		if s == "" || len(s) > maxSender {
			return &problem{fmt.Sprintf("%.40q is no sender", s), "write the name of a sender, with * for any text: gateway:*"}
		}
	}
	r.senders = slices.Clone(senders)
	return nil
}

// holdsFor reports whether the rule holds for the sender. Of an unknown one it restricts, and
// allows nothing.
func (r *rule) holdsFor(by sender) bool {
	switch {
	case r.senders == nil:
		return true
	case !by.known:
		return r.effect != Allow
	}
	return message.MatchesAny(r.senders, by.name)
}

// sender is who started the turn of a call. It is not known outside of turns.
type sender struct {
	name  string
	known bool
}

// whole reports whether a pattern matches every call. For paths no pattern does, because
// it allows only paths below the root.
func (c compiler) whole(tool, pattern string) bool {
	return (pattern == "*" || pattern == "**") && c.subjects[tool].Kind != Path
}

var namedArgument = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)=(.+)$`)

func (c compiler) pattern(r *rule, pattern string) (p *problem) {
	subject, known := c.subjects[r.tool]
	named := namedArgument.FindStringSubmatch(pattern)
	switch {
	case named != nil && subject.mayName(named[1]):
		r.form, r.arg, r.glob = aText, named[1], textGlob(named[2])
	case strings.Contains(r.tool, "*"):
		return &problem{"a pattern is for one tool, and this may be several", "name the argument: mcp__files__*(path=/src/**)"}
	case !known:
		return &problem{fmt.Sprintf("it is not known which argument of %s is meant", r.tool), fmt.Sprintf("name it: %s(name=%s)", r.tool, pattern)}
	case subject.Kind == Command:
		r.form, r.glob = aCommand, commandGlob(pattern)
		if r.effect == Allow && !strings.HasSuffix(pattern, ":*") && !strings.Contains(pattern, "*") {
			r.line = strings.TrimSpace(pattern)
			return nil
		}
		return commandProblem(pattern)
	case subject.Kind == Path:
		r.form = aPath
		r.path, p = c.places.pathPattern(pattern)
		r.folded = r.path.fold()
		return p
	default:
		r.form, r.arg, r.glob = aText, subject.Arg, textGlob(pattern)
	}
	return nil
}

// mayName reports whether a rule may name the argument.
func (s Subject) mayName(arg string) bool {
	for _, n := range s.Named {
		if n == arg {
			return true
		}
	}
	return s.Kind == Text
}

// commandProblem finds patterns that match no simple command: such a rule would silently
// do nothing.
func commandProblem(pattern string) *problem {
	switch {
	case strings.ContainsAny(pattern, "\"'\\"):
		return &problem{"words are compared without their quotes", "leave quotes and backslashes out, or write * in their place"}
	case strings.ContainsAny(pattern, "`\n") || strings.Contains(pattern, "$("):
		return &problem{"what stands in a substitution is a command of its own", "write a rule for each command"}
	}
	for _, word := range strings.Fields(pattern) {
		if strings.Trim(word, "|&;<>()") == "" || strings.HasSuffix(word, ";") {
			return &problem{fmt.Sprintf("commands are compared one by one, and %s stands between two, or redirects one", word), "write a rule for each command"}
		}
	}
	return nil
}

func (c compiler) grant(r *rule, g Grant) *problem {
	if g == (Grant{}) {
		return nil
	}
	if r.effect == Deny {
		return &problem{"a rule that denies has no grant", "take the grant away, or move the rule to ask or allow"}
	}
	r.grant = hook.Grant{ReadOnly: g.ReadOnly, NoNetwork: g.NoNetwork, MaxOutput: g.MaxOutput}
	if g.MaxOutput < 0 {
		return &problem{"max_output is below 0", "write a number of bytes"}
	}
	if g.Timeout != "" {
		d, err := time.ParseDuration(g.Timeout)
		if err != nil || d <= 0 {
			return &problem{fmt.Sprintf("the timeout %q is no time above 0", g.Timeout), "write it like 30s or 2m"}
		}
		r.grant.Timeout = d
	}
	if g.Root != "" {
		return c.root(r, g.Root)
	}
	return nil
}

func (c compiler) root(r *rule, dir string) *problem {
	if c.places.root == "" {
		return &problem{"there is no root that the grant's could lie in", "set Options.Root"}
	}
	if !path.IsAbs(dir) {
		dir = c.places.root + "/" + dir
	}
	dir = path.Clean(dir)
	if rel, ok := below(c.places.given, dir); ok {
		dir = path.Join(c.places.root, rel)
	}
	if _, ok := below(c.places.root, dir); !ok {
		return &problem{"the root of the grant lies outside of " + c.places.root, "write a path below it"}
	}
	r.grant.Root = dir
	return nil
}

// names reports whether the rule applies to a tool. as is another tool; its ask and deny
// rules apply too.
func (r *rule) names(tool, as string) bool {
	return r.tools.matches(tool) || as != "" && r.effect != Allow && r.tools.matches(as)
}
