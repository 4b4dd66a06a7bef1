// Package strictwire plays two vendors' servers that look at every request before
// they answer it. It is for tests and for the programs that gather evidence: a
// fake model that takes anything proves nothing about what is sent to it.
//
// [OpenAI] and [Anthropic] are providers. Each renders a request to the JSON of
// its wire (OpenAI's by the adapter of this module, Anthropic's as an adapter
// would), holds the body to the rules of the wire, and ends the stream with a 400
// in the vendor's words if one is broken. Otherwise it streams what the provider
// behind it plays. There is no network, no goroutine and no clock, so that it
// works in a bubble of testing/synctest.
//
// [CheckOpenAI] and [CheckAnthropic] look at a body alone. The rules are those
// that the vendors' servers have been seen to enforce; where servers differ, the
// strictest counts. Each is listed with what it is for. What depends on the model
// (context windows, whether an answer may be begun for the model) is left out.
package strictwire
