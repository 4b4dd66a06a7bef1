package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

// Examined is what a person should know of a call that needs approval.
type Examined struct {
	// Reaches are sentences about what the call would touch, and about what cannot be known
	// of it, without full stops. They quote the arguments, with unseen characters
	// as their escapes. It is an estimate: a program may do
	// more than its command line says.
	Reaches []string
	// Part is the part of the call that the policy's reason quotes; "" is none.
	Part string
	// Rule is a rule that allows the call and others of its class: "Bash(go test *)". The judge
	// of commands has compared the call with it. "" is none: then no answer about this call
	// says anything of another one.
	Rule string
	// Reason is the policy's own reason to ask; "" if the policy does not ask.
	Reason string
}

// maxReaches limits the sentences of an [Examined].
const maxReaches = 12

// Examine says what a call would touch: what the judge of commands sees in a command line, and
// otherwise what the arguments and the annotations of the tool say. It reads the files that the
// call names, to say what it would replace. A nil Policy knows annotations only.
func (p *Policy) Examine(call *hook.ToolCall) Examined {
	args, err := newArguments(call.Args())
	if p == nil || err != nil {
		return Examined{Reaches: annotated(call.Tool())}
	}
	c := callOf(call.Name(), args, p.compiler)
	var e Examined
	switch c.subject.Kind {
	case Command:
		confined := p.confinement(call)
		e.Reaches = c.commandReach(confined)
		if j, err := p.judge(agentOf(call), call, confined); err == nil {
			e.Part = j.quoted()
			e.Rule, e.Reason = p.class(&c, call, j)
		}
	case Path:
		e.Reaches = c.fileReach(call.Tool())
	default:
		e.Reaches = append(annotated(call.Tool()), c.addresses()...)
	}
	if n := len(e.Reaches) - maxReaches; n > 0 {
		e.Reaches = append(e.Reaches[:maxReaches], fmt.Sprintf("%d more findings", n))
	}
	for i, text := range e.Reaches {
		e.Reaches[i] = screen.Exact(text).String()
	}
	return e
}

// quoted returns the part that the reason quotes.
func (j *judgement) quoted() string {
	for _, f := range append([]shell.Finding{j.uncovered, j.command}, j.unseen...) {
		if f.Part != "" && strings.Contains(j.reason, strconv.Quote(shown(f.Part))) {
			return f.Part
		}
	}
	return ""
}

// class returns the rule for the class of a call, and the reason of the policy to ask. There is none
// for more than one simple command, for a line that is not fully understood, for one that is safe or
// dangerous, for one that requests more than the sandbox gives or of which the sandbox cannot see something, and where a rule asks.
func (p *Policy) class(c *call, of *hook.ToolCall, j judgement) (rule, reason string) {
	d, err := p.answer(of)
	if err != nil || d.Verdict().Kind != hook.AnswerAsk {
		return "", ""
	}
	reason = d.Verdict().Reason
	script := c.script()
	if j.decided != nil || j.requests() || len(script.Unseen) > 0 || len(script.Commands) != 1 || script.Level != shell.Covered || script.Complex || script.Doubt != "" {
		return "", reason
	}
	for name := range c.args.top {
		if name != c.subject.Arg && name != "timeout" && name != "description" {
			return "", reason
		}
	}
	if script.Commands[0].Class == "" {
		return "", reason
	}
	rule = fmt.Sprintf("%s(%s *)", strings.ToUpper(c.name[:1])+c.name[1:], script.Commands[0].Class)
	set := ruleset{def: DefaultDeny}
	set.rules, err = p.compiler.compile(Rules{Allow: []Rule{{Rule: rule}}})
	a := Allowed{set: set, compiler: p.compiler}
	if err != nil || !a.Allows(of.Tool(), of.Args()) {
		return "", reason
	}
	return rule, reason
}

// commandReach says what a call requests beyond the sandbox, which programs its command line runs, and all that the judge found.
func (c *call) commandReach(confined *Confinement) []string {
	script := c.script()
	var out []string
	if confined != nil {
		for _, request := range confined.Requests {
			out = append(out, "requests: "+request)
		}
		if confined.On {
			script.Notes = append(script.Unseen[:len(script.Unseen):len(script.Unseen)], script.Notes...)
		}
	}
	var programs []string
	for i := range script.Commands {
		if name := first(script.Commands[i].Plain); !slices.Contains(programs, name) {
			programs = append(programs, name)
		}
	}
	if len(programs) > 0 {
		out = append(out, "runs "+strings.Join(programs, ", "))
	}
	if script.Level == shell.Safe {
		return append(out, "only reads the project and prints")
	}
	for _, f := range script.Notes {
		if text := fmt.Sprintf("%q: %s", shown(f.Part), shown(f.Reason)); !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if c.subject.Env != "" && !c.args.empty(c.subject.Env) {
		out = append(out, "sets environment variables")
	}
	return out
}

// fileReach says which files a tool reads or changes.
func (c *call) fileReach(tool message.Tool) []string {
	var out []string
	for _, l := range c.subject.locations(c.args, c.places) {
		name, inside := below(c.places.root, l.named)
		if name == "" && inside {
			name = "."
		}
		if !inside {
			name = l.named
		}
		text := "reads " + strconv.Quote(name)
		if !tool.Annotations.ReadOnly {
			text = c.change(name, l)
		}
		if !inside {
			text += ", outside of the project"
		} else if _, in := below(c.places.root, l.real); !in || l.real != l.named {
			text += ", by a link to " + strconv.Quote(l.real)
		}
		out = append(out, text)
	}
	if tool.Annotations.OpenWorld {
		out = append(out, annotated(tool)...)
	}
	return out
}

// change says what becomes of a file.
func (c *call) change(name string, l location) string {
	content := c.args.texts("content")
	if len(content) != 1 {
		return "changes " + strconv.Quote(name)
	}
	with := " with " + lines(content[0])
	old, err := os.Stat(filepath.FromSlash(l.real))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "makes the new file " + strconv.Quote(name) + with
	case err != nil || !old.Mode().IsRegular():
		return "writes " + strconv.Quote(name) + with
	}
	return fmt.Sprintf("replaces %q, which has %d bytes,%s", name, old.Size(), with)
}

// lines counts the lines of a text, in words.
func lines(text string) string {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// addresses says which hosts and agents the arguments name.
func (c *call) addresses() []string {
	var out []string
	if c.name == "delegate" {
		for _, agent := range c.args.texts("tasks.agent") {
			out = append(out, "runs the agent "+strconv.Quote(agent))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.args.top)) {
		for _, text := range c.args.texts(name) {
			u, err := url.Parse(strings.TrimSpace(text))
			if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
				out = append(out, "names the host "+strconv.Quote(u.Host))
			}
		}
	}
	return out
}

// annotated says what a tool does by its annotations.
func annotated(tool message.Tool) []string {
	var out []string
	by := ""
	if rest, ok := strings.CutPrefix(tool.Name, "mcp__"); ok {
		server, name, _ := strings.Cut(rest, "__")
		out = append(out, fmt.Sprintf("calls %q of the MCP server %q; what that does is not known", name, server))
		by = ", by its own account"
	}
	notes := tool.Annotations
	if notes.ReadOnly {
		out = append(out, "changes nothing"+by)
	}
	if notes.Destructive {
		out = append(out, "may change or delete things"+by)
	}
	if notes.OpenWorld {
		out = append(out, "reaches beyond this machine, or runs what others wrote"+by)
	}
	return out
}
