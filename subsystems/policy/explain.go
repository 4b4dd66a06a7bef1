package policy

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Explanation says what the rules say of one call, and why. It holds parts of the
// arguments: show it to people, and keep it out of logs.
type Explanation struct {
	Tool string `json:"tool"`
	// Effect is what the policy answers; "" is no opinion, as for "allow": other hooks
	// may still ask or deny.
	Effect Effect `json:"effect"`
	// Reason says it in a sentence without a full stop; "" for no opinion.
	Reason string `json:"reason,omitzero"`
	// Default is the default that has decided; "" if a rule has, or a doubt.
	Default Default `json:"default,omitzero"`
	// Matches are all rules that speak of the call, in the order of the rules.
	Matches []Match `json:"matches,omitempty"`
	// Open are the parts of the call that no rule allows or asks for.
	Open []string `json:"open,omitempty"`
	// Doubt is why rules with patterns cannot allow the call, whatever they say; "" if
	// they can.
	Doubt string `json:"doubt,omitzero"`
	// Grant is what is left of what the call may do; nil if nothing narrows it.
	Grant *hook.Grant `json:"grant,omitempty"`
}

// Match is a rule that speaks of a call.
type Match struct {
	Effect Effect `json:"effect"`
	// Rule is as it is written, At where.
	Rule string `json:"rule"`
	At   string `json:"at"`
	// Part is what of the call it is about, a command or a path; "" is the whole call.
	// What is known only when it runs is shown as ….
	Part string `json:"part,omitzero"`
	// Maybe: it depends on what is not known, so a person is asked.
	Maybe bool `json:"maybe,omitzero"`
	// Decided: this one has decided.
	Decided bool `json:"decided,omitzero"`
}

// Explain says what the policy answers to a call of the tool by an agent, and why.
// Nil is an agent without rules of its own. An error says that the arguments are no
// JSON object, or that the agent's section cannot be read.
func (p *Policy) Explain(cfg *hook.AgentConfig, tool message.Tool, args message.JSON) (Explanation, error) {
	set, err := p.of(cfg)
	if err != nil {
		return Explanation{}, err
	}
	j, err := set.judge(p.compiler.subjects, p.compiler.places, tool, args)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Tool: tool.Name, Effect: j.effect, Reason: j.reason, Default: j.def, Doubt: j.doubt}
	for i := range j.matches {
		m := &j.matches[i]
		e.Matches = append(e.Matches, Match{
			Effect: m.rule.effect, Rule: m.rule.text, At: m.rule.at,
			Part: shown(m.part), Maybe: m.maybe, Decided: m == j.decided,
		})
	}
	for _, part := range j.open {
		e.Open = append(e.Open, shown(part))
	}
	if j.effect != Deny && j.grant != (hook.Grant{}) {
		e.Grant = &j.grant
	}
	return e, nil
}

// String returns the explanation in lines: the answer, then every rule that speaks
// of the call, with a * in front of the one that has decided.
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
	if e.Doubt != "" && !strings.HasSuffix(e.Reason, e.Doubt) {
		fmt.Fprintf(&sb, "  in doubt: %s\n", e.Doubt)
	}
	if e.Grant != nil {
		fmt.Fprintf(&sb, "  limited to: %s\n", limits(*e.Grant))
	}
	return sb.String()
}

// line keeps a text of several lines from looking like lines of an explanation.
func line(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

// limits are those of a grant in words.
func limits(g hook.Grant) string {
	var out []string
	add := func(on bool, text string) {
		if on {
			out = append(out, text)
		}
	}
	add(g.Void, "nothing")
	add(g.ReadOnly, "read only")
	add(g.NoNetwork, "no network")
	add(g.Root != "", "below "+g.Root)
	add(g.Timeout > 0, g.Timeout.String())
	add(g.MaxOutput > 0, fmt.Sprintf("%d bytes", g.MaxOutput))
	return strings.Join(out, ", ")
}
