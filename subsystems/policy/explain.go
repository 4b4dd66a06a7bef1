package policy

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Explanation explains the policy's answer to one call. It has parts of the arguments:
// show it to people, and keep it out of logs.
type Explanation struct {
	Tool string `json:"tool"`
	// Effect is the policy's answer; "" is no opinion, as for "allow": other hooks may
	// still ask or deny.
	Effect Effect `json:"effect"`
	// Reason is a sentence without a full stop; "" for no opinion.
	Reason string `json:"reason,omitzero"`
	// Default is the default that decided; "" if a rule or a doubt did.
	Default Default `json:"default,omitzero"`
	// Matches are the matching rules, in the order of the rules.
	Matches []Match `json:"matches,omitempty"`
	// Open are the parts of the call that no rule allows or asks for.
	Open []string `json:"open,omitempty"`
	// Doubt is why no rule with a pattern can allow the call; "" if rules can.
	Doubt string `json:"doubt,omitzero"`
	// Confinement is what the sandbox does with the call; nil if there is none, or the call is no command.
	Confinement *Confinement `json:"confinement,omitempty"`
	// Command is what the judge of commands says; nil if the call is no command.
	Command *CommandVerdict `json:"command,omitempty"`
	// Grant limits the call; nil if nothing limits it.
	Grant *hook.Grant `json:"grant,omitempty"`
}

// CommandVerdict is what the judge of commands says of a command line, whatever the rules are.
type CommandVerdict struct {
	// Verdict is "safe" if the line only reads the project and prints, "deny" if no rule can allow it, and "ask" otherwise.
	Verdict string `json:"verdict"`
	// Reason says why it is not safe, about a Part of the line; both are "" if it is.
	Reason string `json:"reason,omitzero"`
	Part   string `json:"part,omitzero"`
	// Unseen are sentences about what a sandbox cannot see of it, with the parts of the line.
	Unseen []string `json:"unseen,omitempty"`
}

// Match is a rule that matches a call.
type Match struct {
	Effect Effect `json:"effect"`
	// Rule is the text of the rule, At its place.
	Rule string `json:"rule"`
	At   string `json:"at"`
	// Part is the part of the call that matches, a command or a path; "" is the whole
	// call. Parts that are unknown before the call runs are shown as ….
	Part string `json:"part,omitzero"`
	// Maybe: the match depends on unknown parts, so a person is asked.
	Maybe bool `json:"maybe,omitzero"`
	// Decided: this rule decided.
	Decided bool `json:"decided,omitzero"`
}

// Explain returns the policy's answer to a call of the tool by an agent, and the reasons.
// A nil cfg is an agent without rules of its own. The sender is not known: see
// [Rule.Senders]. The error says that the arguments are not a JSON object, or that the
// agent's section is wrong.
func (p *Policy) Explain(cfg *hook.AgentConfig, tool message.Tool, args message.JSON) (Explanation, error) {
	return p.explain(cfg, sender{}, tool, args)
}

// ExplainFor is Explain for the calls in the turns of a sender.
func (p *Policy) ExplainFor(cfg *hook.AgentConfig, by string, tool message.Tool, args message.JSON) (Explanation, error) {
	return p.explain(cfg, sender{by, true}, tool, args)
}

func (p *Policy) explain(cfg *hook.AgentConfig, by sender, tool message.Tool, args message.JSON) (Explanation, error) {
	set, err := p.of(cfg)
	if err != nil {
		return Explanation{}, err
	}
	j, err := set.judge(question{p.compiler, by, tool, args, p.confinement(hook.NewToolCall(hook.ToolCallData{Tool: tool, Args: args}))})
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Tool: tool.Name, Effect: j.effect, Reason: j.reason, Default: j.def, Doubt: j.doubt, Confinement: j.confined}
	for i := range j.matches {
		m := &j.matches[i]
		e.Matches = append(e.Matches, Match{
			Effect: m.rule.effect, Rule: m.rule.text, At: m.rule.at,
			Part: shown(m.part), Maybe: m.maybe, Decided: m == j.decided,
		})
	}
	if j.judged {
		e.Command = &CommandVerdict{Verdict: j.command.Verdict(), Reason: shown(j.command.Reason), Part: shown(j.command.Part)}
		for _, f := range j.unseen {
			e.Command.Unseen = append(e.Command.Unseen, fmt.Sprintf("%s (%q)", shown(f.Reason), shown(f.Part)))
		}
	}
	for _, part := range j.open {
		e.Open = append(e.Open, shown(part))
	}
	if j.effect != Deny && j.grant != (hook.Grant{}) {
		e.Grant = &j.grant
	}
	return e, nil
}

// String returns the explanation in lines: the answer, then the matching rules, with a *
// before the one that decided.
func (e Explanation) String() string {
	var sb strings.Builder
	answer := string(e.Effect)
	if e.Effect == "" {
		answer = "no opinion"
	}
	fmt.Fprintf(&sb, "%s: %s", e.Tool, answer)
	if e.Reason != "" {
		sb.WriteString(", " + e.Reason)
	}
	if e.Default != "" {
		fmt.Fprintf(&sb, " (default: %s)", e.Default)
	}
	sb.WriteByte('\n')
	for _, m := range e.Matches {
		mark, about := " ", ""
		if m.Decided {
			mark = "*"
		}
		if m.Part != "" {
			about = ", about " + line(m.Part)
		}
		if m.Maybe {
			about += ", perhaps"
		}
		fmt.Fprintf(&sb, "%s %-5s %s (%s)%s\n", mark, m.Effect, m.Rule, m.At, about)
	}
	for _, part := range e.Open {
		fmt.Fprintf(&sb, "  no rule for %s\n", line(part))
	}
	if c := e.Command; c != nil {
		fmt.Fprintf(&sb, "  judged: %s", c.Verdict)
		if c.Reason != "" {
			fmt.Fprintf(&sb, ", %s (%q)", line(c.Reason), c.Part)
		}
		sb.WriteByte('\n')
	}
	if c := e.Confinement; c != nil {
		fmt.Fprintf(&sb, "  sandbox: %s\n", line(c.String()))
		if e.Command != nil && len(e.Command.Unseen) > 0 {
			fmt.Fprintf(&sb, "  the sandbox cannot see: %s\n", line(strings.Join(e.Command.Unseen, "; ")))
		}
	}
	if e.Doubt != "" && !strings.Contains(e.Reason, e.Doubt) && (e.Command == nil || e.Command.Reason != e.Doubt) {
		fmt.Fprintf(&sb, "  in doubt: %s\n", e.Doubt)
	}
	if e.Grant != nil {
		fmt.Fprintf(&sb, "  limited to: %s\n", e.Grant)
	}
	return sb.String()
}

// line escapes line breaks, so that a text cannot look like lines of an explanation.
func line(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }
