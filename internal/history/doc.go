// Package history says what the history of a conversation has to look like so
// that every provider takes it, finds what is wrong with one, and mends it.
//
// The rules, which [Check] holds a history to:
//
//   - The first message is a user's, and every role is one of package hook.
//   - A user's message says something: a text that is not blank, or media. An
//     assistant's does too, or calls a tool. Only an assistant calls tools.
//   - Every tool call is answered by exactly one tool message. The answers stand
//     directly behind the assistant's message, in the order of its calls, and
//     carry the id and the tool of their call.
//   - The id of a call is unique in the conversation and one that [ValidID]
//     takes, its tool's name matches message.ValidToolName, and its arguments are a
//     JSON object without lone surrogates.
//
// One breach of them makes a provider refuse a request, and as the history goes
// along with every request, each later one too. The runtime writes histories
// that keep the rules. What others wrote (an import, a store that was restored,
// a program that crashed) goes through [Repair].
//
// The package is not for making a history shorter, and it does not judge what is
// said in one. It keeps no state; everything in it is safe for concurrent use.
package history
