package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// explained adds to the error of a registration the agent's file, the line of a wrong section,
// and the reason why a tool or its server is missing.
func (a *App) explained(agent Agent, cfg hook.AgentConfig, err error) error {
	if agent.File == "" {
		return err
	}
	text := err.Error()
	if _, rest, ok := strings.Cut(text, fmt.Sprintf("agent %q: section ", cfg.Name)); ok {
		section, _, _ := strings.Cut(rest, ":")
		return located(agent.Problem(section, fmt.Sprintf("agent %q: section %s", cfg.Name, rest), ""), err)
	}
	if _, rest, ok := strings.Cut(text, "HG05"); ok { // the agent's layer cannot be applied
		return located(agent.Problem(runtime.LayerSection, "HG05"+rest, ""), err)
	}
	for _, tool := range cfg.Tools {
		if !strings.Contains(text, fmt.Sprintf("tool %q: nobody owns it", tool)) {
			continue
		}
		if owner := a.Hooks.Compose().Plan().Owner(tool); owner != "" {
			by := a.Runtime.Plan().OffBy(owner)
			if layer, ok, _ := runtime.AgentLayer(&cfg); ok && by == "" {
				by = layer.Source
			}
			return located(agent.Problem("tools", fmt.Sprintf("agent %q: tool %q: %s, which has it, is turned off by %s", cfg.Name, tool, owner, by), "take the tool out of the list, or leave it on"), err)
		}
		rest, ok := strings.CutPrefix(tool, "mcp__")
		if ok {
			server, _, _ := strings.Cut(rest, "__")
			return located(agent.Problem("tools", fmt.Sprintf("agent %q: tool %q: %s", cfg.Name, tool, a.missing(server)), ""), err)
		}
	}
	return fmt.Errorf("%s: %w", agent.File, err)
}

// locatedError has the text of a problem and wraps its cause.
type locatedError struct {
	agentfile.Problem
	err error
}

func located(p agentfile.Problem, err error) error { return &locatedError{p, err} }

func (e *locatedError) Error() string { return e.Problem.String() }

func (e *locatedError) Unwrap() error { return e.err }

// missing returns the reason why a server does not have a tool.
func (a *App) missing(server string) string {
	all := a.servers()
	i := slices.IndexFunc(all, func(s mcp.Status) bool { return s.Name == server })
	switch {
	case i < 0:
		return fmt.Sprintf("there is no MCP server %s; declare it in .mcp.json, or take the tool out of the agent's list", server)
	case all[i].Reason != "":
		return fmt.Sprintf("its MCP server %s is not there: %s", server, all[i].Reason)
	}
	return fmt.Sprintf("the MCP server %s has no such tool; it has %s", server, cmp.Or(strings.Join(all[i].Tools, ", "), "none"))
}

// checkChoice returns an error if the agent must always call a tool that it does not have.
func (a *App) checkChoice(of Agent, agent *runtime.Agent) error {
	choice := agent.Config().Model.Choice
	has := func(t message.Tool) bool { return t.Name == choice.Tool }
	tools := agent.Tools().Tools().Slice()
	switch {
	case choice.Mode == message.ToolChoiceRequired && len(tools) == 0:
		return located(of.Problem("tool_choice", "tool_choice is required, but the agent has no tool", "write `tool_choice: auto`"), nil)
	case choice.Mode != message.ToolChoiceTool || slices.ContainsFunc(tools, has):
		return nil
	}
	why := "nobody owns it"
	for _, t := range a.Tools(agent) {
		if t.Name == choice.Tool {
			why = t.OutOfScope
		}
	}
	return located(of.Problem("tool_choice", fmt.Sprintf("tool_choice names %q: %s", choice.Tool, why), "name a tool that the agent has"), nil)
}

// limited adds to the outcome, for every limit that the turn has reached, its value and the
// file to raise it in.
func (a *App) limited(agent *runtime.Agent, out hook.TurnOutcome) hook.TurnOutcome {
	signals := out.Signals.Slice()
	changed := false
	for i, s := range signals {
		if text := a.limit(agent, s.Reason); s.By == "" && text != "" {
			signals[i].Text, changed = text, true
		}
	}
	if changed {
		out.Signals = message.Freeze(signals)
	}
	return out
}

func (a *App) limit(agent *runtime.Agent, reason hook.StopReason) string {
	l, most := agent.Config().Limits, agent.Config().Model.MaxTokens
	var what, key string
	switch {
	case reason == hook.StopStepsLimit && l.Steps >= 0:
		what, key = fmt.Sprintf("%d steps", cmp.Or(l.Steps, agent.Config().Loop.Steps())), "steps"
	case reason == hook.StopTokenLimit:
		what, key = fmt.Sprintf("%d tokens", l.Tokens), "tokens"
	case reason == hook.StopTimeLimit:
		what, key = term.Took(l.Time), "time"
	case reason == hook.StopMaxTokens && most > 0:
		what, key = fmt.Sprintf("%d tokens for one answer", most), "max_tokens"
	default:
		return ""
	}
	file := ".grapnel/agents/" + agent.Name() + ".md"
	if own := a.File(agent.Name()); own != "" {
		file = a.paths.Short(own)
	}
	return fmt.Sprintf("the limit of %s is reached; raise limits.%s in %s", what, key, file)
}

// damaged adds to the error of a damaged database its file and how to mend it. It returns
// other errors unchanged.
func damaged(file string, err error) error {
	if !sqlitedb.Damaged(err) {
		return err
	}
	return fmt.Errorf("%w; the database %s is damaged: %s", err, file, sqlitedb.Advice(file))
}
