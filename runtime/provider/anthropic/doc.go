// Package anthropic asks models over Anthropic's Messages API, version 2026-10-21.
//
// It is written over net/http and links no SDK. Nothing is retried: a hook decides about errors
// (OnModelError). The bytes of a history stay the same from request to request. counterpart, a
// module of its own below this package, shows that the vendor's SDK for Go reads and sends the
// same.
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
