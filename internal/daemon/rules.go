package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/spell"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/policy"
)

// Explanation is what the rules say of a call.
type Explanation = policy.Explanation

// loadPolicy reads the rules of the user, of the project and of its agents. Those of
// the project that allow something count if they are trusted; else they are taken
// out of the agents, too.
func loadPolicy(ctx context.Context, o Options, agents []Agent, tools func() []hook.Tool) (*policy.Policy, error) {
	user, err := o.Paths.parseRules(o.Paths.userRules(), readUser)
	if err != nil {
		return nil, err
	}
	var project policy.Rules
	if o.Paths.projectRules() != o.Paths.userRules() {
		if project, err = o.Paths.parseRules(o.Paths.projectRules(), o.Paths.readProject); err != nil {
			return nil, err
		}
	}
	if project, err = trustRules(ctx, o, project, agents); err != nil {
		return nil, err
	}
	def := user.Default
	if def == "" {
		def = policy.DefaultAnnotations
	}
	return policy.New([]policy.Rules{user, project}, &policy.Options{
		Default: def, Root: o.Paths.Root, Home: o.Paths.Home, Tools: tools,
	})
}

// parseRules reads a file of rules; there need not be one.
func (p Paths) parseRules(file string, read func(string) ([]byte, error)) (policy.Rules, error) {
	data, err := read(file)
	if err != nil || data == nil {
		return policy.Rules{}, err
	}
	return policy.Parse(data, p.Short(file))
}

// trustRules asks about what the project's file and agents allow. Without an
// approval it returns the file's rules tightened, and tightens the sections.
func trustRules(ctx context.Context, o Options, project policy.Rules, agents []Agent) (policy.Rules, error) {
	tight, dropped := project.Tightened()
	var allowed []string
	add := func(where string, rules []policy.Rule, def policy.Default) {
		for _, r := range rules {
			allowed = append(allowed, where+": "+r.Rule)
		}
		if def == policy.DefaultAllow {
			allowed = append(allowed, where+": everything that no rule speaks of")
		}
	}
	add(project.Source, dropped, project.Default)
	sections := make([]hook.AgentConfig, len(agents))
	for i, a := range agents {
		sections[i] = a.Config
		rules, _, err := hook.SectionOf[policy.Rules](&a.Config, "policy")
		if err != nil {
			continue // building the agent says so, with the place
		}
		own, dropped := rules.Tightened()
		if len(dropped) == 0 && own.Default == rules.Default {
			continue
		}
		add("agent "+a.Config.Name, dropped, rules.Default)
		text, err := own.JSON()
		if err != nil {
			return tight, fmt.Errorf("agent %q: section policy: %w", a.Config.Name, err)
		}
		sections[i] = a.Config.WithSection("policy", text)
	}
	if len(allowed) == 0 {
		return project, nil
	}
	answer, err := confirm(ctx, o, Servers{File: "the project", Rules: allowed}, filepath.Join(o.Paths.Root, "policy"), []byte(strings.Join(allowed, "\n")))
	if err != nil || answer == TrustOnce || answer == TrustAlways {
		return project, err
	}
	for i := range agents {
		agents[i].Config = sections[i]
	}
	why := "nobody has approved them; run the command in a terminal to be asked, or with --yes, or write them in " + o.Paths.Short(o.Paths.userRules())
	if answer == TrustRefused {
		why = refusedTrust
	}
	o.Note(fmt.Sprintf("what the project's rules allow is asked about all the same (%s): %s", strings.Join(allowed, "; "), why))
	return tight, nil
}

// Explain says what the rules make of a call of the tool by the agent. The arguments
// are bound first, as those of a model are.
func (a *App) Explain(ctx context.Context, agent *runtime.Agent, tool string, args hook.JSON) (Explanation, error) {
	all := a.Schema()
	i := slices.IndexFunc(all, func(t hook.Tool) bool { return strings.EqualFold(t.Name, tool) })
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
	return a.Daemon.Policy.Explain(agent.Config(), all[i], inv.Args())
}
