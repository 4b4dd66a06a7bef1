package strictwire_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// respond returns a request to Responses with the items; more are further members.
func respond(items string, more ...string) string {
	return `{"model":"m","store":false,"input":[` + items + `]` + strings.Join(more, "") + `}`
}

const (
	reUser      = `{"role":"user","content":"hi"}`
	reReasoning = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`
)

func reCall(id, name, args string) string {
	quoted, _ := json.Marshal(args)
	return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":%q,"arguments":%s}`, id, name, quoted)
}

func reOutput(id string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"x"}`, id)
}

func reTool(name, schema, more string) string {
	return fmt.Sprintf(`,"tools":[{"type":"function","name":%q,"parameters":%s%s}]`, name, schema, more)
}

func reModel(model string, more ...string) string {
	return strings.Replace(respond(reUser, more...), `"m"`, `"`+model+`"`, 1)
}

func responsesRows() []row {
	long := strings.Repeat("x", 65)
	answered := func(call string) string { return respond(reUser + `,` + call + `,` + reOutput("1")) }
	good := answered(reCall("1", "read", "{}"))
	tools := reTool("read", oaSchema, "")
	said := `{"type":"message","role":"assistant","id":"msg_1","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"x","annotations":[]}]}`
	return []row{
		{"json", `{"model":"m"`, respond(reUser), "could not parse the JSON body"},
		{"json", respond(`{"role":"user","content":"\ud83d"}`), respond(`{"role":"user","content":"\ud83d\ude00"}`), "low surrogate"},
		{"argument", respond(reUser, `,"seed":1`), respond(reUser, `,"prompt_cache_key":"k"`), "Unknown parameter: 'seed'"},
		{"argument", respond(reUser, `,"stop":["x"]`), respond(reUser, `,"truncation":"auto"`), "Unknown parameter: 'stop'"},
		{"model", `{"input":[` + reUser + `]}`, respond(reUser), "'model'"},
		{"max-tokens", respond(reUser, `,"max_output_tokens":15`), respond(reUser, `,"max_output_tokens":16`), "Expected a value >= 16, but got 15 instead"},
		{"sampling", reModel("gpt-5.6", `,"temperature":0.1`), reModel("gpt-4.1", `,"temperature":0.1`), "'temperature' is not supported with this model"},
		{"sampling", reModel("gpt-5.6", `,"top_p":0.1`), reModel("gpt-5.6", `,"top_p":0.1,"reasoning":{"effort":"none"}`), "'top_p' is not supported with this model"},
		{"effort", respond(reUser, `,"reasoning":{"effort":"off"}`), respond(reUser, `,"reasoning":{"effort":"xhigh"}`), "Invalid value: 'off'"},
		{"include", respond(reUser, `,"include":["reasoning"]`), respond(reUser, `,"include":["reasoning.encrypted_content"]`), "Invalid value: 'reasoning'"},
		{"input", respond(""), `{"model":"m","input":"hi"}`, "'input'"},
		{"item-type", respond(`{"type":"text","text":"x"}`), respond(reUser), "Invalid value: 'text'"},
		{"item-type", respond(`{"type":"tool","content":"x"}`), respond(reUser), "Invalid value: 'tool'"},
		{"item-extra", respond(reUser + `,` + strings.Replace(reReasoning, `"id"`, `"status":"completed","id"`, 1) + `,` + said), respond(reUser + `,` + reReasoning + `,` + said), "Unknown parameter: 'input[1].status'"},
		{"item-extra", answered(strings.Replace(reCall("1", "read", "{}"), `"name"`, `"index":0,"name"`, 1)), good, "'input[1].index'"},
		{"id-prefix", answered(strings.Replace(reCall("1", "read", "{}"), `"name"`, `"id":"call_1","name"`, 1)), answered(strings.Replace(reCall("1", "read", "{}"), `"name"`, `"id":"fc_1","name"`, 1)), "Expected an ID that begins with 'fc'"},
		{"id-prefix", respond(reUser + `,` + strings.Replace(said, "msg_1", "item_1", 1)), respond(reUser + `,` + said), "begins with 'msg'"},
		{"id-prefix", respond(reUser + `,` + strings.Replace(reReasoning, "rs_1", "item_1", 1) + `,` + said), respond(reUser + `,` + reReasoning + `,` + said), "begins with 'rs'"},
		{"id-word", respond(reUser + `,` + strings.Replace(reReasoning, "rs_1", "", 1) + `,` + said), respond(reUser + `,` + strings.Replace(reReasoning, `"id":"rs_1",`, "", 1) + `,` + said), "contains letters, numbers, underscores, or dashes"},
		{"role", respond(`{"role":"tool","content":"x"}`), respond(`{"role":"developer","content":"x"},` + reUser), "Invalid value: 'tool'"},
		{"content", respond(`{"role":"user"}`), respond(reUser), "'input[0].content'"},
		{"part", respond(`{"role":"user","content":[{"type":"text","text":"x"}]}`), respond(`{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}`), "Invalid value: 'text'"},
		{"part", respond(reUser + `,{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), respond(reUser + `,{"role":"assistant","content":[{"type":"refusal","refusal":"x"}]}`), "Supported values are: 'output_text', 'refusal'"},
		{"phase", respond(reUser + `,` + strings.Replace(said, "commentary", "analysis", 1)), respond(reUser + `,` + said), "Invalid value: 'analysis'"},
		{"call-id", respond(reUser + `,` + strings.Replace(reCall("", "read", "{}"), `"call_id":"",`, "", 1) + `,{"type":"function_call_output","call_id":"","output":"x"}`), good, "call_id"},
		{"call-id-length", respond(reUser + `,` + reCall(long, "read", "{}") + `,` + reOutput(long)), respond(reUser + `,` + reCall(long[:64], "read", "{}") + `,` + reOutput(long[:64])), "maximum length 64, but got a string with length 65"},
		{"call-name", answered(reCall("1", "a.b", "{}")), answered(reCall("1", "a-b", "{}")), "does not match pattern"},
		{"call-arguments", answered(`{"type":"function_call","call_id":"1","name":"read","arguments":{}}`), good, "expected a string"},
		{"output", respond(reUser + `,` + reCall("1", "read", "{}") + `,{"type":"function_call_output","call_id":"1","output":{}}`), respond(reUser + `,` + reCall("1", "read", "{}") + `,{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"x"}]}`), "array of objects or string"},
		{"output-missing", respond(reUser + `,` + reCall("1", "read", "{}") + `,` + reCall("2", "read", "{}") + `,` + reOutput("1")), good, "No tool output found for function call 2."},
		{"output-orphan", respond(reUser + `,` + reOutput("7")), good, "No tool call found for function call output with call_id 7."},
		{"output-orphan", respond(reUser + `,` + reOutput("1") + `,` + reCall("1", "read", "{}")), good, "No tool call found"},
		{"output-twice", respond(reUser + `,` + reCall("1", "read", "{}") + `,` + reOutput("1") + `,` + reOutput("1")), good, "several outputs"},
		{"reference", respond(`{"type":"item_reference","id":"rs_1"},` + reUser), respond(reUser), "Items are not persisted"},
		{"reasoning-content", respond(reUser + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null},` + said), respond(reUser + `,` + reReasoning + `,` + said), "Item with id 'rs_1' not found"},
		{"reasoning-follow", respond(reUser + `,` + reReasoning), respond(reUser + `,` + reReasoning + `,` + said), "without its required following item"},
		{"reasoning-follow", respond(reUser + `,` + reReasoning + `,` + reUser), respond(reUser + `,` + reReasoning + `,` + reCall("1", "read", "{}") + `,` + reOutput("1")), "Item 'rs_1' of type 'reasoning'"},
		{"tools", respond(reUser, `,"tools":[`+strings.TrimSuffix(strings.Repeat(reTool("read", oaSchema, "")[10:len(tools)-1]+`,`, 129), ",")+`]`), respond(reUser, tools), "maximum length 128"},
		{"tool-type", respond(reUser, strings.Replace(tools, `"function"`, `"tool"`, 1)), respond(reUser, tools), "Invalid value: 'tool'"},
		{"tool-name", respond(reUser, `,"tools":[{"type":"function","function":{"name":"read"}}]`), respond(reUser, tools), "Missing required parameter: 'tools[0].name'."},
		{"tool-schema", respond(reUser, reTool("read", `{"type":"object"}`, "")), respond(reUser, tools), "missing properties"},
		{"tool-strict", respond(reUser, reTool("read", oaSchema, `,"strict":true`)), respond(reUser, reTool("read", oaSchema, `,"strict":false`)), "'additionalProperties' is required"},
		{"tool-choice", respond(reUser, `,"tool_choice":"required"`), respond(reUser, `,"tool_choice":"auto"`), "need tools"},
		{"tool-choice", respond(reUser, tools, `,"tool_choice":{"type":"function","name":"write"}`), respond(reUser, tools, `,"tool_choice":{"type":"function","name":"read"}`), "'write' not found"},
	}
}
