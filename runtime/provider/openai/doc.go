// Package openai asks models over the chat completions wire of OpenAI, which
// many servers speak: llama.cpp, vLLM, Ollama, LM Studio, gateways. It is a thin
// adapter over net/http that streams, and it is patient with what those servers
// do differently.
//
// It does not retry: an error says what happened, and a hook decides
// (OnModelError). It does not know any other wire of OpenAI's either.
//
// # What it forgives
//
//   - Framing: any of the three line ends, a byte order mark, comments between
//     events, no blank behind "data:", data in several lines, several values in
//     one event, a last event without an empty line, no [DONE] once there was a
//     finish.
//   - Tool calls: no id or the same id twice (they get one of their own), no
//     index or the same index for all of them, whole arguments in one piece,
//     arguments as an object instead of a string, the name repeated in each
//     piece, the old function_call.
//   - Reasoning as reasoning_content or reasoning, text as a list of parts, a
//     character cut in two halves between events.
//   - Finish reasons of other wires; "stop" although tools are called; a finish
//     in every event.
//   - Usage in each event, in the last one, or none: then it is estimated, four
//     bytes a token.
//
// # What it does not forgive
//
// A stream that ends without a finish is provider.ErrNoFinish, however whole the
// answer looks. Anything that is not the wire (a garbage line, an HTML page,
// broken JSON, a line without end) is provider.ErrProtocol with an excerpt. What
// the server calls an error is an *Error, also in the middle of a stream. A key
// is never part of an error.
package openai
