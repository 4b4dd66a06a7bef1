package strictwire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/test/strictwire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// row is a request that breaks one rule, one beside it that breaks none, and a
// part of what the vendor says.
type row struct{ rule, bad, good, says string }

// chat returns a request to OpenAI with the messages; more are further members.
func chat(messages string, more ...string) string {
	return `{"model":"m","messages":[` + messages + `]` + strings.Join(more, "") + `}`
}

const (
	oaUser   = `{"role":"user","content":"hi"}`
	oaResult = `{"role":"tool","tool_call_id":"1","content":"x"}`
)

// oaCalls returns an assistant's message with calls of these ids.
func oaCalls(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, oaCall(id, "read", `{}`))
	}
	return `{"role":"assistant","content":"","tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func oaCall(id, name, args string) string {
	quoted, _ := json.Marshal(args)
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, id, name, quoted)
}

func oaAnswered(call string) string {
	return chat(oaUser + `,{"role":"assistant","content":null,"tool_calls":[` + call + `]},` + oaResult)
}

func oaTools(n int, name, schema string) string {
	tool := fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":"d","parameters":%s}}`, name, schema)
	return `,"tools":[` + strings.TrimSuffix(strings.Repeat(tool+",", n), ",") + `]`
}

const oaSchema = `{"type":"object","properties":{}}`

func openAIRows() []row {
	long := strings.Repeat("x", 65)
	tools := oaTools(1, "read", oaSchema)
	return []row{
		{"json", `{"model":"m"`, chat(oaUser), "could not parse the JSON body"},
		{"json", "{\"model\":\"\xff\",\"messages\":[" + oaUser + "]}", chat(`{"role":"user","content":"é"}`), "utf-8"},
		{"json", chat(`{"role":"user","content":"\ud83d"}`), chat(`{"role":"user","content":"\ud83d\ude00"}`), "low surrogate"},
		{"argument", chat(oaUser, `,"system":"x"`), chat(oaUser, `,"seed":1`), "Unrecognized request argument supplied: system"},
		{"model", `{"messages":[` + oaUser + `]}`, chat(oaUser), "model parameter"},
		{"messages", chat(""), chat(oaUser), "minimum length 1"},
		{"max-tokens", chat(oaUser, `,"max_tokens":0`), chat(oaUser, `,"max_tokens":1`), "integer below minimum"},
		{"role", chat(`{"role":"function","content":"x"}`), chat(`{"role":"developer","content":"x"},` + oaUser), "Supported values"},
		{"content", chat(`{"role":"user","content":null}`), chat(`{"role":"user","content":[{"type":"text","text":"x"}]}`), "expected a string, got null"},
		{"content", chat(oaUser + `,{"role":"assistant"}`), chat(oaUser + `,{"role":"assistant","content":"x"}`), "expected a string, got null"},
		{"content-empty", chat(oaUser + `,{"role":"assistant","content":""},` + oaUser), chat(oaUser + `,{"role":"assistant","content":" "},` + oaUser), "must not be empty"},
		{"string-length", chat(`{"role":"user","content":"` + strings.Repeat("x", 10<<20+1) + `"}`), chat(`{"role":"user","content":"` + strings.Repeat("x", 10<<20) + `"}`), "string too long"},
		{"calls", chat(oaUser + `,{"role":"assistant","content":"x","tool_calls":[]}`), chat(oaUser + `,{"role":"assistant","content":"x"}`), "empty array"},
		{"call-role", chat(`{"role":"user","content":"x","tool_calls":[` + oaCall("1", "read", "{}") + `]},` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "only messages with role 'assistant'"},
		{"call-type", oaAnswered(strings.Replace(oaCall("1", "read", "{}"), `"type":"function"`, `"type":"tool"`, 1)), oaAnswered(oaCall("1", "read", "{}")), "Supported values"},
		{"call-id", oaAnswered(oaCall("", "read", "{}")), oaAnswered(oaCall("1", "read", "{}")), "empty string"},
		{"call-id", chat(oaUser + `,` + oaCalls(strings.Repeat("x", 41)) + `,` + strings.Replace(oaResult, `"1"`, `"`+strings.Repeat("x", 41)+`"`, 1)),
			chat(oaUser + `,` + oaCalls(strings.Repeat("x", 40)) + `,` + strings.Replace(oaResult, `"1"`, `"`+strings.Repeat("x", 40)+`"`, 1)), "maximum length 40, but got a string with length 41"},
		{"call-id-unique", chat(oaUser + `,` + oaCalls("1", "1") + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaCalls("1") + `,` + oaResult), "Duplicate value"},
		{"call-name", oaAnswered(oaCall("1", "a.b", "{}")), oaAnswered(oaCall("1", "a-b_C9", "{}")), "does not match pattern"},
		{"call-name", oaAnswered(oaCall("1", long, "{}")), oaAnswered(oaCall("1", long[:64], "{}")), "maximum length 64"},
		{"call-arguments", oaAnswered(oaCall("1", "read", `{"p":`)), oaAnswered(oaCall("1", "read", ` {"p": [1.5e3, -0, "\u00e9\ud83d\ude00"]} `)), "JSON object"},
		{"call-arguments", oaAnswered(oaCall("1", "read", `[]`)), oaAnswered(oaCall("1", "read", `{}`)), "JSON object"},
		{"call-arguments", oaAnswered(oaCall("1", "read", `{"p":"\ude00"}`)), oaAnswered(oaCall("1", "read", `{"p":"\\ude00"}`)), "JSON object"},
		{"call-arguments", oaAnswered(`{"id":"1","type":"function","function":{"name":"read","arguments":{}}}`), oaAnswered(oaCall("1", "read", `{}`)), "JSON object"},
		{"result-missing", chat(oaUser + `,` + oaCalls("1", "2") + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "did not have response messages: 2"},
		{"result-missing", chat(oaUser + `,` + oaCalls("1") + `,` + oaUser + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaUser), "must be followed by tool messages"},
		{"result-orphan", chat(oaUser + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "must be a response to a preceeding message"},
		{"result-orphan", chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaUser + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaUser), "must be a response to a preceeding message"},
		{"result-id", chat(oaUser + `,` + oaCalls("1") + `,{"role":"tool","content":"x"}`), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "must have a 'tool_call_id'"},
		{"result-unknown", chat(oaUser + `,` + oaCalls("2") + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "not found in 'tool_calls'"},
		{"result-twice", chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "messages[2] and messages[3]"},
		{"tools", chat(oaUser, `,"tools":[]`), chat(oaUser, tools), "empty array"},
		{"tools", chat(oaUser, oaTools(129, "read", oaSchema)), chat(oaUser, oaTools(128, "read", oaSchema)), "maximum length 128, but got an array with length 129"},
		{"tool-type", chat(oaUser, strings.Replace(tools, `"type":"function"`, `"type":"x"`, 1)), chat(oaUser, tools), "Supported values"},
		{"tool-name", chat(oaUser, oaTools(1, "a b", oaSchema)), chat(oaUser, tools), "does not match pattern"},
		{"tool-name", chat(oaUser, `,"tools":[{"type":"function","function":{}}]`), chat(oaUser, `,"tools":[{"type":"function","function":{"name":"read"}}]`), "Missing required parameter"},
		{"tool-description", chat(oaUser, strings.Replace(tools, `"d"`, `"`+strings.Repeat("é", 1025)+`"`, 1)), chat(oaUser, strings.Replace(tools, `"d"`, `"`+strings.Repeat("é", 1024)+`"`, 1)), "maximum length 1024"},
		{"tool-schema", chat(oaUser, oaTools(1, "read", `{"type":"array"}`)), chat(oaUser, tools), `got 'type: "array"'`},
		{"tool-schema", chat(oaUser, oaTools(1, "read", `{}`)), chat(oaUser, tools), `got 'type: "None"'`},
		{"tool-schema", chat(oaUser, oaTools(1, "read", `[]`)), chat(oaUser, tools), "Invalid schema for function 'read'"},
		{"tool-schema", chat(oaUser, oaTools(1, "read", `{"type":"object"}`)), chat(oaUser, tools), "object schema missing properties"},
		{"tool-choice", chat(oaUser, `,"tool_choice":"auto"`), chat(oaUser, tools, `,"tool_choice":"auto"`), "only allowed when 'tools' are specified"},
		{"tool-choice", chat(oaUser, tools, `,"tool_choice":{"type":"function","function":{"name":"write"}}`), chat(oaUser, tools, `,"tool_choice":{"type":"function","function":{"name":"read"}}`), "no function named 'write'"},
	}
}

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

func anthropicRows() []row {
	use, long := anUse("1", "read", "{}"), strings.Repeat("x", 65)
	good := anAnswered(use)
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`
	return []row{
		{"size", bare(`{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}`), bare(anUser), "maximum size"},
		{"json", bare(anUser) + "}", bare(anUser), "not valid JSON: trailing"},
		{"json", bare(`{"role":"user","content":"\ud83d \ude00"}`), bare(`{"role":"user","content":"\ud83d\ude00"}`), "no low surrogate in string: line 1 column"},
		{"json", bare("{\"role\":\"user\",\"content\":\"\xc3\"}"), bare("{\"role\":\"user\",\"content\":\"\xc3\xa9\"}"), "utf-8"},
		{"extra", bare(anUser, `,"reasoning_effort":"low"`), bare(anUser, `,"temperature":1`), "reasoning_effort: Extra inputs"},
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
		{"use-id", anAnswered(anUse("functions.read:0", "read", "{}")), good, "tool_use.id: String should match pattern"},
		{"use-id", anAnswered(anUse("", "read", "{}")), good, "tool_use.id: String should match pattern"},
		{"use-name", anAnswered(anUse("1", "a b", "{}")), good, "tool_use.name: String should match pattern"},
		{"use-name", anAnswered(anUse("1", long, "{}")), anAnswered(anUse("1", long[:64], "{}")), "tool_use.name: String should match pattern"},
		{"use-input", anAnswered(anUse("1", "read", `"{}"`)), good, "messages.1.content.0.tool_use.input: Input should be a valid dictionary"},
		{"use-input", anAnswered(anUse("1", "read", `[]`)), good, "valid dictionary"},
		{"use-unique", ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1")) + `,` + an("assistant", use) + `,` + an("user", anResult("1"))),
			ask(anUser + `,` + an("assistant", use) + `,` + an("user", anResult("1")) + `,` + an("assistant", anUse("2", "read", "{}")) + `,` + an("user", anResult("2"))), "messages.3.content.0: `tool_use` ids must be unique"},
		{"use-last", ask(anUser + `,` + an("assistant", use, anText("x")) + `,` + an("user", anResult("1"))), ask(anUser + `,` + an("assistant", anText("x"), use) + `,` + an("user", anResult("1"))), "messages.1: `tool_use` ids were found without"},
		{"result-missing", ask(anUser + `,` + an("assistant", use)), good, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1."},
		{"result-missing", ask(anUser + `,` + an("assistant", use, anUse("2", "read", "{}")) + `,` + an("user", anResult("1")) + `,` + an("user", anResult("2"))),
			ask(anUser + `,` + an("assistant", use, anUse("2", "read", "{}")) + `,` + an("user", anResult("2"), anResult("1"))), "in the next message"},
		{"result-missing", ask(anUser + `,` + an("assistant", use) + `,` + an("assistant", anText("x")) + `,` + an("user", anResult("1"))), good, "immediately after: 1."},
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
	}
}

func TestEveryRuleRefusesWhatBreaksItAndTakesWhatDoesNot(t *testing.T) {
	t.Parallel()
	for _, wire := range []struct {
		name  string
		check func([]byte) *strictwire.Refusal
		rules []strictwire.Rule
		rows  []row
	}{
		{"openai", strictwire.CheckOpenAI, strictwire.OpenAIRules(), openAIRows()},
		{"anthropic", strictwire.CheckAnthropic, strictwire.AnthropicRules(), anthropicRows()},
	} {
		t.Run(wire.name, func(t *testing.T) {
			t.Parallel()
			tested := map[string]bool{}
			for _, r := range wire.rows {
				tested[r.rule] = true
				assert.Nil(t, wire.check([]byte(r.good)), "%s: the right one", r.rule)
				got := wire.check([]byte(r.bad))
				if !assert.NotNil(t, got, "%s: %.200s", r.rule, r.bad) {
					continue
				}
				assert.Equal(t, r.rule, got.Rule, got.Message)
				assert.Contains(t, got.Message, r.says)
			}
			for _, rule := range wire.rules {
				assert.True(t, tested[rule.ID], "no request breaks the rule %s", rule.ID)
				assert.NotEmpty(t, rule.Why)
				delete(tested, rule.ID)
			}
			assert.Empty(t, tested, "rules that are not listed")
		})
	}
}

func TestRefusalsHaveTheVendorsForm(t *testing.T) {
	t.Parallel()
	got := strictwire.CheckOpenAI([]byte(chat(oaUser, `,"tools":[]`)))
	require.NotNil(t, got)
	assert.Equal(t, 400, got.Status)
	assert.JSONEq(t, `{"error":{"message":"Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
		"type":"invalid_request_error","param":"tools","code":"empty_array"}}`, got.Body)
	got = strictwire.CheckOpenAI([]byte(chat(oaUser + `,` + oaCalls("1"))))
	require.NotNil(t, got)
	assert.Contains(t, got.Body, `"code":null`)
	got = strictwire.CheckAnthropic([]byte(bare("")))
	require.NotNil(t, got)
	assert.JSONEq(t, `{"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"},"request_id":"req_strictwire"}`, got.Body)
	got = strictwire.CheckAnthropic(make([]byte, 33<<20))
	require.NotNil(t, got)
	assert.Equal(t, []any{413, "request_too_large"}, []any{got.Status, got.Type})
}

// The servers read JSON with a parser of their own: it has to take what is JSON
// and nothing else, but for lone surrogates and bytes that are no UTF-8.
func TestTheParserTakesWhatIsJSON(t *testing.T) {
	t.Parallel()
	takes := func(s string) bool {
		r := strictwire.CheckOpenAI([]byte(oaAnswered(oaCall("1", "read", s))))
		return r == nil
	}
	for _, s := range []string{
		`{"a":1}`, `{"a":-0.5E+10}`, `{"a":[]}`, `{"a":{}}`, `{"a":[1,2,{"b":null}]}`, `{ "a" : true , "b" : false }`, `{"a":"\"\\\/\b\f\n\r\t\u00e9"}`,
		`{"a":1e999}`, `{"":0}`, `{"a":1,"a":2}`,
		``, `{`, `}`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[,]}`, `{a:1}`, `{'a':1}`, `{"a":01}`, `{"a":+1}`,
		`{"a":.5}`, `{"a":5.}`, `{"a":1e}`, `{"a":-}`, `{"a":0x1}`, `{"a":NaN}`, `{"a":tru}`, `{"a":truex}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, "{\"a\":\"\t\"}", "{\"a\":\"\\n\t\"}",
		`{"a":"b`, `{"a":"b\`, `{"a":"b\u`, `{} {}`, `{}x`, `{"a":[1`, `{"a":[1,`, `{"a":{"b":1}`, `{"a":1_0}`, `{"a":1-2}`, `{"a":1.e3}`, `{"a":-.5}`,
	} {
		want := json.Valid([]byte(s)) && strings.HasPrefix(strings.TrimSpace(s), "{")
		assert.Equal(t, want, takes(s), s)
	}
	assert.False(t, takes(strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000)), "too deep")
}
