package strictwire_test

import (
	"fmt"
	"strings"
)

// ask returns a request to Anthropic with the messages and a tool.
func ask(messages string, more ...string) string {
	return `{"model":"m","max_tokens":1,"tools":[` + anTool("read", `{"type":"object"}`) + `],"messages":[` + messages + `]` + strings.Join(more, "") + `}`
}

// bare is the same without a tool.
func bare(messages string, more ...string) string {
	return `{"model":"m","max_tokens":1,"messages":[` + messages + `]` + strings.Join(more, "") + `}`
}

func anTool(name, schema string) string {
	return fmt.Sprintf(`{"name":%q,"input_schema":%s}`, name, schema)
}

func an(role string, blocks ...string) string {
	return `{"role":"` + role + `","content":[` + strings.Join(blocks, ",") + `]}`
}

func anText(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func anUse(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

func anResult(id string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"x"}`, id)
}

func anAnswered(use string) string {
	return ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1")))
}

const (
	anUser     = `{"role":"user","content":"hi"}`
	anThinking = `{"type":"thinking","thinking":"hm","signature":"s"}`
)

// anModel returns a request to a model with its thinking, and 2,000 tokens for the answer.
func anModel(model, thinking string) string {
	return `{"model":"` + model + `","max_tokens":2000,"messages":[` + anUser + `],"thinking":` + thinking + `}`
}

// anSystem returns a request to a model that takes system messages among the others.
func anSystem(messages string) string {
	return `{"model":"claude-opus-4-8","max_tokens":1,"messages":[` + messages + `]}`
}

func anCached(text, ttl string) string {
	return fmt.Sprintf(`{"type":"text","text":%q,"cache_control":{"type":"ephemeral","ttl":%q}}`, text, ttl)
}

const anPDF = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"aGk="}}`

func anthropicRows() []row {
	use, long := anUse("1", "read", "{}"), strings.Repeat("x", 129)
	good := anAnswered(use)
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`
	return []row{
		{"size", bare(`{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}`), bare(anUser), "maximum size"},
		{"json", bare(anUser) + "}", bare(anUser), "not valid JSON: trailing"},
		{"json", bare(`{"role":"user","content":"\ud83d \ude00"}`), bare(`{"role":"user","content":"\ud83d\ude00"}`), "no low surrogate in string: line 1 column"},
		{"json", bare("{\"role\":\"user\",\"content\":\"\xc3\"}"), bare("{\"role\":\"user\",\"content\":\"\xc3\xa9\"}"), "utf-8"},
		{"extra", bare(anUser, `,"reasoning_effort":"low"`), bare(anUser, `,"service_tier":"auto"`), "reasoning_effort: Extra inputs"},
		{"model", `{"max_tokens":1,"messages":[` + anUser + `]}`, bare(anUser), "model: Field required"},
		{"max-tokens", `{"model":"m","messages":[` + anUser + `]}`, bare(anUser), "max_tokens: Field required"},
		{"max-tokens", strings.Replace(bare(anUser), `"max_tokens":1`, `"max_tokens":0`, 1), bare(anUser), "greater than or equal to 1"},
		{"system", bare(anUser, `,"system":[`+anText(" ")+`]`), bare(anUser, `,"system":"be brief"`), "non-whitespace"},
		{"system", bare(anUser, `,"system":{}`), bare(anUser, `,"system":[`+anText("be brief")+`]`), "valid list"},
		{"messages", bare(""), bare(anUser), "at least one message is required"},
		{"role", bare(`{"role":"system","content":"x"},` + anUser), bare(anUser + `,` + anUser), `Unexpected role "system"`},
		{"role", bare(`{"role":"tool","content":"x"}`), bare(anUser), "'user' or 'assistant'"},
		{"first", bare(an("assistant", anText("x")) + `,` + anUser), bare(anUser + `,` + an("assistant", anText("x")) + `,` + anUser), "first message must use"},
		{"content", bare(anUser + `,` + an("assistant") + `,` + anUser), bare(anUser + `,` + an("assistant")), "non-empty content"},
		{"content", bare(`{"role":"user"}`), bare(anUser), "content: Field required"},
		{"block", bare(an("user", anThinking)), bare(an("user", anText("x"))), "does not match any of the expected tags"},
		{"block", bare(anUser + `,` + an("assistant", image)), bare(an("user", image)), "does not match any of the expected tags"},
		{"block", ask(an("user", use)), good, "Input tag 'tool_use'"},
		{"text-empty", bare(an("user", anText(""))), bare(an("user", anText("x"))), "must be non-empty"},
		{"text-blank", bare(an("user", anText(" \n"))), bare(an("user", anText(" x\n"))), "non-whitespace"},
		{"text-blank", ask(anUser + `,` + an("assistant", use) + `,` + an("user", `{"type":"tool_result","tool_use_id":"1","content":[`+anText(" ")+`]}`)), good, "non-whitespace"},
		{"trailing", bare(anUser + `,` + an("assistant", anText("x "))), bare(anUser + `,` + an("assistant", anText("x ")) + `,` + anUser), "trailing whitespace"},
		{"image", bare(an("user", strings.Replace(image, "png", "svg", 1))), bare(an("user", image)), "media_type"},
		{"image", bare(an("user", `{"type":"image","source":{"type":"url"}}`)), bare(an("user", `{"type":"image","source":{"type":"url","url":"https://x.test/a.png"}}`)), "image"},
		{"thinking-first", bare(anUser + `,` + an("assistant", anText("x"), anThinking, anText("y"))), bare(anUser + `,` + an("assistant", anThinking, anText("x"))), "the first block must be `thinking`"},
		{"thinking-last", bare(anUser + `,` + an("assistant", anThinking)), bare(anUser + `,` + an("assistant", anThinking, anText("x"))), "cannot be `thinking`"},
		{"thinking-signature", bare(anUser + `,` + an("assistant", `{"type":"thinking","thinking":"hm"}`, anText("x"))), bare(anUser + `,` + an("assistant", anThinking, anText("x"))), "signature: Field required"},
		{"use-id", strings.ReplaceAll(good, `"1"`, `"functions.read:0"`), good, "tool_use.id: String should match pattern"},
		{"use-id", strings.ReplaceAll(good, `"1"`, `""`), good, "tool_use.id: String should match pattern"},
		{"use-name", anAnswered(anUse("1", "a b", "{}")), good, "tool_use.name: String should match pattern"},
		{"use-name", anAnswered(anUse("1", long, "{}")), anAnswered(anUse("1", long[:128], "{}")), "tool_use.name: String should match pattern"},
		{"use-input", anAnswered(anUse("1", "read", `"{}"`)), good, "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
		{"use-input", anAnswered(anUse("1", "read", `[]`)), good, "valid dictionary"},
		{"use-unique", ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1")) + `,` + an("assistant", use) + `,` + an("user", anResult("1"))),
			ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1")) + `,` + an("assistant", anUse("2", "read", "{}")) + `,` + an("user", anResult("2"))), "messages.3.content.0: `tool_use` ids must be unique"},
		{"use-last", ask(anUser + `,` + an("assistant", use, anText("x")) + `,` + an("user", anResult("1"))), ask(anUser + `,` + an("assistant", anText("x"), use) + `,` + an("user", anResult("1"))), "messages.1: `tool_use` ids were found without"},
		{"result-missing", ask(anUser + `,` + an("assistant", use)), good, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1."},
		{"result-first", ask(anUser + `,` + an("assistant", use) + `,` + an("user", anText("x"), anResult("1"))), ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1"), anText("x"))), "at the beginning of this message"},
		{"result-unknown", ask(anUser + `,` + an("user", anResult("1"))), good, "unexpected `tool_use_id`"},
		{"result-unknown", ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1"), anResult("2"))), good, "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: 2."},
		{"result-twice", ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1"), anResult("1"))), good, "messages.2.content.1: each tool_use must have a single result"},
		{"result-error", ask(anUser + `,` + an("assistant", use) + `,` + an("user", `{"type":"tool_result","tool_use_id":"1","is_error":true}`)),
			ask(anUser + `,` + an("assistant", use) + `,` + an("user", `{"type":"tool_result","tool_use_id":"1"}`)), "content cannot be empty if `is_error`"},
		{"tools-missing", bare(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1"))), good, "must define tools"},
		{"tools-missing", bare(an("user", anResult("1"))), good, "must define tools"},
		{"tool-name", bare(anUser, `,"tools":[`+anTool("a.b", `{"type":"object"}`)+`]`), bare(anUser, `,"tools":[`+anTool("a-b", `{"type":"object"}`)+`]`), "tools.0.custom.name"},
		{"tool-unique", bare(anUser, `,"tools":[`+anTool("a", `{"type":"object"}`)+`,`+anTool("a", `{"type":"object"}`)+`]`), bare(anUser, `,"tools":[`+anTool("a", `{"type":"object"}`)+`,`+anTool("b", `{"type":"object"}`)+`]`), "Tool names must be unique"},
		{"tool-schema", bare(anUser, `,"tools":[`+anTool("a", `{}`)+`]`), ask(anUser), "input_schema.type: Field required"},
		{"tool-schema", bare(anUser, `,"tools":[`+anTool("a", `{"type":"string"}`)+`]`), ask(anUser), "Input should be 'object'"},
		{"tool-schema", bare(anUser, `,"tools":[`+anTool("a", `[]`)+`]`), ask(anUser), "valid dictionary"},
		{"tool-schema", bare(anUser, `,"tools":[{"name":"a"}]`), ask(anUser), "input_schema: Field required"},
		{"tool-choice", bare(anUser, `,"tool_choice":{"type":"any"}`), ask(anUser, `,"tool_choice":{"type":"any"}`), "while providing tools"},
		{"tool-choice", ask(anUser, `,"tool_choice":{"type":"tool","name":"write"}`), ask(anUser, `,"tool_choice":{"type":"tool","name":"read"}`), "'write' not found"},
		{"tool-choice", ask(anUser, `,"tool_choice":{"type":"required"}`), ask(anUser, `,"tool_choice":{"type":"auto"}`), "expected tags"},
		{"sampling", bare(anUser, `,"temperature":1`), bare(anUser), "temperature: Extra inputs are not permitted"},
		{"sampling", bare(anUser, `,"top_k":1`), bare(anUser), "top_k: Extra inputs are not permitted"},
		{"thinking-type", bare(anUser, `,"thinking":{"type":"on"}`), bare(anUser, `,"thinking":{"type":"disabled"}`), "Input tag 'on'"},
		{"thinking-budget", anModel("claude-opus-4-7", `{"type":"enabled","budget_tokens":1024}`), anModel("claude-sonnet-4-6", `{"type":"enabled","budget_tokens":1024}`), "is not supported for this model. Use"},
		{"thinking-budget", anModel("claude-sonnet-5-5", `{"type":"enabled","budget_tokens":1024}`), anModel("claude-sonnet-5-5", `{"type":"adaptive"}`), "thinking.type.adaptive"},
		{"budget", anModel("claude-haiku-4-5-20251001", `{"type":"enabled","budget_tokens":1023}`), anModel("claude-haiku-4-5-20251001", `{"type":"enabled","budget_tokens":1024}`), "greater than or equal to 1024"},
		{"budget-max", anModel("claude-haiku-4-5", `{"type":"enabled","budget_tokens":2000}`), anModel("claude-haiku-4-5", `{"type":"enabled","budget_tokens":1999}`), "must be greater than `thinking.budget_tokens`"},
		{"adaptive", anModel("claude-haiku-4-5", `{"type":"adaptive"}`), anModel("claude-sonnet-4-6", `{"type":"adaptive"}`), "not supported on this model"},
		{"effort", anModel("claude-haiku-4-5", `{"type":"disabled"},"output_config":{"effort":"low"}`), anModel("claude-opus-4-5", `{"type":"disabled"},"output_config":{"effort":"low"}`), "does not support the effort"},
		{"effort-value", bare(anUser, `,"output_config":{"effort":"minimal"}`), bare(anUser, `,"output_config":{"effort":"xhigh"}`), "'xhigh' or 'max'"},
		{"tool-extra", bare(anUser, `,"tools":[{"name":"a","input_schema":{"type":"object"},"parameters":{}}]`), bare(anUser, `,"tools":[{"name":"a","input_schema":{"type":"object"},"strict":true}]`), "tools.0.custom.parameters: Extra inputs"},
		{"schema-top", bare(anUser, `,"tools":[`+anTool("a", `{"type":"object","oneOf":[]}`)+`]`), bare(anUser, `,"tools":[`+anTool("a", `{"type":"object","properties":{"x":{"oneOf":[]}}}`)+`]`), "at the top level"},
		{"thinking-choice", ask(anUser, `,"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"}`), ask(anUser, `,"thinking":{"type":"adaptive"},"tool_choice":{"type":"auto"}`), "forces tool use"},
		{"cache-type", bare(an("user", anCached("x", "2h"))), bare(an("user", anCached("x", "1h"))), "'5m' or '1h'"},
		{"cache-type", bare(an("user", `{"type":"text","text":"x","cache_control":{"type":"persistent"}}`)), bare(an("user", anCached("x", "5m"))), "'ephemeral'"},
		{"cache-empty", bare(an("user", anText("x"), anCached("", "5m"))), bare(an("user", anText("x"), anCached("y", "5m"))), "messages.0.content.1.text: cache_control cannot be set for empty"},
		{"cache-thinking", bare(anUser + `,` + an("assistant", strings.Replace(anThinking, `"signature"`, `"cache_control":{"type":"ephemeral"},"signature"`, 1), anText("x"))),
			bare(anUser + `,` + an("assistant", anThinking, anCached("x", "5m"))), "messages.1.content.0.thinking.cache_control"},
		{"cache-count", bare(an("user", strings.Repeat(anCached("x", "5m")+",", 3)+anCached("x", "5m")), `,"system":[`+anCached("x", "5m")+`]`),
			bare(an("user", strings.Repeat(anCached("x", "5m")+",", 2)+anCached("x", "5m")), `,"system":[`+anCached("x", "5m")+`]`), "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{"cache-count", bare(an("user", strings.Repeat(anCached("x", "5m")+",", 3)+anCached("x", "5m")), `,"cache_control":{"type":"ephemeral"}`),
			bare(an("user", strings.Repeat(anCached("x", "5m")+",", 2)+anCached("x", "5m")), `,"cache_control":{"type":"ephemeral"}`), "Found 5"},
		{"cache-order", bare(an("user", anCached("x", "1h")), `,"system":[`+anCached("x", "5m")+`]`), bare(an("user", anCached("x", "5m")), `,"system":[`+anCached("x", "1h")+`]`), "must not come after"},
		{"system-place", anSystem(`{"role":"system","content":[` + anText("x") + `]},` + anUser), anSystem(anUser + `,{"role":"system","content":[` + anText("x") + `]}`), "must follow a `user` message"},
		{"system-place", anSystem(anUser + `,{"role":"system","content":[` + anText("x") + `]},` + anUser), anSystem(anUser + `,{"role":"system","content":[` + anText("x") + `]},` + an("assistant", anText("x")) + `,` + anUser), "or precede an `assistant`"},
		{"prefill", strings.Replace(bare(anUser+`,`+an("assistant", anText("x"))), `"m"`, `"claude-opus-4-6"`, 1), strings.Replace(bare(anUser+`,`+an("assistant", anText("x"))), `"m"`, `"claude-opus-4-5"`, 1), "does not support assistant message prefill"},
		{"block", bare(anUser + `,` + an("assistant", anPDF)), bare(an("user", anPDF)), "Input tag 'document'"},
		{"block-extra", bare(an("user", `{"type":"text","text":"x","index":0}`)), bare(an("user", anText("x"))), "text.index: Extra inputs"},
		{"block-extra", ask(anUser + `,` + an("assistant", strings.Replace(use, `"id"`, `"index":0,"id"`, 1)) + `,` + an("user", anResult("1"))), good, "tool_use.index: Extra inputs"},
		{"block-extra", ask(anUser + `,` + an("assistant", use) + `,` + an("user", strings.Replace(anResult("1"), `"content"`, `"name":"read","content"`, 1))), good, "tool_result.name: Extra inputs"},
		{"citations", bare(an("user", `{"type":"text","text":"x","citations":[{}]}`)), bare(an("user", `{"type":"text","text":"x","citations":[]}`)), "text.citations"},
		{"document", bare(an("user", strings.Replace(anPDF, "application/pdf", "text/html", 1))), bare(an("user", anPDF)), "document.source"},
		{"thinking-start", strings.Replace(ask(anUser+`,`+an("assistant", anText("x"), use)+`,`+an("user", anResult("1")), `,"thinking":{"type":"enabled","budget_tokens":1024}`), `"max_tokens":1,`, `"max_tokens":2000,`, 1),
			strings.Replace(ask(anUser+`,`+an("assistant", anText("x"), use)+`,`+an("user", anResult("1"))+`,`+anUser, `,"thinking":{"type":"enabled","budget_tokens":1024}`), `"max_tokens":1,`, `"max_tokens":2000,`, 1), "Expected `thinking` or `redacted_thinking`, but found `text`"},
		{"result-error-text", ask(anUser + `,` + an("assistant", use) + `,` + an("user", `{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[`+anText("x")+`,`+image+`]}`)),
			ask(anUser + `,` + an("assistant", use) + `,` + an("user", `{"type":"tool_result","tool_use_id":"1","content":[`+anText("x")+`,`+image+`]}`)), "all content must be type 'text'"},
	}
}
