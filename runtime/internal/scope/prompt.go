package scope

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Environment is what an agent is told about where its tools work. Empty fields
// are left out.
type Environment struct {
	OS       string
	Shell    string
	Platform string
	// Root is the directory that the file tools see.
	Root string
}

// writePrompt joins the parts of a system prompt: instructions, environment, what
// the hooks say, scope. An agent without tools works nowhere and is told no
// environment, so under hook.Nop the prompt is the instructions alone. Nothing
// in it comes from a clock or the order of a map: the same registration gives
// the same bytes, which is what caches of providers need.
func writePrompt(cfg *hook.AgentConfig, env Environment, hooks, scopeLines string, narrowed bool) string {
	parts := make([]string, 0, 4)
	add := func(text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			parts = append(parts, text)
		}
	}
	add(cfg.Instructions)
	if len(cfg.Tools) > 0 {
		add(env.block())
	}
	add(hooks)
	add(scopeBlock(cfg.Tools, scopeLines, narrowed))
	return strings.Join(parts, "\n\n")
}

func (e Environment) block() string {
	var b strings.Builder
	for _, f := range [...]struct{ name, value string }{
		{"os", e.OS}, {"shell", e.Shell}, {"platform", e.Platform}, {"root", e.Root},
	} {
		if f.value != "" {
			b.WriteString(f.name + ": " + f.value + "\n")
		}
	}
	return block("environment", b.String())
}

// scopeBlock says how the agent is narrowed in the words of the hooks, or by the
// list of its tools where they have none.
func scopeBlock(tools []string, lines string, narrowed bool) string {
	if lines == "" && narrowed {
		lines = "tools: none"
		if len(tools) > 0 {
			lines = "tools: " + strings.Join(tools, ", ")
		}
	}
	return block("scope", lines)
}

func block(name, body string) string {
	if body = strings.Trim(body, "\n"); body == "" {
		return ""
	}
	return "<" + name + ">\n" + body + "\n</" + name + ">"
}
