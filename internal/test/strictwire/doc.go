// Package strictwire imitates the servers of four wires that check every request: OpenAI's
// chat completions and Responses, Anthropic's Messages, Gemini's generateContent. It is for
// tests, and for programs that gather evidence: a fake model that accepts anything proves
// nothing about its requests.
//
// [New] is a server over HTTP with a scripted model behind it, which [Handler.Client] reaches
// without a network. It streams the model's answer as the vendor would: the reasoning is
// signed, calls get the vendor's ids, usage comes in the vendor's counts. It refuses what the
// vendor would, with the vendor's status and error: a rule broken by the body, and reasoning
// that does not come back as it was answered (missing, altered, moved, or made by another
// vendor or model). A [Directive] in the model's answer makes it say what no chunk says. It
// starts no goroutine and has no clock, so that it works in a bubble of testing/synctest. It
// answers streams only.
//
// [Wire.Check] checks a body alone. Each [Rule] names its public source; Rule.Ours marks
// those whose source has no words for the refusal. Where servers of one wire differ, the
// strictest counts. What is left out: context windows, rate limits, and models that do not
// exist. Rules of model families go by the version in the model's name; an unknown name has
// the rules of none.
//
// [OpenAI] and [Anthropic] are providers for tests in front of another provider; the second
// is not an adapter to the vendor. Each renders a request to the JSON of its wire (OpenAI's
// by the adapter of this module, Anthropic's like an adapter would) and checks the body. If
// it breaks a rule, the stream ends with the vendor's refusal; else with the answer of the
// provider behind, chunk by chunk.
//
// The vendors' SDKs prove the servers, each in a conversation: Gemini's in the tests of this
// package, OpenAI's and Anthropic's in runtime/provider/*/counterpart.
package strictwire
