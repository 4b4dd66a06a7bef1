package anthropic

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// Bounds of the wire.
const (
	maxBody   = 32 << 20
	maxName   = 128
	minBudget = 1024
	maxCaches = 4
)

const version = "2026-10-21"

const members = "model messages max_tokens system tools tool_choice stream stop_sequences thinking metadata service_tier " +
	"container context_management mcp_servers output_config cache_control inference_geo speed diagnostics"

func route(c *wire.Check, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		c.Refuse("path", "", "Not found")
	}
	key, bearer := r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if key == "" && bearer == "" {
		c.Refuse("auth", "", "x-api-key header is required")
	}
	switch v := r.Header.Get("Anthropic-Version"); v {
	case version:
	case "":
		c.Refuse("version", "", "anthropic-version: header is required")
	default:
		c.Refuse("version", "", "anthropic-version: this server speaks %s, not %q", version, v)
	}
}

func fault(c *wire.Check, what string) {
	c.Refuse("json", "", "The request body is not valid JSON: %s", what)
}

// family is what depends on the model.
type family struct {
	// adaptive, budgets, efforts and prefill say what the model takes, system whether it
	// takes system messages among the others.
	adaptive, budgets, efforts, prefill, system bool
}

// familyOf returns the family of a model. An unknown model takes everything but system
// messages.
func familyOf(model string) family {
	major, minor := wire.Version(model, "claude-")
	from := func(a, b int) bool { return wire.From(major, minor, a, b) }
	known, haiku := major > 0, strings.Contains(model, "haiku")
	return family{
		adaptive: !known || from(4, 6),
		budgets:  !known || !from(4, 7),
		efforts:  !known || from(4, 6) || from(4, 5) && !haiku,
		prefill:  !known || !from(4, 6),
		system:   strings.Contains(model, "opus") && from(4, 8),
	}
}

func check(c *wire.Check, root wire.Node) {
	for _, key := range []string{"temperature", "top_p", "top_k"} {
		if root.Get(key).Kind != wire.None {
			c.Refuse("sampling", "", "%s: Extra inputs are not permitted", key)
		}
	}
	if key := wire.Unknown(root, members+" temperature top_p top_k"); key != "" {
		c.Refuse("extra", "", "%s: Extra inputs are not permitted", key)
	}
	model := root.Get("model")
	if model.Kind != wire.Text || model.Text == "" {
		c.Refuse("model", "", "model: Field required")
	}
	c.Model = model.Text
	switch most := root.Get("max_tokens"); {
	case most.Kind == wire.None:
		c.Refuse("max-tokens", "", "max_tokens: Field required")
	case most.Int() < 1:
		c.Refuse("max-tokens", "", "max_tokens: Input should be greater than or equal to 1")
	}
	f := familyOf(model.Text)
	thinking(c, root, f)
	system(c, root.Get("system"))
	names := tools(c, root.Get("tools"))
	choice(c, root, names)
	caches(c, root)
	conversation{Check: c, tools: len(names) > 0, family: f, budget: root.Get("thinking").Get("type").Is("enabled")}.check(root.Get("messages"))
}

func thinking(c *wire.Check, root wire.Node, f family) {
	t := root.Get("thinking")
	budget := t.Get("budget_tokens")
	switch kind := t.Get("type").Text; {
	case t.Kind == wire.None, kind == "disabled", kind == "between_tools":
	case kind == "adaptive":
		if !f.adaptive {
			c.Refuse("adaptive", "", "adaptive thinking is not supported on this model")
		}
	case kind != "enabled":
		c.Refuse("thinking-type", "", "thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'", kind)
	case !f.budgets:
		c.Refuse("thinking-budget", "", "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.")
	case budget.Int() < minBudget:
		c.Refuse("budget", "", "thinking.enabled.budget_tokens: Input should be greater than or equal to %d", minBudget)
	case budget.Int() >= root.Get("max_tokens").Int():
		c.Refuse("budget-max", "", "`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	switch effort := root.Get("output_config").Get("effort"); {
	case effort.Kind == wire.None:
	case !f.efforts:
		c.Refuse("effort", "", "This model does not support the effort parameter.")
	case !wire.Among("low medium high xhigh max", effort.Text):
		c.Refuse("effort-value", "", "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	}
}

func system(c *wire.Check, system wire.Node) {
	texts := system.List
	switch system.Kind {
	case wire.None:
		return
	case wire.Text:
		texts = []wire.Node{wire.TextBlock(system.Text)}
	case wire.Array:
	default:
		c.Refuse("system", "", "system: Input should be a valid list")
		return
	}
	for i := range texts {
		if b := texts[i]; !b.Get("type").Is("text") || strings.TrimSpace(b.Get("text").Text) == "" {
			c.Refuse("system", "", "system: text content blocks must contain non-whitespace text")
		}
	}
}

const toolMembers = "name description input_schema type cache_control strict eager_input_streaming defer_loading allowed_callers input_examples"

func tools(c *wire.Check, tools wire.Node) (names []string) {
	for i := range tools.List {
		t := tools.List[i]
		name := t.Get("name").Text
		schema := t.Get("input_schema")
		at := func(member string) string { return fmt.Sprintf("tools.%d.custom.%s", i, member) }
		if key := wire.Unknown(t, toolMembers); key != "" {
			c.Refuse("tool-extra", "", "%s", at(key+": Extra inputs are not permitted"))
		}
		if !wire.Word(name) || len(name) > maxName {
			c.Refuse("tool-name", "", "%s", at("name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"))
		}
		switch kind := schema.Get("type"); {
		case schema.Kind == wire.None:
			c.Refuse("tool-schema", "", "%s", at("input_schema: Field required"))
		case schema.Kind != wire.Object:
			c.Refuse("tool-schema", "", "%s", at("input_schema: Input should be a valid dictionary"))
		case kind.Kind == wire.None:
			c.Refuse("tool-schema", "", "%s", at("input_schema.type: Field required"))
		case !kind.Is("object"):
			c.Refuse("tool-schema", "", "%s", at("input_schema.type: Input should be 'object'"))
		}
		for _, key := range []string{"oneOf", "allOf", "anyOf"} {
			if schema.Get(key).Kind != wire.None {
				c.Refuse("schema-top", "", "%s", at("input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"))
				break
			}
		}
		if slices.Contains(names, name) {
			c.Refuse("tool-unique", "", "tools: Tool names must be unique.")
		}
		names = append(names, name)
	}
	return names
}

func choice(c *wire.Check, root wire.Node, names []string) {
	choice := root.Get("tool_choice")
	kind, name := choice.Get("type"), choice.Get("name").Text
	switch {
	case choice.Kind == wire.None:
		return
	case len(names) == 0:
		c.Refuse("tool-choice", "", "tool_choice: Tool choice may only be specified while providing tools.")
	case kind.Is("tool") && !slices.Contains(names, name):
		c.Refuse("tool-choice", "", "tool_choice: Tool '%s' not found in provided tools", name)
	case !wire.Among("auto any none tool", kind.Text):
		c.Refuse("tool-choice", "", "tool_choice: Input tag does not match any of the expected tags: 'auto', 'any', 'tool', 'none'")
	}
	if thinks := root.Get("thinking").Get("type"); (thinks.Is("enabled") || thinks.Is("adaptive")) && (kind.Is("any") || kind.Is("tool")) {
		c.Refuse("thinking-choice", "", "Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// caches checks the cache breakpoints of tools, system and messages, in this order. The
// automatic one of the whole request counts too.
func caches(c *wire.Check, root wire.Node) {
	n, short := 0, false
	each(root, func(at string, block wire.Node) {
		cache := block.Get("cache_control")
		if cache.Kind <= wire.Null {
			return
		}
		n++
		ttl := cache.Get("ttl")
		long := ttl.Is("1h")
		switch kind := block.Get("type"); {
		case kind.Is("text") && block.Get("text").Text == "":
			c.Refuse("cache-empty", "", "%s.text: cache_control cannot be set for empty text blocks", at)
		case kind.Is("thinking") || kind.Is("redacted_thinking"):
			c.Refuse("cache-thinking", "", "%s.%s.cache_control: Extra inputs are not permitted", at, kind.Text)
		case !cache.Get("type").Is("ephemeral"):
			c.Refuse("cache-type", "", "%s.cache_control.type: Input should be 'ephemeral'", at)
		case ttl.Kind != wire.None && !long && !ttl.Is("5m"):
			c.Refuse("cache-type", "", "%s.cache_control.ttl: Input should be '5m' or '1h'", at)
		case long && short:
			c.Refuse("cache-order", "", "%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "+
				"Note that blocks are processed in the following order: tools, system, messages.", at)
		}
		short = short || !long
	})
	if n > maxCaches {
		c.Refuse("cache-count", "", "A maximum of %d blocks with cache_control may be provided. Found %d.", maxCaches, n)
	}
}

// each visits every place for a cache breakpoint, in the order in which the vendor does.
func each(root wire.Node, visit func(at string, block wire.Node)) {
	list := func(at string, blocks wire.Node) {
		for i := range blocks.List {
			visit(fmt.Sprintf("%s.%d", at, i), blocks.List[i])
		}
	}
	list("tools", root.Get("tools"))
	if system := root.Get("system"); system.Kind == wire.Array {
		list("system", system)
	}
	messages := root.Get("messages")
	for i := range messages.List {
		content := messages.List[i].Get("content")
		if content.Kind != wire.Array {
			continue
		}
		for j := range content.List {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			visit(at, content.List[j])
			if inner := content.List[j].Get("content"); inner.Kind == wire.Array {
				list(at+".tool_result.content", inner)
			}
		}
	}
	visit("", root)
}

func body(r *wire.Refusal) string {
	if r.Type == "" {
		r.Type = "invalid_request_error"
	}
	return wire.JSON(wire.M{"type": "error", "error": wire.M{"type": r.Type, "message": r.Message}, "request_id": "req_strictwire"})
}
