package anthropic

import "github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"

// Sources that several rules share.
const (
	sdk       = "anthropic-sdk-go/v2 message.go "
	migration = "platform.claude.com/docs/en/api/migration-2026-10-21"
)

// rules returns the rules, roughly in the order in which the server looks at a request.
func rules() []wire.Rule { return append(requestRules(), messageRules()...) }

func requestRules() []wire.Rule {
	return []wire.Rule{
		{ID: "path", Why: "the one path is POST /v1/messages", Source: "platform.claude.com/docs/en/api/messages", Status: 404, Type: "not_found_error", Ours: true},
		{ID: "auth", Why: "a request has a key: a bearer, or x-api-key", Source: migration, Status: 401, Type: "authentication_error", Ours: true},
		{ID: "version", Why: "the header anthropic-version is 2026-10-21", Source: migration, Ours: true},
		{ID: "size", Why: "a request has at most 32 MB", Source: "platform.claude.com/docs/en/api/errors", Status: 413, Type: "request_too_large"},
		{ID: "json", Why: "the body is one JSON value of valid UTF-8 without lone surrogates", Source: "anthropics/claude-code#3277"},
		{ID: "sampling", Why: "temperature, top_p and top_k are gone, even at their defaults", Source: migration + "; ttlequals0/MinusPod#926"},
		{ID: "extra", Why: "members that the API does not know are refused", Source: sdk + "MessageNewParams"},
		{ID: "model", Why: "there is no default model", Source: sdk + "MessageNewParams"},
		{ID: "max-tokens", Why: "the bound of the answer is required, an integer of at least 1", Source: sdk + "MessageNewParams"},
		{ID: "thinking-type", Why: "thinking is adaptive, between_tools, disabled or enabled", Source: sdk + "ThinkingConfigParamUnion", Ours: true},
		{ID: "thinking-budget", Why: "models from 4.7 on think adaptively; they take no budget", Source: "zhukunpenglinyutong/jetbrains-cc-gui#1003"},
		{ID: "budget", Why: "a budget has at least 1,024 tokens", Source: "themaximalist/llm.js#30; " + sdk + "ThinkingConfigEnabledParam"},
		{ID: "budget-max", Why: "a budget is smaller than max_tokens", Source: sdk + "ThinkingConfigEnabledParam"},
		{ID: "adaptive", Why: "models before 4.6 do not think adaptively", Source: "elizaOS/eliza#16175"},
		{ID: "effort", Why: "models before 4.5, and haiku 4.5, have no effort", Source: "elizaOS/eliza#16175"},
		{ID: "effort-value", Why: "an effort is low, medium, high, xhigh or max", Source: sdk + "OutputConfigEffort"},
		{ID: "system", Why: "the system prompt is a string or text blocks beside the messages, and not blank", Source: "anthropics/claude-code#23369; " + sdk + "MessageNewParams"},
		{ID: "tool-extra", Why: "a tool has no members that the API does not know", Source: sdk + "ToolParam"},
		{ID: "tool-name", Why: "a tool's name matches ^[a-zA-Z0-9_-]{1,128}$", Source: sdk + "ToolParam"},
		{ID: "tool-unique", Why: "no two tools have one name", Source: "anthropics/claude-code#10687"},
		{ID: "tool-schema", Why: "the input schema is that of an object", Source: sdk + "ToolInputSchemaParam"},
		{ID: "schema-top", Why: "the input schema has no oneOf, allOf or anyOf at its top", Source: "anthropics/claude-code#40075"},
		{ID: "tool-choice", Why: "a choice needs tools, and the chosen tool is one of them", Source: sdk + "ToolChoiceUnionParam", Ours: true},
		{ID: "thinking-choice", Why: "who thinks is not forced to call a tool", Source: "mastra-ai/mastra#7507"},
		{ID: "cache-type", Why: "a cache breakpoint is ephemeral, for 5m or 1h", Source: sdk + "CacheControlEphemeralParam"},
		{ID: "cache-empty", Why: "a cache breakpoint does not stand on an empty text", Source: "askalf/dario#1066"},
		{ID: "cache-thinking", Why: "a cache breakpoint does not stand on thinking", Source: sdk + "ThinkingBlockParam"},
		{ID: "cache-count", Why: "there are at most 4 cache breakpoints", Source: "continuedev/continue#6937"},
		{ID: "cache-order", Why: "in the order tools, system, messages no breakpoint of 1h stands behind one of 5m", Source: "headroomlabs-ai/headroom#2939"},
	}
}

func messageRules() []wire.Rule {
	return []wire.Rule{
		{ID: "messages", Why: "an empty list of messages cannot be answered", Source: sdk + "MessageNewParams"},
		{ID: "role", Why: "there are user and assistant; before Opus 4.8 the system prompt is no message", Source: "platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages"},
		{ID: "system-place", Why: "a system message stands behind a user's, as the last or before an assistant's", Source: "platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages", Ours: true},
		{ID: "first", Why: "the first message is the user's", Source: "livekit/agents#669"},
		{ID: "prefill", Why: "models from 4.6 on do not continue an assistant's message, unless its turn was paused", Source: "QwenLM/qwen-code#8040"},
		{ID: "content", Why: "every message but a last one of the assistant says something", Source: "crewAIInc/crewAI#4620; " + sdk + "MessageParam"},
		{ID: "block", Why: "a block has a known type and stands with the role that may use it; an assistant has no document", Source: migration},
		{ID: "block-extra", Why: "a block has no members that its type does not have", Source: sdk + "ContentBlockParamUnion"},
		{ID: "citations", Why: "a user's text has no citations", Source: migration},
		{ID: "text-empty", Why: "a text block is not empty", Source: "anthropics/claude-code#59812"},
		{ID: "text-blank", Why: "a text block is not all blanks", Source: "anthropics/claude-code#23369"},
		{ID: "trailing", Why: "a last message of the assistant does not end with a blank", Source: "tailcallhq/forgecode#1872"},
		{ID: "image", Why: "an image is a GIF, JPEG, PNG or WebP in base64, or an address", Source: sdk + "Base64ImageSourceMediaType"},
		{ID: "document", Why: "a document is a PDF in base64, a text, content, or an address", Source: sdk + "DocumentBlockParamSourceUnion", Ours: true},
		{ID: "thinking-first", Why: "thinking stands at the beginning of an assistant's message", Source: "anthropics/claude-code#20705"},
		{ID: "thinking-last", Why: "an assistant's message does not end with thinking", Source: "tailcallhq/forgecode#2107"},
		{ID: "thinking-start", Why: "with a budget the assistant's messages of a running tool loop begin with thinking", Source: "n8n-io/n8n#22550"},
		{ID: "thinking-signature", Why: "thinking goes back with its signature", Source: sdk + "ThinkingBlockParam"},
		{ID: "thinking-signed", Why: "the signature is the one that this model has made for this thinking", Source: "anthropics/claude-code#10627; anthropics/anthropic-sdk-python#1598"},
		{ID: "redacted-signed", Why: "encrypted thinking goes back to its model as it was", Source: "anthropics/anthropic-sdk-python#1598", Ours: true},
		{ID: "thinking-kept", Why: "the thinking of a message with calls goes back whole, in its place and order", Source: "anthropics/claude-code#63284"},
		{ID: "use-id", Why: "the id of a call matches ^[a-zA-Z0-9_-]+$", Source: "QwenLM/qwen-code#8160"},
		{ID: "use-name", Why: "the name of a call matches ^[a-zA-Z0-9_-]{1,128}$, also one that a model made up", Source: sdk + "ToolUseBlockParam"},
		{ID: "use-input", Why: "the arguments of a call are an object", Source: sdk + "ToolUseBlockParam"},
		{ID: "use-unique", Why: "the id of a call is unique in the request", Source: "BerriAI/litellm#23510"},
		{ID: "use-last", Why: "nothing but calls stands behind a call: the next thing has to be its result", Source: "anthropics/claude-code#8210"},
		{ID: "result-missing", Why: "every call is answered in the next message, which is the user's", Source: "anthropics/claude-code#8210"},
		{ID: "result-first", Why: "the results stand in front of everything else in their message", Source: "platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"},
		{ID: "result-unknown", Why: "a result answers a call of the message in front of it", Source: "anthropics/claude-code#18947"},
		{ID: "result-twice", Why: "a call is answered once", Source: "platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"},
		{ID: "result-error", Why: "a failed result says something", Source: "bytedance/trae-agent#230"},
		{ID: "result-error-text", Why: "a failed result holds text only", Source: "vellum-ai/vellum-assistant#18387"},
		{ID: "tools-missing", Why: "requests with calls or results define tools", Source: sdk + "MessageNewParams"},
	}
}
