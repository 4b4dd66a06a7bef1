package responses

import "github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"

// sdk is a source that several rules share.
const sdk = "openai-go/v3 responses/response.go "

// rules returns the rules, roughly in the order in which the server looks at a request.
func rules() []wire.Rule {
	const (
		unknown = "unknown_parameter"
		value   = "invalid_value"
		missing = "missing_required_parameter"
		kind    = "invalid_type"
	)
	return []wire.Rule{
		{ID: "path", Why: "the one path is POST …/responses", Source: "platform.openai.com/docs/api-reference/responses/create", Status: 404},
		{ID: "auth", Why: "a request has a key", Source: "platform.openai.com/docs/api-reference/authentication", Status: 401},
		{ID: "json", Why: "the body is one JSON value of valid UTF-8 without lone surrogates", Source: "platform.openai.com/docs/guides/error-codes", Ours: true},
		{ID: "argument", Why: "members that the API does not know are refused, also those of chat completions: seed, stop, messages, max_tokens", Source: "teabranch/open-responses-server#41; " + sdk + "ResponseNewParams", Code: unknown},
		{ID: "model", Why: "there is no default model", Source: sdk + "ResponseNewParams", Code: missing},
		{ID: "max-tokens", Why: "a bound of the answer is an integer of at least 16", Source: "earendil-works/pi#6265; vectorize-io/hindsight#58", Code: "integer_below_min_value"},
		{ID: "sampling", Why: "models that think take no temperature and no top_p but the default", Source: "OpenHands/software-agent-sdk#992", Code: "unsupported_parameter"},
		{ID: "effort", Why: "an effort is none, minimal, low, medium, high, xhigh or max", Source: "openai-go/v3 shared/shared.go ReasoningEffort", Code: value},
		{ID: "include", Why: "what is to be included is on the list", Source: sdk + "ResponseIncludable", Code: value},
		{ID: "input", Why: "the input is a text or a list with an item in it", Source: sdk + "ResponseNewParamsInputUnion", Code: missing},
		{ID: "item-type", Why: "an item has a type that the API knows", Source: sdk + "ResponseInputItemUnionParam", Code: value},
		{ID: "item-extra", Why: "an item has no members that its type does not have; reasoning has no status", Source: "1jehuang/jcode#1028; BerriAI/litellm#13420", Code: unknown},
		{ID: "id-prefix", Why: "the id of an item begins with fc, rs or msg by its type, or is left out", Source: "nodetool-ai/nodetool#4252; Wei-Shaw/sub2api#3981; jlcodes99/cockpit-tools#2090", Code: value},
		{ID: "id-word", Why: "an id has letters, digits, underscores and dashes only, and is not empty", Source: "anomalyco/opencode#25065", Code: value},
		{ID: "role", Why: "there are user, assistant, system and developer", Source: sdk + "EasyInputMessageRole", Code: value},
		{ID: "content", Why: "a message has a content", Source: sdk + "EasyInputMessageParam", Code: missing},
		{ID: "part", Why: "an assistant's content is output_text and refusal, another's is input_text, input_image and input_file", Source: sdk + "ResponseOutputMessageContentUnionParam", Code: value},
		{ID: "phase", Why: "the phase of an assistant's message is commentary or final_answer", Source: sdk + "EasyInputMessagePhase", Code: value},
		{ID: "call-id", Why: "a call and its output have a call_id", Source: sdk + "ResponseFunctionToolCallParam", Code: missing},
		{ID: "call-id-length", Why: "a call_id has at most 64 characters", Source: "AnswerDotAI/fastllm#45", Code: "string_above_max_length"},
		{ID: "call-name", Why: "a name matches ^[a-zA-Z0-9_-]+$ and has at most 64 characters, also one that a model made up", Source: sdk + "ResponseFunctionToolCallParam", Code: value},
		{ID: "call-arguments", Why: "the arguments of a call are a string", Source: sdk + "ResponseFunctionToolCallParam", Code: kind},
		{ID: "output", Why: "the output of a call is a string or a list of input parts", Source: sdk + "ResponseInputItemFunctionCallOutputOutputUnionParam", Code: kind},
		{ID: "output-missing", Why: "every call has an output behind it", Source: "bytedance/trae-agent#245"},
		{ID: "output-orphan", Why: "every output has a call in front of it", Source: "continuedev/continue#10092"},
		{ID: "output-twice", Why: "a call has one output", Source: "platform.openai.com/docs/guides/function-calling", Ours: true},
		{ID: "reference", Why: "what was not stored cannot be referred to", Source: "runvendo/vendo#1071; continuedev/continue#9101", Status: 404},
		{ID: "reasoning-content", Why: "reasoning that was not stored comes with its encrypted content", Source: "vercel/ai#7543", Status: 404},
		{ID: "reasoning-sealed", Why: "the encrypted content is the one that this model has made for this item, when the item was done", Source: "openai/codex#8145; smallmain/vscode-unify-chat-provider#178", Code: "invalid_encrypted_content"},
		{ID: "reasoning-follow", Why: "reasoning is followed by the item that followed it in the answer", Source: "continuedev/continue#8933; vercel/ai#7099"},
		{ID: "reasoning-missing", Why: "an item with the id of an answer comes with the reasoning that it followed", Source: "continuedev/continue#11994"},
		{ID: "tools", Why: "there are at most 128 tools", Source: "platform.openai.com/docs/api-reference/responses/create", Code: "array_above_max_length"},
		{ID: "tool-type", Why: "a tool is a function, flat", Source: sdk + "FunctionToolParam", Code: value},
		{ID: "tool-name", Why: "a tool's name matches ^[a-zA-Z0-9_-]+$, has at most 64 characters and stands in the tool itself", Source: "microsoft/autogen#6935", Code: missing},
		{ID: "tool-schema", Why: "the parameters are the schema of an object, with its properties", Source: "tailcallhq/forgecode#1359", Code: "invalid_function_parameters"},
		{ID: "tool-strict", Why: "a strict schema requires all properties and forbids others", Source: "bytedance/trae-agent#173", Code: "invalid_function_parameters"},
		{ID: "tool-choice", Why: "a choice needs tools, and the chosen tool is one of them", Source: sdk + "ResponseNewParamsToolChoiceUnion", Ours: true},
	}
}
