// Package strictwire imitates two vendors' servers that check every request. It is for
// tests, and for programs that gather evidence: a fake model that accepts anything proves
// nothing about its requests.
//
// [OpenAI] and [Anthropic] are providers for tests; the second is not an adapter to the
// vendor. Each renders a request to the JSON of its protocol (OpenAI's by the adapter of
// this module, Anthropic's like an adapter would), and checks the body by the rules of the
// protocol. If the body breaks a rule, the stream ends with a 400 in the vendor's words.
// Else it streams the answer of the provider behind it. It uses no network, goroutine or
// clock, so that it works in a bubble of testing/synctest.
//
// [CheckOpenAI] and [CheckAnthropic] check a body alone. The rules are those that the
// vendors' servers are known to enforce; where servers differ, the strictest counts. Each
// rule is listed with its reason. Rules that depend on the model (context windows, whether
// an answer may be begun for the model) are left out.
package strictwire
