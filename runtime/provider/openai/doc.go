// Package openai asks models over OpenAI's chat completions protocol, which many servers
// implement: llama.cpp, vLLM, Ollama, LM Studio, gateways. It is a thin streaming adapter
// over net/http, and tolerates many differences of those servers.
//
// It does not retry: a hook decides about errors (OnModelError). It implements no other
// protocol of OpenAI.
//
// # Tolerated differences
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
// looks complete. Anything outside the protocol (a garbage line, an HTML page,
// broken JSON, a line without end) is provider.ErrProtocol with an excerpt. An error
// of the server is an *Error, also in the middle of a stream. Errors never quote a
// key.
package openai
