package agentfile

import (
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/yamldoc"
)

func (r *reader) keys() map[string]func(v *yaml.Node) {
	keys := map[string]func(v *yaml.Node){
		"name":        func(v *yaml.Node) { r.text(v, "name", &r.cfg.Name) },
		"description": func(v *yaml.Node) { r.text(v, "description", &r.cfg.Description) },
		"model":       r.model,
		"tools":       r.tools,
		"senders":     r.senders,
		"limits":      r.limits,
		"loop":        r.loop,
		"format":      r.format,
		"tool_choice": r.choice,
	}
	for _, name := range []string{"ostools", "skills", "memory", "mcp", "delegate", "policy", "guard", "instructions", "fallback", "compact", "structured", "schedule", "toolbox", "tasks", "sessions", "critique", "audit", "guardrail", "secure", "hooks"} {
		keys[name] = func(v *yaml.Node) { r.section(name, v) }
	}
	return keys
}

// Keys returns the keys that an agent's file may have, sorted.
func Keys() []string { return slices.Sorted(maps.Keys((&reader{}).keys())) }

// frontKeys returns the keys whose values need no quotes, and those that text must not hide.
func (r *reader) frontKeys() *yamldoc.Keys {
	if r.dialect == Claude {
		return claudeFront()
	}
	return &yamldoc.Keys{
		Free:    []string{"description"},
		Guarded: slices.Concat(slices.Sorted(maps.Keys(r.keys())), limitKeys(), []string{"mcpServers"}),
		Other:   harmlessKeys(),
	}
}

// topKey is the name of a top-level key in messages.
const topKey = "key"

func (r *reader) mapping(top *yaml.Node) {
	if r.dialect == Claude {
		own := *top
		own.Content = nil
		seen := map[string]int{}
		for i := 0; i+1 < len(top.Content); i += 2 {
			k, v := top.Content[i], top.Content[i+1]
			if first := seen[k.Value]; first > 0 {
				r.fields.Twice(k, topKey, first)
			} else if !r.foreign(k, v) {
				own.Content = append(own.Content, k, v)
			}
			seen[k.Value] = k.Line
		}
		top = &own
	}
	keys := r.keys()
	for name, read := range keys {
		keys[name] = func(v *yaml.Node) {
			r.at[name] = v
			read(v)
		}
	}
	r.fields.Members(top, topKey, keys)
}

// foreignKey returns the fix for a key that only other programs have; "" for others.
func foreignKey(key string) string {
	if claudeKey(key) == unheard {
		return ""
	}
	return "it is a key of Claude Code's agent files: delete it, or move the file to .claude/agents"
}

func (r *reader) text(v *yaml.Node, key string, to *string) { *to = r.fields.Text(v, key) }

func (r *reader) json(v *yaml.Node) message.JSON { return message.JSON(r.fields.JSON(v)) }

// tools reads the list of tools; an empty list is kept as "none".
func (r *reader) tools(v *yaml.Node) {
	if v.Kind != yaml.SequenceNode {
		r.errorAt(v, "tools is no list", "write `tools: [read, grep]`, or `tools: []` for none")
		return
	}
	tools := make([]string, 0, len(v.Content))
	for _, n := range v.Content {
		switch {
		case n.Kind != yaml.ScalarNode || !message.ValidToolPattern(n.Value):
			r.errorAt(n, fmt.Sprintf("%q is no tool name", n.Value), "use 1 to 64 letters, digits, _ or -, and * for any text: `mcp__github__*`")
		case slices.Contains(tools, n.Value):
			r.errorAt(n, fmt.Sprintf("tool %q is listed twice", n.Value), "delete one of them")
		default:
			tools = append(tools, n.Value)
		}
	}
	r.cfg.Tools = tools
}

// senders reads which tools are for some senders only, in the order of the file.
func (r *reader) senders(v *yaml.Node) {
	const fix = "write `senders: {bash: [ann, \"gateway:*\"]}`: a tool or a pattern, and who may have it called"
	if v.Kind != yaml.MappingNode {
		r.errorAt(v, "senders is no mapping", fix)
		return
	}
	for i := 0; i+1 < len(v.Content); i += 2 {
		tool, list := v.Content[i], v.Content[i+1]
		rule := message.SenderRule{Tools: []string{tool.Value}, Senders: []string{}}
		switch {
		case tool.Kind != yaml.ScalarNode || !message.ValidToolPattern(tool.Value):
			r.errorAt(tool, fmt.Sprintf("%q is no tool name", tool.Value), "use 1 to 64 letters, digits, _ or -, and * for any text: `mcp__github__*`")
			continue
		case list.Kind != yaml.SequenceNode:
			r.errorAt(list, fmt.Sprintf("senders.%s is no list", tool.Value), fix)
			continue
		case slices.ContainsFunc(r.cfg.Senders, func(o message.SenderRule) bool { return o.Tools[0] == tool.Value }):
			r.errorAt(tool, fmt.Sprintf("senders has %q twice", tool.Value), "write one list for both")
			continue
		}
		for _, n := range list.Content {
			if n.Kind != yaml.ScalarNode || n.Value == "" || n.Tag != "!!str" {
				r.errorAt(n, fmt.Sprintf("senders.%s has %q, which is no sender", tool.Value, n.Value), "write the name of a sender, in quotes if it has a * or is a number")
				continue
			}
			rule.Senders = append(rule.Senders, n.Value)
		}
		r.cfg.Senders = append(r.cfg.Senders, rule)
	}
}

func (r *reader) limits(v *yaml.Node) {
	l := &r.cfg.Limits
	r.fields.Mapping(v, "limits", "write `limits: {steps: 10, time: 2m}`", map[string]func(*yaml.Node){
		"steps":          func(n *yaml.Node) { l.Steps = int(r.fields.Number(n, "limits.steps")) },
		"tokens":         func(n *yaml.Node) { l.Tokens = r.fields.Number(n, "limits.tokens") },
		"max_tokens":     func(n *yaml.Node) { r.limit(n, "limits.max_tokens", &r.cfg.Model.MaxTokens) },
		"context_window": func(n *yaml.Node) { r.limit(n, "limits.context_window", &r.cfg.Model.ContextWindow) },
		"time":           func(n *yaml.Node) { l.Time = r.fields.Duration(n, "limits.time") },
	})
}

// loop reads the name of the loop.
func (r *reader) loop(v *yaml.Node) {
	name := message.Loop(r.fields.Text(v, "loop"))
	if name.Check() != nil {
		r.errorAt(v, fmt.Sprintf("there is no loop %.60q", string(name)), fmt.Sprintf("write %s or %s", message.LoopToolCalling, message.LoopPlanAndExecute))
		return
	}
	r.cfg.Loop = name
}

func (r *reader) format(v *yaml.Node) {
	const fix = "write `format: text`, `format: json`, or `format: {schema: {…}, name: …}`"
	if v.Kind == yaml.ScalarNode {
		switch v.Value {
		case "text":
		case "json":
			r.cfg.Model.Format = message.ResponseFormat{JSON: true}
		default:
			r.errorAt(v, fmt.Sprintf("format is %q", v.Value), fix)
		}
		return
	}
	r.fields.Mapping(v, "format", fix, map[string]func(*yaml.Node){
		"name": func(n *yaml.Node) { r.cfg.Model.Format.Name = modelFields{&r.fields}.name(n, "format.name") },
		"schema": func(n *yaml.Node) {
			if n.Kind != yaml.MappingNode {
				r.errorAt(n, "format.schema is no mapping", "write the JSON Schema as YAML")
				return
			}
			r.cfg.Model.Format.JSON, r.cfg.Model.Format.Schema = true, r.json(n)
			r.schema(n, string(r.cfg.Model.Format.Schema))
		},
	})
}

// choice reads whether the model must call a tool.
func (r *reader) choice(v *yaml.Node) {
	if r.cfg.Model.Choice != (message.ToolChoice{}) {
		r.twiceIn(v, "tool_choice", "the agent")
	}
	r.cfg.Model.Choice = modelFields{&r.fields}.choice(v)
}

// agree compares keys that depend on each other.
func (r *reader) agree() {
	choice, at := r.cfg.Model.Choice, r.at["tool_choice"]
	switch {
	case at == nil || r.cfg.Tools == nil || len(r.wrong) > 0:
	case choice.Mode == message.ToolChoiceRequired && len(r.cfg.Tools) == 0:
		r.errorAt(at, "tool_choice is required, but the agent has no tool", "list one under `tools`, or write `tool_choice: auto`")
	case choice.Mode == message.ToolChoiceTool && !message.MatchesAny(r.cfg.Tools, choice.Tool):
		r.errorAt(at, fmt.Sprintf("tool_choice names %q, which is not in the agent's list of tools", choice.Tool), "add it to `tools`, or name one of them")
	}
}

// section passes one subsystem's part on as canonical JSON. The subsystem checks it when the
// agent is registered.
func (r *reader) section(name string, v *yaml.Node) {
	if v.Kind != yaml.MappingNode {
		r.errorAt(v, name+" is no mapping", fmt.Sprintf("write `%s: {key: value}`", name))
		return
	}
	r.cfg = r.cfg.WithSection(name, r.json(v))
}
