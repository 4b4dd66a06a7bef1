package scope

import (
	"strings"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Environment describes in the system prompt where the tools work. The prompt leaves out empty
// fields.
type Environment struct {
	OS       string
	Shell    string
	Platform string
	// Root is the directory that the file tools see.
	Root string
}

// prompt has the parts of a system prompt.
type prompt struct {
	instructions string
	env          Environment
	// hooks are the texts of the hooks, scope their lines about the scope.
	hooks []composite.Prompt
	scope string
}

// Part is a part of a system prompt. Parts are separated by a blank line.
type Part struct {
	// By is who says it: ByAgent, ByRuntime or the path of a hook. At is the hook point, or the name of the part where it is none.
	By, At string
	Text   string
}

// Who says a part of a prompt if no hook does.
const (
	ByAgent   = "agent"
	ByRuntime = "runtime"
)

// write joins the parts of a system prompt: instructions, environment, the texts of the
// hooks, scope. The prompt of an agent without tools has no environment, so under hook.Nop it is
// the instructions alone. Nothing in it depends on a clock or the order of a map: the same
// registration gives the same bytes, as the caches of providers need. The texts of the parts share the memory of the whole.
func (p prompt) write(tools []string, narrowed bool) (string, []Part) {
	parts := make([]Part, 0, 3+len(p.hooks))
	var whole strings.Builder
	add := func(by, at, text string) {
		if text = strings.Trim(text, "\n"); text == "" {
			return
		}
		if whole.Len() > 0 {
			whole.WriteString(separator)
		}
		whole.WriteString(text)
		parts = append(parts, Part{by, at, text})
	}
	add(ByAgent, "instructions", p.instructions)
	if len(tools) > 0 {
		add(ByRuntime, "environment", p.env.block())
	}
	for _, h := range p.hooks {
		add(h.By, point.SystemPrompt.String(), h.Text)
	}
	add(ByRuntime, "scope", scopeBlock(tools, p.scope, narrowed))
	out, from := whole.String(), 0
	for i := range parts {
		to := from + len(parts[i].Text)
		parts[i].Text, from = out[from:to], to+len(separator)
	}
	return out, append([]Part(nil), parts...) // of its own size: there are many agents
}

const separator = "\n\n"

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

// scopeBlock describes the scope of the agent with the lines of the hooks, or with the list of
// its tools if the hooks have none.
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
