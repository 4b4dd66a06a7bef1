package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// Explanation is the decision of the rules about a call.
type Explanation = policy.Explanation

// loadPolicy reads the rules of the user, of the project and of its agents. Rules of the project
// and its agents that allow something count only if they are trusted; otherwise it removes them.
func loadPolicy(ctx context.Context, o Options, agents []Agent, d *Hooks, tools func() []message.Tool) (*policy.Policy, error) {
	user, err := o.Paths.parseRules(o.Paths.userRules(), readUser)
	if err != nil {
		return nil, err
	}
	project, err := loadProjectRules(ctx, o, agents)
	if err != nil {
		return nil, err
	}
	def := user.Default
	if def == "" {
		def = policy.DefaultAnnotations
	}
	return policy.New([]policy.Rules{user, project}, &policy.Options{
		Default: def, Root: o.Paths.Root, Home: o.Paths.Home, Private: []string{o.Paths.userState()}, Tools: tools,
		Confined: func(call *hook.ToolCall) (c policy.Confinement) {
			if d.OS != nil && strings.EqualFold(call.Tool().Name, ostools.ToolBash) {
				c.On, c.Requests, c.Why = d.OS.Confine(call)
			}
			return c
		},
	})
}

// loadProjectRules reads the rules of the project. It removes those that nobody has approved, from the agents as well.
func loadProjectRules(ctx context.Context, o Options, agents []Agent) (rules policy.Rules, err error) {
	if o.Paths.projectRules() != o.Paths.userRules() {
		if rules, err = o.Paths.parseRules(o.Paths.projectRules(), o.Paths.readProject); err != nil {
			return rules, err
		}
	}
	return trustRules(ctx, o, rules, agents)
}

// parseRules reads a file of rules, if there is one.
func (p Paths) parseRules(file string, read func(string) ([]byte, error)) (policy.Rules, error) {
	data, err := read(file)
	if err != nil || data == nil {
		return policy.Rules{}, err
	}
	return policy.Parse(data, p.Short(file))
}

// ruleSource has the rules of one file of the project.
type ruleSource struct {
	Where string
	Rules policy.Rules
}

// allowed and excepted return the lines of the question about the rules.
func (s ruleSource) allowed() (out []string) {
	for _, r := range s.Rules.Allow {
		out = append(out, s.Where+": "+ruleLine(r))
	}
	if s.Rules.AllowSafeCommands {
		out = append(out, s.Where+": commands that only read the project")
	}
	if s.Rules.Default == policy.DefaultAllow {
		out = append(out, s.Where+": everything that no rule speaks of")
	}
	return out
}

func (s ruleSource) excepted() (out []string) {
	for _, r := range s.Rules.Ask {
		out = append(out, s.Where+": asks about "+ruleLine(r))
	}
	for _, r := range s.Rules.Deny {
		out = append(out, s.Where+": denies "+ruleLine(r))
	}
	if d := s.Rules.Default; d != "" && d != policy.DefaultAllow {
		out = append(out, fmt.Sprintf("%s: what no rule speaks of: %s", s.Where, d))
	}
	return out
}

// ruleLine returns the text of a rule with its senders and its grant.
func ruleLine(r policy.Rule) string {
	line := r.Rule
	if r.Senders != nil {
		line += " for " + strings.Join(r.Senders, ", ")
	}
	if r.Grant == (policy.Grant{}) {
		return line
	}
	grant, err := json.Marshal(r.Grant)
	if err != nil {
		return line + " (limited)"
	}
	return line + " limited to " + string(grant)
}

// trustRules asks whether the project's file and agents may allow calls. The approval covers all
// their rules, because rules that ask or deny limit those that allow. Without an approval it
// tightens the rules of the file and the sections.
func trustRules(ctx context.Context, o Options, project policy.Rules, agents []Agent) (policy.Rules, error) {
	sources := []ruleSource{{project.Source, project}}
	for _, a := range agents {
		rules, found, err := hook.SectionOf[policy.Rules](&a.Config, "policy")
		if err == nil && found { // the registration of the agent reports an error, with the place
			sources = append(sources, ruleSource{"agent " + a.Config.Name, rules})
		}
	}
	var allowed, excepted []string
	for _, s := range sources {
		allowed, excepted = append(allowed, s.allowed()...), append(excepted, s.excepted()...)
	}
	if len(allowed) == 0 {
		return project, nil
	}
	want := trust.Request{From: "the project", Wants: map[trust.Kind][]string{trust.Rules: allowed, trust.Exceptions: excepted}}
	answer, err := o.confirm(ctx, want, filepath.Join(o.Paths.Root, "policy"), trust.Digest(sources))
	if err != nil || answer.Allows() {
		return project, err
	}
	why := "nobody has approved them; run the command in a terminal to be asked, or with --dangerously-accept-project-rules, or write them in " + o.Paths.Short(o.Paths.userRules())
	if answer == trust.Refused {
		why = refusedTrust
	}
	o.Note(fmt.Sprintf("calls that the project's rules allow still need approval (%s): %s", strings.Join(allowed, "; "), why))
	tight, _ := project.Tightened()
	return tight, tighten(agents)
}

// tighten removes from the agents' sections the rules that allow something.
func tighten(agents []Agent) error {
	for i, a := range agents {
		rules, found, err := hook.SectionOf[policy.Rules](&a.Config, "policy")
		if err != nil || !found || !rules.Loosens() {
			continue
		}
		own, _ := rules.Tightened()
		text, err := own.JSON()
		if err != nil {
			return fmt.Errorf("agent %q: section policy: %w", a.Config.Name, err)
		}
		agents[i].Config = a.Config.WithSection("policy", text)
	}
	return nil
}

// Explain returns the decision of the rules about a call of the tool by the agent, in the turns
// of a sender; "" is a sender that is not known. The arguments are first decoded and checked like those of a model.
func (a *App) Explain(ctx context.Context, agent *runtime.Agent, sender, tool string, args message.JSON) (Explanation, error) {
	all := a.Schema()
	i := slices.IndexFunc(all, func(t message.Tool) bool { return strings.EqualFold(t.Name, tool) })
	if i < 0 {
		names := make([]string, len(all))
		for j, t := range all {
			names[j] = t.Name
		}
		fix := "there are " + strings.Join(names, ", ")
		if near := spell.Closest(tool, names); near != "" {
			fix = fmt.Sprintf("did you mean %s?", near)
		}
		return Explanation{}, fmt.Errorf("there is no tool %q; %s", tool, fix)
	}
	call := hook.NewToolCall(hook.ToolCallData{Tool: all[i], Args: args, Original: args})
	inv, _ := a.assembly.hook.Dispatch(ctx, call)
	if err := inv.Err(); err != nil {
		return Explanation{}, fmt.Errorf("the call would be refused before any rule is asked: %w", err)
	}
	if by := agent.Plan().OffBy("Policy"); by != "" {
		return Explanation{}, fmt.Errorf("no rule is asked: Policy is turned off by %s", by)
	}
	if sender != "" {
		return a.Hooks.Policy.ExplainFor(agent.Config(), sender, all[i], inv.Args())
	}
	return a.Hooks.Policy.Explain(agent.Config(), all[i], inv.Args())
}

// Confined says what the sandbox would let a call do that waits for approval; nil if the call does not run in it.
func (a *App) Confined(q *hook.ApprovalRequest) []string {
	if a.Hooks.OS == nil || !strings.EqualFold(q.Tool, ostools.ToolBash) {
		return nil
	}
	return a.Hooks.OS.Confined(q.Args, q.Grant)
}
