package agentfile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

// effect is the effect on an agent if a key of Claude Code is ignored.
type effect int

const (
	unheard  effect = iota // not a key of Claude Code
	harmless               // the agent does the same, or less
	loosens                // the agent could do more than its author allowed
)

func claudeKey(key string) effect {
	switch {
	case slices.Contains(harmlessKeys(), key):
		return harmless
	case slices.Contains(loosensKeys(), key):
		return loosens
	}
	return unheard
}

func harmlessKeys() []string {
	return []string{"background", "color", "effort", "initialPrompt", "mcpServers", "memory", "skills"}
}

func loosensKeys() []string {
	return []string{"disallowedTools", "hooks", "isolation", "permissionMode"}
}

// limitKeys returns the keys that restrict an agent. People write "allowedTools" for
// "tools", because other settings have that name.
func limitKeys() []string { return append(loosensKeys(), "tools", "maxTurns", "allowedTools") }

func claudeFront() *yamldoc.Keys {
	return &yamldoc.Keys{
		Free:    []string{"description", "initialPrompt", "version", "author", "category"},
		Guarded: append(limitKeys(), "model", "mcpServers"),
		Other:   append(harmlessKeys(), "name"),
	}
}

// asksAnyway reports whether ignoring this value of permissionMode is safe. It is, unless
// the mode is stricter than this program, which asks in every mode.
func asksAnyway(v *yaml.Node) bool {
	modes := []string{"", "null", "~", "default", "acceptEdits", "auto", "bypassPermissions"}
	return v.Kind == yaml.ScalarNode && slices.Contains(modes, v.Value)
}

// claudeTool returns this program's name of a tool of Claude Code.
func claudeTool(name string) (own string, ok bool) {
	switch name {
	case "Bash", "Edit", "Glob", "Grep", "Read", "Skill", "Write":
		return strings.ToLower(name), true
	case "Agent", "Task": // Task is the older name
		return "delegate", true
	case "AskUserQuestion":
		return "ask_user", true
	}
	return name, strings.HasPrefix(name, "mcp__") && message.ValidToolName(name)
}

// foreign reads a key with its meaning in Claude Code; false for keys with the same meaning
// in both.
func (r *reader) foreign(k, v *yaml.Node) bool {
	switch k.Value {
	case "name", "description":
		return false
	case "model":
		return v.Value == "inherit"
	case "tools":
		r.claudeTools(v)
		return true
	case "maxTurns":
		r.cfg.Limits.Steps = int(r.fields.Number(v, "maxTurns"))
		return true
	}
	effect := claudeKey(k.Value)
	if near := yamldoc.Almost(k.Value, limitKeys()); effect == unheard && near != "" {
		r.skip = true
		r.warnAt(k, fmt.Sprintf("key %q is almost %q, which restricts the agent; the agent is left out", k.Value, near), "mend the key")
		return true
	}
	if effect == loosens && (k.Value != "permissionMode" || !asksAnyway(v)) {
		r.skip = true
		r.warnAt(k, k.Value+" restricts the agent and is not supported here; the agent is left out",
			"write the agent for this program, in .grapnel/agents")
		return true
	}
	r.warnAt(k, fmt.Sprintf("key %q is passed over", k.Value), "")
	return true
}

// claudeTools reads a list, or one line separated by commas. A tool that does
// not exist here and one with a pattern, Bash(git:*), are left out: the agent
// gets less than the file asks for, never more.
func (r *reader) claudeTools(v *yaml.Node) {
	var names []string
	switch {
	case v.Kind == yaml.SequenceNode:
		for _, n := range v.Content {
			names = append(names, n.Value)
		}
	case v.Kind == yaml.MappingNode:
		r.errorAt(v, "tools is no list", "write `tools: Read, Grep`")
		return
	case v.Tag == "!!null" || v.Value == "" || v.Value == "*":
		return
	default:
		names = strings.Split(v.Value, ",")
	}
	tools, gone := []string{}, []string{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		own, ok := claudeTool(name)
		switch {
		case name == "": // after the last comma
		case !ok:
			gone = append(gone, name)
		case !slices.Contains(tools, own):
			tools = append(tools, own)
		}
	}
	if len(gone) > 0 {
		r.warnAt(v, "the agent does not get "+strings.Join(gone, ", "), "")
	}
	r.cfg.Tools = tools
}
