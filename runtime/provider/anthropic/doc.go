// Package anthropic asks models over Anthropic's Messages API, version 2026-10-21.
//
// The vendor's SDK makes the connection, the headers and the framing. Its retries, its
// reading of the environment and its telemetry are off: what is sent where is decided here,
// and a hook decides about errors (OnModelError). The body of a request and the reading of
// events are this package's own, so that a long history costs little and its bytes stay the
// same from request to request.
//
// # Requests
//
//   - Results of tools stand first in one message of the user, failed ones with is_error.
//   - Consecutive messages of one role are one message. Blank texts are left out.
//   - Thinking goes back with its signature, in its place, to the model that made it.
//     What another model or another vendor thought is not sent.
//   - Audio, and images of a type that the API does not take, fail the request; in earlier
//     turns they become a text that says so.
//   - The API refuses oneOf, anyOf and allOf at the top of a tool's schema: they are left out
//     there, and the tool's description quotes them.
//   - Four marks say what the server may cache: behind the tools, behind the system prompt,
//     behind the messages that stay, and at the end.
//
// # Answers
//
// A stream without message_stop is provider.ErrNoFinish. Full context windows end with
// FinishLength, as full answers do; refusals with FinishFilter; pauses with FinishPause.
// Blocks of the server's own tools are kept as blocks of reasoning without text and go back
// as they came.
package anthropic
