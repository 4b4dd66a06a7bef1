package chat

import "github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"

// sdk is a source that several rules share.
const sdk = "openai-go/v3 chatcompletion.go "

// rules returns the rules, roughly in the order in which the server looks at a request.
func rules() []wire.Rule {
	const (
		missing  = "missing_required_parameter"
		value    = "invalid_value"
		long     = "string_above_max_length"
		unusable = "unsupported_parameter"
	)
	return []wire.Rule{
		{ID: "path", Why: "the one path is POST …/chat/completions", Source: "platform.openai.com/docs/api-reference/chat/create", Status: 404},
		{ID: "auth", Why: "a request has a key", Source: "platform.openai.com/docs/api-reference/authentication", Status: 401},
		{ID: "json", Why: "the body is one JSON value of valid UTF-8 without lone surrogates", Source: "platform.openai.com/docs/guides/error-codes", Ours: true},
		{ID: "argument", Why: "OpenAI refuses members that it does not know", Source: sdk + "ChatCompletionNewParams", Ours: true},
		{ID: "model", Why: "there is no default model", Source: sdk + "ChatCompletionNewParams"},
		{ID: "max-tokens", Why: "a bound of the answer is an integer of at least 1", Source: "Skytliang/Multi-Agents-Debate#8", Code: "integer_below_min_value"},
		{ID: "max-tokens-old", Why: "models that think have max_completion_tokens, not max_tokens", Source: "microsoft/clarity-agent#59", Code: unusable},
		{ID: "sampling", Why: "models that think take no temperature and no top_p but the default", Source: "OpenHands/software-agent-sdk#992; microsoft/vscode#255504", Code: unusable},
		{ID: "tools-effort", Why: "from gpt-5.4 on there are no tools with an effort, from 5.6 on none with the default effort", Source: "openai/openai-openapi#541; danny-avila/LibreChat#14355; BerriAI/litellm#34569"},
		{ID: "stream-options", Why: "stream_options needs stream", Source: sdk + "ChatCompletionStreamOptionsParam", Ours: true},
		{ID: "messages", Why: "an empty list of messages cannot be answered", Source: sdk + "ChatCompletionNewParams", Code: "empty_array"},
		{ID: "role", Why: "there are system, developer, user, assistant and tool; function is gone", Source: sdk + "ChatCompletionMessageParamUnion", Code: value},
		{ID: "message-extra", Why: "a message has no members that the API does not know; servers that think put reasoning_content there", Source: sdk + "ChatCompletionAssistantMessageParam", Ours: true},
		{ID: "content", Why: "content is a string or a list of parts; only an assistant who calls tools may leave it out", Source: sdk + "ChatCompletionAssistantMessageParam"},
		{ID: "part", Why: "a part is a text, an image, a sound, a file or a refusal, and stands with the role that may use it", Source: sdk + "ChatCompletionContentPartUnionParam", Code: value},
		{ID: "content-empty", Why: "OpenAI takes an empty message, Moonshot and DeepSeek on the same wire do not", Source: "NousResearch/hermes-agent#11929", Ours: true},
		{ID: "string-length", Why: "a string has at most 10,485,760 characters", Source: "openai/codex#13270", Code: long},
		{ID: "calls", Why: "tool_calls is a list with a call in it, or not there", Source: sdk + "ChatCompletionAssistantMessageParam", Code: "empty_array"},
		{ID: "call-role", Why: "only an assistant calls tools", Source: sdk + "ChatCompletionAssistantMessageParam", Ours: true},
		{ID: "call-type", Why: "the one type of a call is function", Source: sdk + "ChatCompletionMessageFunctionToolCallParam", Code: value},
		{ID: "call-id", Why: "an id is a string of at least 1 character", Source: sdk + "ChatCompletionMessageFunctionToolCallParam", Code: "empty_string"},
		{ID: "call-id-length", Why: "an id has at most 40 characters (64 with newer models)", Source: "camel-ai/camel#2215; decolua/9router#3167", Code: long},
		{ID: "call-id-unique", Why: "the results of two calls with one id could not be told apart", Source: "platform.openai.com/docs/guides/function-calling", Ours: true},
		{ID: "call-name", Why: "a name matches ^[a-zA-Z0-9_-]+$ and has at most 64 characters, also one that a model made up", Source: "platform.openai.com/docs/api-reference/chat/create", Code: value},
		{ID: "call-arguments", Why: "arguments are a string that holds a JSON object; servers read them again for their templates", Source: sdk + "ChatCompletionMessageFunctionToolCallFunctionParam", Code: value, Ours: true},
		{ID: "result-missing", Why: "every call of an assistant is answered by the tool messages behind it", Source: "aliasrobotics/cai#111"},
		{ID: "result-orphan", Why: "a tool message stands behind an assistant's message with calls", Source: "Abraxas-365/langchain-rust#250"},
		{ID: "result-id", Why: "a tool message says which call it answers", Source: sdk + "ChatCompletionToolMessageParam", Ours: true},
		{ID: "result-unknown", Why: "a tool message answers a call of the assistant's message in front of it", Source: "platform.openai.com/docs/guides/function-calling"},
		{ID: "result-twice", Why: "a call is answered once", Source: "platform.openai.com/docs/guides/function-calling", Ours: true},
		{ID: "tools", Why: "there are 1 to 128 tools, or the member is left out", Source: "platform.openai.com/docs/api-reference/chat/create", Code: "empty_array"},
		{ID: "tool-type", Why: "the one type of a tool is function", Source: sdk + "ChatCompletionToolUnionParam", Code: value},
		{ID: "tool-name", Why: "a tool's name matches ^[a-zA-Z0-9_-]+$ and has at most 64 characters", Source: "openai-go/v3 shared/shared.go FunctionDefinitionParam", Code: missing},
		{ID: "tool-description", Why: "a description has at most 1,024 characters", Source: "platform.openai.com/docs/api-reference/chat/create", Code: long},
		{ID: "tool-schema", Why: "the parameters are the schema of an object, with its properties", Source: "tailcallhq/forgecode#1359", Code: "invalid_function_parameters"},
		{ID: "tool-strict", Why: "a strict schema requires all properties and forbids others", Source: "bytedance/trae-agent#173", Code: "invalid_function_parameters"},
		{ID: "tool-choice", Why: "a choice needs tools, and the chosen tool is one of them", Source: sdk + "ChatCompletionToolChoiceOptionUnionParam"},
	}
}
