package policy

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/files"
	"github.com/grapnel-go/grapnel/subsystems/policy/internal/shell"
)

// ruleset has the rules and the default for one agent.
type ruleset struct {
	rules []*rule
	def   Default
	// safe: commands that only read the project need no rule.
	safe bool
}

type call struct {
	name    string
	subject Subject
	args    arguments
	places  places
}

// callOf returns a call of a tool. The name ignores case.
func callOf(tool string, args arguments, by compiler) call {
	name := strings.ToLower(tool)
	return call{name: name, subject: by.subjects[name], args: args, places: by.places}
}

// question is a call of a tool as rules judge it.
type question struct {
	compiler
	by   sender
	tool message.Tool
	args message.JSON
	// confined is what the sandbox does with the call; nil is nothing.
	confined *Confinement
}

type match struct {
	rule *rule
	// part is the part of the call that matches: a command, a path, a text; "" is all.
	part string
	// maybe: the match depends on unknown parts.
	maybe bool
}

// judgement is the answer of the rules to one call.
type judgement struct {
	effect  Effect // "" is no opinion
	reason  string
	decided *match  // the rule that decided; nil if none did
	def     Default // the default, if it decided
	doubt   string
	matches []match
	// open are the parts that no rule allows or asks for.
	open  []string
	grant hook.Grant

	// allowed: a rule allows the whole call.
	allowed bool
	// command is what the judge of commands says of the whole call, uncovered of the commands that no rule covers.
	command, uncovered shell.Finding
	// judged: the call is a command. refused is the first rule with a wildcard that matches and may not cover it.
	judged  bool
	refused *rule
	// unseen is what a sandbox cannot see of the call, confined what it does with it.
	unseen   []shell.Finding
	confined *Confinement
}

func (j *judgement) hit(r *rule, part string, maybe bool) {
	j.matches = append(j.matches, match{r, part, maybe})
	if r.effect != Deny {
		j.grant = j.grant.Intersect(r.grant)
	}
}

// judge compares a call with all rules for its tool and its sender. The error says that the arguments
// are not a JSON object.
func (s ruleset) judge(q question) (judgement, error) {
	j := judgement{confined: q.confined}
	c := callOf(q.tool.Name, arguments{}, q.compiler)
	var mine []*rule
	for _, r := range s.rules {
		if r.names(c.name, c.subject.As) && r.holdsFor(q.by) {
			mine = append(mine, r)
		}
	}
	if len(mine) == 0 && c.subject.Kind != Command && !c.changesFiles(q.tool) {
		j.byDefault(s.def, q.tool)
		return j, nil
	}
	var err error
	if c.args, err = newArguments(q.args); err != nil {
		return j, fmt.Errorf("the arguments of %s cannot be read: %w", q.tool.Name, err)
	}
	var commands []*rule
	for _, r := range mine {
		switch r.form {
		case everyCall:
			j.hit(r, "", false)
			j.allowed = j.allowed || r.effect == Allow
		case aText:
			c.text(r, &j)
		case aPath:
			c.path(r, &j)
		case aCommand:
			commands = append(commands, r)
		}
	}
	if c.subject.Kind == Command {
		c.commands(commands, s.safe, &j)
	}
	j.decide(s.def, q.tool)
	if c.changesFiles(q.tool) {
		c.protect(mine, &j)
	}
	j.confine()
	return j, nil
}

// text judges an argument. An allow rule must match all its values, an ask or deny rule one.
func (c *call) text(r *rule, j *judgement) {
	values := c.args.texts(r.arg)
	fit := 0
	for _, v := range values {
		if r.glob.matches(v) && !(r.effect == Allow && climbs(v)) {
			fit++
			if r.effect != Allow {
				j.hit(r, v, false)
			}
		}
	}
	if r.effect == Allow && fit > 0 && fit == len(values) {
		j.hit(r, strings.Join(values, ", "), false)
		j.allowed = true
	}
}

// path judges paths. An allow rule must cover all paths of the call, both by name and with
// links followed. For an ask or deny rule one path is enough.
func (c *call) path(r *rule, j *judgement) {
	where := c.subject.locations(c.args, c.places)
	all := len(where) > 0
	for _, l := range where {
		if r.effect == Allow {
			all = all && r.path.covers(l.named, false) && r.path.covers(l.real, false)
			continue
		}
		if c.either(l, r, pathGlob.coversAny) {
			j.hit(r, l.named, false)
		} else if c.subject.Searches && !l.file && c.either(l, r, pathGlob.reachesAny) {
			j.hit(r, l.named, true)
		}
	}
	if r.effect == Allow && all {
		j.hit(r, where[0].named, false)
		j.allowed = true
	}
}

// either reports whether a test holds for the rule's pattern, as it is written or, where the file system does not tell case apart, in any
// case.
func (c *call) either(l location, r *rule, holds func(pathGlob, location) bool) bool {
	return holds(r.path, l) || holds(r.folded, l.folded()) && files.FoldsCase(c.places.root, l.real)
}

// script reads all command lines of the call as one script. Of several lines, one that
// runs nothing is a doubt: the tool may see a command where bash sees none.
func (c *call) script() shell.Script {
	lines := c.args.texts(c.subject.Arg)
	var all shell.Script
	for _, line := range lines {
		s := c.places.reader().Read(line)
		if len(lines) > 1 && len(s.Commands) == 0 && s.Doubt == "" {
			s.Doubt = "one of its command lines runs nothing"
		}
		all.Commands = append(all.Commands, s.Commands...)
		all.Suspects = append(all.Suspects, s.Suspects...)
		all.Doubt = cmp.Or(all.Doubt, s.Doubt)
		all.Complex = all.Complex || s.Complex
		all.Raise(s.Finding)
		all.Notes = append(all.Notes, s.Notes...)
		all.Unseen = append(all.Unseen, s.Unseen...)
	}
	if c.subject.Env != "" && !c.args.empty(c.subject.Env) {
		const why = "the call sets environment variables"
		all.Doubt = cmp.Or(all.Doubt, why)
		all.Raise(shell.Finding{Level: shell.Dangerous, Reason: why, Part: c.subject.Env})
	}
	return all
}

// commands judges the simple commands of all command lines, each by itself. With safe, those that only read the project need no rule.
func (c *call) commands(rules []*rule, safe bool, j *judgement) {
	script := c.script()
	j.judged, j.command, j.unseen = true, script.Finding, script.Unseen
	if len(rules) > 0 || script.Level == shell.Forbidden {
		j.doubt = script.Doubt
	}
	forbids, all := false, len(script.Commands) > 0 && script.Doubt == ""
	for _, r := range rules {
		if r.effect != Allow {
			forbids = true
			forbid(r, script, j)
		}
	}
	asked := map[string]bool{}
	for _, m := range j.matches {
		asked[m.part] = !m.maybe
	}
	for i := range script.Commands {
		cmd := &script.Commands[i]
		ok, exact := permit(rules, cmd, j)
		ok = ok || safe && cmd.Level == shell.Safe && !script.Complex
		if cmd.Opaque && !exact && j.doubt == "" && len(rules) > 0 {
			j.doubt = fmt.Sprintf("it is not known what %s runs", first(cmd.Plain))
		}
		if !ok {
			all = false
			j.uncovered.Raise(cmd.Finding)
			if !asked[cmd.Text] && len(rules) > 0 {
				j.open = append(j.open, cmd.Text)
			}
		}
	}
	if script.Doubt != "" {
		j.uncovered.Raise(script.Finding)
	}
	switch whole := c.whole(rules, j); {
	case script.Level == shell.Forbidden:
	case j.allowed && !forbids, whole:
		j.allowed, j.doubt = true, "" // a rule without a pattern allows every call, one without a wildcard its line
	case all && j.doubt == "":
		j.allowed = true
	}
}

// whole reports whether an allow rule without a wildcard is the call's only command line, letter by letter.
func (c *call) whole(rules []*rule, j *judgement) bool {
	lines := c.args.texts(c.subject.Arg)
	if len(lines) != 1 || c.subject.Env != "" && !c.args.empty(c.subject.Env) {
		return false
	}
	for _, r := range rules {
		if r.effect == Allow && r.line != "" && r.line == strings.TrimSpace(lines[0]) {
			j.hit(r, r.line, false)
			return true
		}
	}
	return false
}

// forbid records the commands that an ask or deny rule matches. If there are none, it
// records the first command that the rule may match.
func forbid(r *rule, script shell.Script, j *judgement) {
	var maybe *shell.Command
	found := false
	for _, list := range [][]shell.Command{script.Commands, script.Suspects} {
		for i := range list {
			cmd := &list[i]
			if r.glob.matches(cmd.Plain) || cmd.Text != cmd.Plain && r.glob.matches(cmd.Text) {
				j.hit(r, cmd.Text, false)
				found = true
				if r.effect == Deny {
					return
				}
			} else if maybe == nil && strings.IndexByte(cmd.Plain, shell.Unknown) >= 0 && (r.glob.may(cmd.Plain) || r.glob.may(cmd.Text)) {
				maybe = cmd
			}
		}
	}
	if maybe != nil && !found {
		j.hit(r, maybe.Text, true)
	}
}

// permit reports whether a command is allowed, and whether by a rule without wildcards. A
// command that only runs another one needs no rule. A rule with wildcards covers no dangerous form of a program.
func permit(rules []*rule, cmd *shell.Command, j *judgement) (ok, exact bool) {
	for _, r := range rules {
		if r.effect != Allow || !r.glob.matches(cmd.Text) {
			continue
		}
		if !r.glob.exact() && (cmd.Level >= shell.Dangerous || r.glob.fixed(cmd.Text) < cmd.Fixed) || cmd.Level >= shell.Dangerous && cmd.Quoted {
			if j.refused == nil {
				j.refused = r
			}
			continue
		}
		j.hit(r, cmd.Text, false)
		ok, exact = true, exact || r.glob.exact()
	}
	return ok || cmd.Transparent, exact
}

func first(text string) string {
	name, _, _ := strings.Cut(text, " ")
	return shown(name)
}

func shown(part string) string { return strings.ReplaceAll(part, string(shell.Unknown), "…") }

// decide sets the answer from the matches: deny beats ask beats allow, and an uncertain
// match or a doubt asks. What a sandbox confines and no rule decides runs, but for what the sandbox cannot see.
func (j *judgement) decide(def Default, tool message.Tool) {
	maybe := -1
	for i, m := range j.matches {
		switch {
		case m.rule.effect == Deny && !m.maybe:
			j.settle(i, Deny, "denied by the rule "+m.rule.text)
			return
		case m.rule.effect == Ask && !m.maybe:
			if j.effect == "" {
				j.settle(i, Ask, "the rule "+m.rule.text+" asks for it")
			}
		case m.maybe && maybe < 0:
			maybe = i
		}
	}
	sandboxed := j.confined != nil && j.confined.On && (!j.allowed || j.doubt != "")
	switch {
	case j.command.Level == shell.Forbidden:
		j.decided, j.effect, j.reason = nil, Deny, said("no rule can allow it", j.command)
	case def == DefaultDeny && !j.allowed && (j.effect == "" || len(j.open) > 0):
		j.decided = nil
		j.byDefault(def, tool)
	case j.effect != "":
	case maybe >= 0:
		m := j.matches[maybe]
		j.settle(maybe, Ask, fmt.Sprintf("it may do what the rule %s is about", m.rule.text))
	case sandboxed && len(j.unseen) > 0:
		j.effect, j.reason = Ask, said("the sandbox cannot see it", j.unseen[0])
	case sandboxed:
		j.effect, j.reason = Allow, "the sandbox confines it"
	case j.doubt != "":
		j.effect, j.reason = Ask, said("the rules cannot judge it", j.uncovered)
		if j.uncovered.Reason == "" {
			j.reason += ": " + j.doubt
		}
	case j.allowed:
		for i, m := range j.matches {
			if m.rule.effect == Allow {
				j.settle(i, Allow, "allowed by the rule "+m.rule.text)
				return
			}
		}
		j.effect, j.reason = Allow, "it only reads the project"
	default:
		j.byDefault(def, tool)
	}
}

// said adds what was found to a sentence.
func said(sentence string, f shell.Finding) string {
	if f.Reason == "" {
		return sentence
	}
	return fmt.Sprintf("%s: %s (%q)", sentence, shown(f.Reason), shown(f.Part))
}

func (j *judgement) settle(i int, effect Effect, reason string) {
	j.decided, j.effect, j.reason = &j.matches[i], effect, reason
}

// byDefault sets the answer of the default.
func (j *judgement) byDefault(def Default, tool message.Tool) {
	j.def = def
	defer j.because()
	notes := tool.Annotations
	switch {
	case def == DefaultDeny:
		j.effect, j.reason = Deny, "no rule allows it"
	case def == DefaultAsk:
		j.effect, j.reason = Ask, "no rule allows it"
	case def == DefaultAllow:
	case notes.Destructive:
		j.effect, j.reason = Ask, "it may change or delete things"
	case notes.OpenWorld:
		j.effect, j.reason = Ask, "it reaches beyond this machine or runs what others wrote"
	}
}

// because adds to the reason of a question what the judge of commands found.
func (j *judgement) because() {
	switch {
	case j.effect != Ask || !j.judged:
	case j.refused != nil:
		j.reason = said(fmt.Sprintf("the rule %s does not cover it", j.refused.text), j.uncovered)
	default:
		j.reason = said(j.reason, j.uncovered)
	}
}

// decision returns the judgement as a decision of the hook. An allowed call gets no
// opinion: later hooks may still ask or deny.
func (j *judgement) decision() hook.ToolDecision {
	var narrowed hook.ToolDecision
	if j.grant != (hook.Grant{}) {
		narrowed = hook.NarrowTool(j.grant)
	}
	switch j.effect {
	case Deny:
		return hook.DenyTool(j.reason)
	case Ask:
		return hook.ToolDecision{Ruling: hook.AskTool(j.reason).Merge(narrowed.Ruling, false)}
	}
	return narrowed
}
