package main

import "strings"

// Limits of what is kept, in bytes. Longer answers say nothing that shorter ones do not, and of
// chat completions there are many; longer requests have an image.
const (
	maxResponse = 40 << 10
	maxChat     = 17 << 10
	maxRequest  = 4 << 10
)

// selection is a folder of recordings of one server.
type selection struct {
	source string
	// dir is a prefix of the paths within the module.
	dir string
	// wire is the wire's name in package recordings.
	wire string
	// server names the recordings.
	server string
}

const cassettes = "providertests/testdata/"

// selections are read from the top; the first that fits counts.
var selections = []selection{
	{"fantasy", cassettes + "TestOpenAICommon/", "chat", "openai"},
	{"fantasy", cassettes + "TestAzureCommon/", "chat", "azure"},
	{"fantasy", cassettes + "TestAzureThinking/", "chat", "azure-thinking"},
	{"fantasy", cassettes + "TestImageUploadAgentStreaming/openai", "chat", "image"},
	{"fantasy", cassettes + "TestOpenAICompatibleCommon/", "chat", "compatible"},
	{"fantasy", cassettes + "TestOpenAICompatibleThinking/", "chat", "compatible-thinking"},
	{"fantasy", cassettes + "TestOpenRouterCommon/", "chat", "openrouter"},
	{"fantasy", cassettes + "TestOpenRouterCommonWithAnthropicCache/", "chat", "openrouter-cache"},
	{"fantasy", cassettes + "TestOpenRouterThinking/", "chat", "openrouter-thinking"},
	{"fantasy", cassettes + "TestVercelCommon/", "chat", "vercel"},
	{"fantasy", cassettes + "TestVercelThinking/", "chat", "vercel-thinking"},
	{"langchaingo", "llms/openai/testdata/TestOpenRouterStreaming", "chat", "openrouter-llama"},
	{"langchaingo", "llms/openai/testdata/TestOpenRouterWithHTTPRR", "chat", "openrouter-cut"},
	{"langchaingo", "llms/openai/internal/openaiclient/testdata/TestClient_CreateChatCompletionStream", "chat", "openai-gpt-3.5"},
	{"fantasy", cassettes + "TestOpenAIResponsesCommon/", "responses", "openai"},
	{"fantasy", cassettes + "TestOpenAIResponsesWithSummaryThinking/", "responses", "openai-thinking"},
	{"fantasy", cassettes + "TestAzureResponsesCommon/", "responses", "azure"},
	{"fantasy", cassettes + "TestAzureResponsesWithSummaryThinking/", "responses", "azure-thinking"},
	{"fantasy", cassettes + "TestAnthropicCommon/", "anthropic", "common"},
	{"fantasy", cassettes + "TestAnthropicCommonWithCacheControl/", "anthropic", "cache"},
	{"fantasy", cassettes + "TestAnthropicThinking/", "anthropic", "thinking"},
	{"fantasy", cassettes + "TestAnthropicThinkingWithCacheControl/", "anthropic", "thinking-cache"},
	{"fantasy", cassettes + "TestAnthropicComputerUse/", "anthropic", "computer"},
	{"fantasy", cassettes + "TestImageUploadAgentStreaming/anthropic", "anthropic", "image"},
	{"anthropic-sdk-go", "toolrunner/testdata/cassettes/", "anthropic", "runner"},
	{"langchaingo", "llms/anthropic/internal/anthropicclient/testdata/TestClient_CreateMessageStream", "anthropic", "opus-3"},
	{"fantasy", cassettes + "TestGoogleCommon/gemini", "gemini", "common"},
	{"fantasy", cassettes + "TestGoogleThinking/gemini", "gemini", "thinking"},
	{"fantasy", cassettes + "TestImageUploadAgentStreaming/gemini", "gemini", "image"},
	{"langchaingo", "llms/googleai/testdata/TestGoogleAIErrorHandling", "gemini", "no-key"},
}

func selected(source, path string) (selection, bool) {
	for _, s := range selections {
		if s.source == source && strings.HasPrefix(path, s.dir) {
			return s, true
		}
	}
	return selection{}, false
}

// kept reports whether the exchange is one that an adapter of this module has: a stream, or a
// refusal of the request.
func (x exchange) kept(wire string) bool {
	limit := maxResponse
	if wire == "chat" {
		limit = maxChat
	}
	stream := strings.HasPrefix(x.contentType, "text/event-stream")
	return (stream || x.status >= 400) && x.method == "POST" && len(x.response) <= limit
}
