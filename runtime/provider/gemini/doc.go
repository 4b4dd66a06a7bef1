// Package gemini asks models over the Gemini API, streamGenerateContent of version v1beta.
//
// It is written over net/http and links no SDK. The vendor's SDK for Go reads arguments of
// tools into float64, which changes large numbers, sends a request again by itself, takes a
// stream without an end for an answer, and reads the environment. Package counterpart, below
// this one, shows each of these, and that the SDK reads and sends the same in all else.
//
// # Requests
//
//   - Results of tools stand in a content of their own, directly behind the calls, in their
//     order: {"output": text}, or {"error": text} of a failure. Nothing else stands in it.
//   - Images and PDFs of results stand within the result for Gemini 3 and later, and in the
//     user's next content for models before it and for other media.
//   - Consecutive messages of one role are one content. Empty texts are left out.
//   - Signatures go back on their own part, to the model that made them. A first call without
//     one, made by another model, gets the value that the API documents for that: Gemini 3
//     refuses calls without a signature. What other vendors thought is not sent.
//   - Ids of calls are sent only if they came from this wire, to models that have them.
//   - Schemas of tools are parametersJsonSchema: the older member knows only a few keywords.
//   - Caching is the server's own. The contents of a request begin with the same bytes as those
//     before it; settings stand behind them.
//
// # Answers
//
// A stream without a finish reason is provider.ErrNoFinish. Filters, recitation and blocked
// prompts end with FinishFilter. A call that the model wrote wrongly is provider.ErrProtocol: a
// second try may succeed. CONTINUATION is FinishPause: the next request sends the token of the
// answer instead of the answer.
package gemini
