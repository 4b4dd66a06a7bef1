package scope

import (
	"strings"
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
	// hooks is the text of the hooks, scope their lines about the scope.
	hooks, scope string
}

// write joins the parts of a system prompt: instructions, environment, the texts of the
// hooks, scope. The prompt of an agent without tools has no environment, so under hook.Nop it is
// the instructions alone. Nothing in it depends on a clock or the order of a map: the same
// registration gives the same bytes, as the caches of providers need.
func (p prompt) write(tools []string, narrowed bool) string {
	parts := make([]string, 0, 4)
	add := func(text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			parts = append(parts, text)
		}
	}
	add(p.instructions)
	if len(tools) > 0 {
		add(p.env.block())
	}
	add(p.hooks)
	add(scopeBlock(tools, p.scope, narrowed))
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
