// Package openai asks models over OpenAI's two protocols: chat completions, which many servers
// implement (llama.cpp, vLLM, Ollama, LM Studio, gateways), and Responses, which newer models
// of OpenAI need to call tools. It is a thin streaming adapter over net/http, and tolerates
// many differences of those servers. Presets has what vendors need of Options.
//
// It does not retry: a hook decides about errors (OnModelError). It implements no other
// protocol of OpenAI.
//
// # Wires
//
// At OpenAI and Azure the model's family in the catalog chooses the wire; other servers get
// chat completions. Options.Wire decides otherwise. Settings that a model or its wire does not
// have fail before the request, with what would work.
//
// On Responses nothing is stored at the vendor: reasoning comes encrypted and goes back to the
// model that made it, before the item that it belongs to. What another vendor signed is never
// sent. Refusals and filters end with message.FinishFilter on both wires.
//
// # Tolerated differences of the chat wire
//
//   - Framing: any of the three line ends, a byte order mark, comments between
//     events, no blank behind "data:", data in several lines, several values in
//     one event, a last event without an empty line, no [DONE] after a finish.
//   - Tool calls: no id or the same id twice (they get a new one), no
//     index or the same index for all of them, whole arguments in one piece,
//     arguments as an object instead of a string, the name repeated in each
//     piece, the old function_call.
//   - Reasoning as reasoning_content or reasoning, text as a list of parts, a
//     character cut in two halves between events.
//   - Finish reasons of other protocols; "stop" although tools are called; a finish
//     in every event.
//   - Usage in each event, in the last one, or none: then it is estimated, four
//     bytes a token.
//
// # Errors
//
// A stream that ends without a finish is provider.ErrNoFinish, even if the answer
// looks complete; on Responses only its last event is a finish. Anything outside the protocol
// (a garbage line, an HTML page, broken JSON, a line without end, arguments that differ from
// their parts) is provider.ErrProtocol with an excerpt. An error of the server is a
// *provider.ServerError, also in the middle of a stream. Errors never quote a key.
package openai
