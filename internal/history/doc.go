// Package history checks and repairs the history of a conversation, so that every
// provider accepts it.
//
// [Check] checks these rules:
//
//   - The first message is a user's, and every role is one of package hook.
//   - A user's message has text that is not blank, or media. An assistant's has
//     too, or calls a tool. Only an assistant calls tools.
//   - Every tool call has exactly one tool message as its result. Results stand
//     directly behind the assistant's message, in the order of its calls, and
//     carry the id and the tool of their call.
//   - The id of a call is unique in the conversation and valid ([ValidID]), its
//     tool's name is valid (message.ValidToolName), and its arguments are a JSON
//     object without lone surrogates.
//
// A provider refuses a request whose history breaks a rule, and every later one,
// because each request has the whole history. The runtime writes valid histories.
// Histories from elsewhere (an import, a restored store, a program that crashed)
// go through [Repair].
//
// The package does not shorten histories. It has no state; everything in it is
// safe for concurrent use.
package history
