package strictwire_test

import (
	"fmt"
	"strings"
)

// generate returns a request to Gemini with the contents; more are further members.
func generate(contents string, more ...string) string {
	return `{"contents":[` + contents + `]` + strings.Join(more, "") + `}`
}

func geContent(role string, parts ...string) string {
	return `{"role":"` + role + `","parts":[` + strings.Join(parts, ",") + `]}`
}

const (
	geUser   = `{"role":"user","parts":[{"text":"hi"}]}`
	geSigned = `,"thoughtSignature":"c2ln"`
)

func geCall(name, more string) string {
	return fmt.Sprintf(`{"functionCall":{"name":%q,"args":{}}%s}`, name, more)
}

func geResult(name string) string {
	return fmt.Sprintf(`{"functionResponse":{"name":%q,"response":{"output":"x"}}}`, name)
}

func geTool(name, schema string) string {
	return fmt.Sprintf(`,"tools":[{"functionDeclarations":[{"name":%q,"parameters":%s}]}]`, name, schema)
}

func geConfig(members string) string { return generate(geUser, `,"generationConfig":{`+members+`}`) }

func geminiRows() []row {
	long := strings.Repeat("x", 65)
	step := geContent("model", geCall("read", geSigned)) + `,` + geContent("user", geResult("read"))
	good := generate(geUser + `,` + step)
	schema := `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`
	tools := generate(geUser, geTool("read", schema))
	return []row{
		{"json", `{"contents":`, generate(geUser), "Invalid JSON payload received."},
		{"json", generate(geContent("user", `{"text":"\ud83d"}`)), generate(geContent("user", `{"text":"\ud83d\ude00"}`)), "low surrogate"},
		{"unknown", generate(geUser, `,"messages":[]`), generate(geUser, `,"safetySettings":[]`), `Unknown name "messages": Cannot find field.`},
		{"unknown", generate(geContent("user", `{"text":"x","type":"text"}`)), generate(geUser), `Unknown name "type" at 'contents[0].parts[0]'`},
		{"unknown", geConfig(`"max_tokens":1`), geConfig(`"maxOutputTokens":1`), "at 'generation_config'"},
		{"unknown", generate(geUser + `,` + geContent("model", `{"functionCall":{"name":"read","args":{},"thoughtSignature":"c2ln"}`+geSigned+`}`) + `,` + geContent("user", geResult("read"))), good, "parts[0].function_call'"},
		{"contents", generate(""), generate(geUser), "contents is not specified"},
		{"role", generate(geContent("assistant", `{"text":"x"}`) + `,` + geUser), generate(geContent("model", `{"text":"x"}`) + `,` + geUser), "Please use a valid role: user, model."},
		{"parts", generate(geContent("user")), generate(geUser), "must not be empty"},
		{"part-data", generate(geContent("user", `{"text":""}`)), generate(geContent("user", `{"text":" "}`)), "required oneof field 'data' must have one initialized field"},
		{"part-data", generate(geContent("model", `{}`) + `,` + geUser), generate(geContent("model", `{"text":""`+geSigned+`}`) + `,` + geUser), "contents[0].parts[0].data"},
		{"part-one", generate(geContent("user", `{"text":"x","inlineData":{"mimeType":"image/png","data":"aGk="}}`)), generate(geContent("user", `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`)), "already set"},
		{"inline-data", generate(geContent("user", `{"inlineData":{"mimeType":"image/png","data":"data:image/png;base64,aGk="}}`)), generate(geContent("user", `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`)), "Base64 decoding failed"},
		{"system", generate(geUser, `,"systemInstruction":{"parts":[{"text":""}]}`), generate(geUser, `,"systemInstruction":{"parts":[{"text":"x"}]}`), "system_instruction.parts[0].data"},
		{"call-name", generate(geUser + `,` + geContent("model", geCall("read", geSigned), geCall("", "")) + `,` + geContent("user", geResult("read"), geResult("read"))), good, "Name cannot be empty"},
		{"call-args", generate(geUser + `,` + geContent("model", `{"functionCall":{"name":"read","args":"{}"}`+geSigned+`}`) + `,` + geContent("user", geResult("read"))), good, "function_call.args"},
		{"call-role", generate(geUser + `,` + geContent("user", geCall("read", geSigned)) + `,` + geContent("user", geResult("read"))), good, "not of the user"},
		{"call-place", generate(step), good, "immediately after a user turn or after a function response turn"},
		{"call-place", generate(geUser + `,` + geContent("model", `{"text":"x"}`) + `,` + step), generate(geUser + `,` + geContent("model", `{"text":"x"}`, geCall("read", geSigned)) + `,` + geContent("user", geResult("read"))), "immediately after a user turn"},
		{"response-count", generate(geUser + `,` + geContent("model", geCall("read", geSigned), geCall("read", "")) + `,` + geContent("user", geResult("read"))), generate(geUser + `,` + geContent("model", geCall("read", geSigned), geCall("read", "")) + `,` + geContent("user", geResult("read"), geResult("read"))), "is equal to the number of function call parts"},
		{"response-count", generate(geUser + `,` + geContent("model", geCall("read", geSigned))), good, "number of function response parts"},
		{"response-place", generate(geUser + `,` + geContent("user", geResult("read"))), good, "immediately after a function call turn"},
		{"response-name", generate(geUser + `,` + geContent("model", geCall("read", geSigned)) + `,` + geContent("user", geResult("grep"))), good, "no call of grep"},
		{"response-id", generate(geUser + `,` + geContent("model", geCall("read", geSigned)) + `,` + geContent("user", strings.Replace(geResult("read"), `"name"`, `"id":"7","name"`, 1))), good, "no call 7"},
		{"response-object", generate(geUser + `,` + geContent("model", geCall("read", geSigned)) + `,` + geContent("user", `{"functionResponse":{"name":"read","response":"x"}}`)), good, "google.protobuf.Struct"},
		{"signature-missing", generate(geUser + `,` + geContent("model", geCall("read", "")) + `,` + geContent("user", geResult("read"))), good, "function call `default_api:read` , position 2."},
		{"signature-missing", generate(geUser + `,` + step + `,` + geContent("model", geCall("read", "")) + `,` + geContent("user", geResult("read"))), generate(geUser + `,` + step + `,` + step), "position 4."},
		{"signature-missing", generate(geUser + `,` + geContent("model", geCall("read", ""), geCall("grep", geSigned)) + `,` + geContent("user", geResult("read"), geResult("grep"))),
			generate(geUser + `,` + geContent("model", geCall("read", "")) + `,` + geContent("user", geResult("read")) + `,` + geUser), "missing a thought_signature"},
		{"signature-missing", generate(geUser + `,` + geContent("model", geCall("read", "")) + `,` + geContent("user", geResult("read"))), `gemini-2.5-flash ` + generate(geUser+`,`+geContent("model", geCall("read", ""))+`,`+geContent("user", geResult("read"))), "missing"},
		{"signature-bytes", generate(geUser + `,` + geContent("model", geCall("read", `,"thoughtSignature":"?"`)) + `,` + geContent("user", geResult("read"))), generate(geUser + `,` + geContent("model", geCall("read", `,"thoughtSignature":"skip_thought_signature_validator"`)) + `,` + geContent("user", geResult("read"))), "Base64 decoding failed"},
		{"tool-name", generate(geUser, geTool("1a", schema)), generate(geUser, geTool("a.b:c-1_", schema)), "Must start with a letter or an underscore"},
		{"tool-name", generate(geUser, geTool(long, schema)), generate(geUser, geTool(long[:64], schema)), "maximum length of 64"},
		{"tool-unique", generate(geUser, `,"tools":[{"functionDeclarations":[{"name":"a"},{"name":"a"}]}]`), tools, "Duplicate function declaration found: a"},
		{"schema-both", generate(geUser, strings.Replace(geTool("read", schema), `"name"`, `"parametersJsonSchema":{"type":"object"},"name"`, 1)), tools, "must not be set both"},
		{"schema-name", generate(geUser, geTool("read", strings.Replace(schema, `"type":"OBJECT"`, `"type":"OBJECT","additionalProperties":false`, 1))), tools, `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters'`},
		{"schema-name", generate(geUser, geTool("read", strings.Replace(schema, `"STRING"`, `"STRING","const":"x"`, 1))), generate(geUser, strings.Replace(geTool("read", `{"type":"object","properties":{"a":{"const":1}},"additionalProperties":false}`), "parameters", "parametersJsonSchema", 1)), "parameters.properties[0].value'"},
		{"schema-type-list", generate(geUser, geTool("read", strings.Replace(schema, `"STRING"`, `["STRING","NULL"]`, 1))), tools, "Proto field is not repeating, cannot start list."},
		{"schema-empty", generate(geUser, geTool("read", `{"type":"object","properties":{}}`)), tools, "parameters.properties: should be non-empty for OBJECT type"},
		{"schema-items", generate(geUser, geTool("read", strings.Replace(schema, `"STRING"`, `"ARRAY"`, 1))), generate(geUser, geTool("read", strings.Replace(schema, `"STRING"`, `"ARRAY","items":{"type":"STRING"}`, 1))), "properties[a].items: missing field"},
		{"schema-required", generate(geUser, geTool("read", schema[:len(schema)-1]+`,"required":["b"]}`)), generate(geUser, geTool("read", schema[:len(schema)-1]+`,"required":["a"]}`)), "required[0]: property is not defined"},
		{"schema-type", generate(geUser, strings.Replace(geTool("read", `{"type":"string"}`), "parameters", "parametersJsonSchema", 1)), generate(geUser, strings.Replace(geTool("read", `{"type":"object"}`), "parameters", "parametersJsonSchema", 1)), "must be of type object"},
		{"allowed", generate(geUser, geTool("read", schema), `,"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["read"]}}`), generate(geUser, geTool("read", schema), `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["read"]}}`), "mode is ANY"},
		{"allowed", generate(geUser, geTool("read", schema), `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["write"]}}`), tools, `"write" is not among`},
		{"max-tokens", geConfig(`"maxOutputTokens":0`), geConfig(`"maxOutputTokens":1`), "must be positive"},
		{"thinking-both", geConfig(`"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW"}`), geConfig(`"thinkingConfig":{"thinkingLevel":"LOW"}`), "only one of thinking budget and thinking level"},
		{"thinking-level", `gemini-2.5-flash ` + geConfig(`"thinkingConfig":{"thinkingLevel":"LOW"}`), `gemini-2.5-flash ` + geConfig(`"thinkingConfig":{"thinkingBudget":0}`), "Thinking level is not supported"},
		{"thinking-off", `gemini-2.5-pro ` + geConfig(`"thinkingConfig":{"thinkingBudget":0}`), `gemini-2.5-pro ` + geConfig(`"thinkingConfig":{"thinkingBudget":128}`), "only works in thinking mode"},
		{"format-schema", geConfig(`"responseJsonSchema":{}`), geConfig(`"responseJsonSchema":{},"responseMimeType":"application/json"`), "only allowed when response_mime_type"},
	}
}
