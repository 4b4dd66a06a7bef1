package gemini

import "github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"

// Sources that several rules share.
const (
	sdk        = "google.golang.org/genai types.go "
	signatures = "ai.google.dev/gemini-api/docs/thought-signatures"
)

// rules returns the rules, roughly in the order in which the server looks at a request.
func rules() []wire.Rule {
	return []wire.Rule{
		{ID: "path", Why: "the one path is POST /v1beta/models/NAME:streamGenerateContent", Source: "ai.google.dev/api/generate-content", Status: 404, Type: "NOT_FOUND", Ours: true},
		{ID: "alt", Why: "server-sent events are asked for by alt=sse", Source: "ai.google.dev/api/generate-content", Ours: true},
		{ID: "auth", Why: "a request has a key: x-goog-api-key, or key in the query", Source: "ai.google.dev/api", Status: 403, Type: "PERMISSION_DENIED", Ours: true},
		{ID: "json", Why: "the body is one JSON value of valid UTF-8 without lone surrogates", Source: "zed-industries/zed#44875", Ours: true},
		{ID: "unknown", Why: "names that the API does not know are refused, wherever they stand", Source: "gera2ld/ai.nvim#13; zed-industries/zed#44875"},
		{ID: "contents", Why: "a request has contents", Source: "ai.google.dev/api/generate-content", Ours: true},
		{ID: "role", Why: "a content is of the user or the model", Source: "songquanpeng/one-api#1385; the-open-agent/openagent#1666"},
		{ID: "parts", Why: "a content has a part", Source: "ai.google.dev/api/caching#Content", Ours: true},
		{ID: "part-data", Why: "a part says something: an empty text is none, but for one that has a signature", Source: "boldsoftware/sketch#68; genkit-ai/genkit#3816"},
		{ID: "part-one", Why: "a part has one kind of data", Source: "ai.google.dev/api/caching#Part", Ours: true},
		{ID: "inline-data", Why: "inline data has a type and is base64", Source: sdk + "Blob", Ours: true},
		{ID: "system", Why: "the standing instructions say something", Source: "songquanpeng/one-api#2243"},
		{ID: "call-name", Why: "a call has a name", Source: sdk + "FunctionCall", Ours: true},
		{ID: "call-args", Why: "the arguments of a call are an object", Source: sdk + "FunctionCall", Ours: true},
		{ID: "call-role", Why: "the model calls, and the user answers", Source: "ai.google.dev/gemini-api/docs/function-calling", Ours: true},
		{ID: "call-place", Why: "calls stand behind a user's content or results", Source: "google-gemini/gemini-cli#26486; diegosouzapw/OmniRoute#13573"},
		{ID: "response-count", Why: "the content behind one with calls has as many results", Source: "google-gemini/gemini-cli#16984; microsoft/vscode#299295"},
		{ID: "response-place", Why: "results stand behind calls", Source: "google-gemini/gemini-cli#16984", Ours: true},
		{ID: "response-name", Why: "a result has the name of its call", Source: sdk + "FunctionResponse", Ours: true},
		{ID: "response-id", Why: "the id of a result, if there is one, is that of its call", Source: "router-for-me/CLIProxyAPI#5199", Ours: true},
		{ID: "response-object", Why: "a result is an object", Source: sdk + "FunctionResponse", Ours: true},
		{ID: "signature-missing", Why: "with Gemini 3 the first call of every step of the current turn has its thought signature", Source: signatures + "; nanbingxyz/5ire#405"},
		{ID: "signature-bytes", Why: "a thought signature is base64", Source: sdk + "Part", Ours: true},
		{ID: "signature", Why: "a thought signature comes back on its own part, to the model that has made it", Source: "google-gemini/gemini-cli#13467; decolua/9router#4136"},
		{ID: "tool-name", Why: "a tool's name begins with a letter or underscore, has letters, digits, _ . : - and at most 64 characters", Source: "google-gemini/gemini-cli#9535"},
		{ID: "tool-unique", Why: "no two tools have one name", Source: "ai.google.dev/api/caching#FunctionDeclaration", Ours: true},
		{ID: "schema-both", Why: "a tool has parameters or parametersJsonSchema, not both", Source: sdk + "FunctionDeclaration", Ours: true},
		{ID: "schema-name", Why: "parameters know the members of Schema only: no additionalProperties, $schema, const, oneOf", Source: "openswarm-ai/openswarm#24; zed-industries/zed#59938"},
		{ID: "schema-type-list", Why: "parameters have one type, not a list", Source: "zed-industries/zed#53919"},
		{ID: "schema-empty", Why: "an object in parameters has properties", Source: "pipecat-ai/pipecat-flows#110"},
		{ID: "schema-items", Why: "an array in parameters has items", Source: "cline/cline#7339"},
		{ID: "schema-required", Why: "what parameters require is among the properties", Source: "iBUHub/AIStudioToAPI#154"},
		{ID: "schema-type", Why: "a parametersJsonSchema is that of an object", Source: sdk + "FunctionDeclaration", Ours: true},
		{ID: "allowed", Why: "the functions that may be called are named with the mode ANY or VALIDATED, and are there", Source: sdk + "FunctionCallingConfig", Ours: true},
		{ID: "max-tokens", Why: "a bound of the answer is at least 1", Source: "ai.google.dev/api/generate-content#GenerationConfig", Ours: true},
		{ID: "thinking-both", Why: "there is a level or a budget of thinking, not both", Source: "ai.google.dev/gemini-api/docs/thinking", Ours: true},
		{ID: "thinking-level", Why: "a model before Gemini 3 has no level of thinking", Source: "juspay/neurolink#1707", Ours: true},
		{ID: "thinking-off", Why: "Gemini 2.5 Pro and 3 Pro do not stop thinking", Source: "juspay/neurolink#1707; sakibsadmanshajib/gemini-plugin-cc#20", Ours: true},
		{ID: "format-schema", Why: "a schema of the answer needs a response type of JSON", Source: sdk + "GenerationConfig", Ours: true},
	}
}
