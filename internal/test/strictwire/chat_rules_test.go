package strictwire_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

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

// oaModel returns a request to a model; more are further members.
func oaModel(model string, more ...string) string {
	return strings.Replace(chat(oaUser, more...), `"m"`, `"`+model+`"`, 1)
}

// oaStrict returns a strict tool with the schema.
func oaStrict(schema string) string {
	return `,"tools":[{"type":"function","function":{"name":"read","strict":true,"parameters":` + schema + `}}]`
}

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
		{"call-id", strings.Replace(oaAnswered(oaCall("", "read", "{}")), `"tool_call_id":"1"`, `"tool_call_id":""`, 1), oaAnswered(oaCall("1", "read", "{}")), "empty string"},
		{"call-id-length", chat(oaUser + `,` + oaCalls(strings.Repeat("x", 41)) + `,` + strings.Replace(oaResult, `"1"`, `"`+strings.Repeat("x", 41)+`"`, 1)),
			chat(oaUser + `,` + oaCalls(strings.Repeat("x", 40)) + `,` + strings.Replace(oaResult, `"1"`, `"`+strings.Repeat("x", 40)+`"`, 1)), "maximum length 40, but got a string with length 41"},
		{"call-id-unique", chat(oaUser + `,` + oaCalls("1", "1") + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaCalls("1") + `,` + oaResult), "Duplicate value"},
		{"call-name", oaAnswered(oaCall("1", "a.b", "{}")), oaAnswered(oaCall("1", "a-b_C9", "{}")), "does not match pattern"},
		{"call-name", oaAnswered(oaCall("1", long, "{}")), oaAnswered(oaCall("1", long[:64], "{}")), "maximum length 64"},
		{"call-arguments", oaAnswered(oaCall("1", "read", `{"p":`)), oaAnswered(oaCall("1", "read", ` {"p": [1.5e3, -0, "\u00e9\ud83d\ude00"]} `)), "JSON object"},
		{"call-arguments", oaAnswered(oaCall("1", "read", `[]`)), oaAnswered(oaCall("1", "read", `{}`)), "JSON object"},
		{"call-arguments", oaAnswered(oaCall("1", "read", `{"p":"\ude00"}`)), oaAnswered(oaCall("1", "read", `{"p":"\\ude00"}`)), "JSON object"},
		{"call-arguments", oaAnswered(`{"id":"1","type":"function","function":{"name":"read","arguments":{}}}`), oaAnswered(oaCall("1", "read", `{}`)), "JSON object"},
		{"result-missing", chat(oaUser + `,` + oaCalls("1", "2") + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "did not have response messages: 2"},
		{"result-missing", chat(oaUser + `,` + oaCalls("1") + `,` + oaUser), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaUser), "must be followed by tool messages"},
		{"result-orphan", chat(oaUser + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "must be a response to a preceeding message"},
		{"result-orphan", chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaUser + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,` + oaUser), "must be a response to a preceeding message"},
		{"result-id", chat(oaUser + `,` + oaCalls("1") + `,` + oaResult + `,{"role":"tool","content":"x"}`), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "must have a 'tool_call_id'"},
		{"result-unknown", chat(oaUser + `,` + oaCalls("2") + `,` + strings.Replace(oaResult, `"1"`, `"2"`, 1) + `,` + oaResult), chat(oaUser + `,` + oaCalls("1") + `,` + oaResult), "not found in 'tool_calls'"},
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
		{"max-tokens-old", oaModel("gpt-5.1", `,"max_tokens":1`), oaModel("gpt-5.1", `,"max_completion_tokens":1`), "Use 'max_completion_tokens' instead"},
		{"max-tokens-old", oaModel("o3-mini", `,"max_tokens":1`), oaModel("gpt-4o", `,"max_tokens":1`), "Use 'max_completion_tokens' instead"},
		{"sampling", oaModel("gpt-5", `,"temperature":0.2`), oaModel("gpt-5", `,"temperature":1`), "'temperature' is not supported with this model"},
		{"sampling", oaModel("o4-mini", `,"top_p":0.2`), oaModel("gpt-4.1", `,"top_p":0.2`), "'top_p' is not supported with this model"},
		{"tools-effort", oaModel("gpt-5.4", tools, `,"reasoning_effort":"low"`), oaModel("gpt-5.4", tools), "not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses"},
		{"tools-effort", oaModel("gpt-5.6-terra", tools), oaModel("gpt-5.6-terra", tools, `,"reasoning_effort":"none"`), "use /v1/responses or set reasoning_effort to 'none'"},
		{"stream-options", chat(oaUser, `,"stream_options":{"include_usage":true}`), chat(oaUser, `,"stream":true,"stream_options":{"include_usage":true}`), "only allowed when 'stream' is enabled"},
		{"message-extra", chat(`{"role":"user","content":"x","cache_control":{}}`), chat(`{"role":"user","content":"x","name":"ann"}`), "messages[0].cache_control"},
		{"part", chat(`{"role":"user","content":[{"type":"input_text","text":"x"}]}`), chat(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.test/a.png"}}]}`), "Supported values are: 'text', 'image_url'"},
		{"part", chat(`{"role":"system","content":[{"type":"image_url","image_url":{}}]},` + oaUser), chat(`{"role":"system","content":[{"type":"text","text":"x"}]},` + oaUser), "Supported values are: 'text'."},
		{"part", chat(`{"role":"user","content":[{"type":"file"}]}`), chat(`{"role":"user","content":[{"type":"file","file":{"file_data":"x"}}]}`), "Missing required parameter: 'messages[0].content[0].file'"},
		{"tool-strict", chat(oaUser, oaStrict(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)), chat(oaUser, oaStrict(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)), "Missing 'a'"},
		{"tool-strict", chat(oaUser, oaStrict(`{"type":"object","properties":{"a":{"type":"object","properties":{}}},"required":["a"],"additionalProperties":false}`)), chat(oaUser, oaStrict(oaSchema[:len(oaSchema)-1]+`,"additionalProperties":false}`)), "('properties', 'a'), 'additionalProperties' is required"},
	}
}
