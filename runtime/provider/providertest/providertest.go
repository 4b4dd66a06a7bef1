// Package providertest is the conformance kit for adapters: it checks that a
// provider.Provider keeps the rules that a compiler cannot.
//
//	func TestConformance(t *testing.T) { providertest.Run(t, wire) }
//
// The author of an adapter describes the vendor's wire once, in a [Wire]: how the adapter is
// opened, and how the vendor writes an answer and an error. The kit then plays the server,
// in the process and without a network: it cuts streams at every byte, splits them
// everywhere, cancels, fails, and reads the requests that the adapter makes.
//
// It checks the adapter, not the vendor: whether the vendor takes the requests and answers as
// the Wire says needs another test.
//
// The kit calls the adapter from several goroutines; run it with -race to find data races.
// Rules about cancelling wait. [Check] may be called in a bubble of testing/synctest: then
// the waits take no time.
package providertest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Wire describes the wire of an adapter. Its functions are called from several goroutines.
type Wire struct {
	// Name is the adapter's key in the Meta of blocks, see provider.Meta; "" if it writes
	// none.
	Name string
	// Model is the model id of the kit's requests; "" is "kit-large".
	Model string
	// Open returns a new adapter that asks the server.
	Open func(s Server) provider.Provider
	// Answer writes an answer as the vendor streams it. A Stream without events says that
	// the wire has no such answer.
	Answer func(a Answer) Stream
	// ContentType is that of a streamed answer; "" is text/event-stream.
	ContentType string
	// Failures returns the vendor's errors, each with the text as its message: one at
	// least for the classes rate_limit, auth and request, and for overloaded or server.
	// The text needs no escaping within JSON.
	Failures func(text string) []Failure
	// Marks are the members of a request, at any depth, that mark what a server may cache:
	// "cache_control". They may move from request to request.
	Marks []string
	// Lacks says what the wire cannot.
	Lacks Lacks
	// Patience is how long the adapter may take to end a stream; 0 is 5 seconds, of the
	// bubble's time in a bubble of testing/synctest.
	Patience time.Duration
}

// Server is what an adapter asks. It is in the process.
type Server struct {
	// URL is "http://model.test", to which the adapter adds the vendor's path.
	URL string
	// Key is the key to send, in a header.
	Key string
	// Transport takes the requests; nothing else reaches the server.
	Transport http.RoundTripper
}

// Client returns a client over the transport.
func (s Server) Client() *http.Client { return &http.Client{Transport: s.Transport} }

// Lacks says what a wire cannot carry. The kit then leaves out the rules about it, and asks
// that requests which need it fail.
type Lacks struct {
	// Tools: the model calls none.
	Tools bool
	// Reasoning: answers have none.
	Reasoning bool
	// Signatures: reasoning has nothing that must go back.
	Signatures bool
	// Refusals: a refusal looks like an answer.
	Refusals bool
	// Garbage: the framing allows lines that mean nothing, so that they cannot be noticed.
	Garbage bool
	// CacheWrite and ReasoningTokens: usage does not count them.
	CacheWrite, ReasoningTokens bool
}

// Answer is what the model says.
type Answer struct {
	// Pieces are in the order in which the model makes them.
	Pieces []Piece
	Finish message.FinishReason
	// Usage has the meaning of message.Usage; the wire's may be another one.
	Usage message.Usage
}

// PieceKind says which fields of a [Piece] are set.
type PieceKind string

// The kinds of piece.
const (
	PieceText      PieceKind = "text"      // Text
	PieceReasoning PieceKind = "reasoning" // Text
	PieceSignature PieceKind = "signature" // Text, in base64: it has to go back with the reasoning before it, or in place of reasoning that is not shown
	PieceCall      PieceKind = "call"      // Call, ID, Tool: a call begins
	PieceArguments PieceKind = "arguments" // Call, Text: the next piece of its arguments
)

// Piece is a piece of an answer. A call ends at its last piece.
type Piece struct {
	Kind PieceKind
	Text string
	// Call numbers the calls of the answer from 0.
	Call int
	// ID is "" if the server sends none.
	ID, Tool string
}

// Stream is the body of a streamed answer.
type Stream struct {
	// Events are the parts of the body that a reader understands as one, each with its
	// end.
	Events []string
	// Finish is the index of the event that says that the answer is whole, and why it
	// ended. Without it, the others are no answer.
	Finish int
}

// Failure is an error as the vendor reports it.
type Failure struct {
	// Class is the class that the adapter has to give it.
	Class message.FailureClass
	// RetryAfter is how long this answer asks to wait.
	RetryAfter time.Duration
	// Status is that of the response; 200 is an error within a stream, whose Body is an
	// event.
	Status int
	// Header is added to the response's; nil is a Content-Type of JSON.
	Header http.Header
	Body   string
}

// Rule is one rule that every adapter must keep.
type Rule struct {
	// ID names the rule in failures and as a subtest.
	ID string
	// Reason says what goes wrong if an adapter breaks the rule.
	Reason string

	check func(p *probe)
}

// Violation is one finding of the kit.
type Violation struct {
	// Rule is the id of the broken rule; Reason is the rule's.
	Rule, Reason string
	// Found is what the adapter did, in one line.
	Found string
}

// String returns the violation as Run prints it.
func (v Violation) String() string {
	return fmt.Sprintf("rule %s: %s\n\twhy it matters: %s", v.Rule, v.Found, v.Reason)
}

// Run checks the rules, each in a subtest with fresh adapters.
func Run(t *testing.T, w Wire) {
	t.Helper()
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			for _, v := range r.Check(t.Context(), w) {
				t.Error(v)
			}
		})
	}
}

// Check checks the rules like [Run] and returns the violations, in the order of the rules;
// nil if the adapter keeps all.
func Check(ctx context.Context, w Wire) []Violation {
	var all []Violation
	for _, r := range Rules() {
		all = append(all, r.Check(ctx, w)...)
	}
	return all
}

// Rules returns the rules in the order in which they are checked.
func Rules() []Rule {
	return []Rule{
		{"wire-complete", "a wire that is described in part is checked in part", checkWire},
		{"lazy", "a stream that nobody reads must cost nothing, and Stream must not hold its caller", checkLazy},
		{"answer-whole", "what the model says is what people and tools get", checkAnswers},
		{"chunks-ordered", "a stream that breaks the rules of message.ChunkKind is no reply", checkOrder},
		{"chunks-any-size", "the network cuts a stream where it likes, also within a character", checkSplits},
		{"calls-interleaved", "parallel calls whose pieces are mixed up run with each other's arguments", checkInterleaved},
		{"calls-ids", "a result goes to its call by the id, so each needs one of its own", checkIDs},
		{"cut-noticed", "half an answer that counts as whole is acted on and stored", checkCuts},
		{"cut-calls", "a tool must not run with a part of its arguments", checkCutCalls},
		{"finish-needed", "only the vendor can say that an answer is whole", checkNoFinish},
		{"finish-reason", "a refusal or a cut is no answer, and a program has to tell them apart", checkFinish},
		{"usage-meaning", "limits and costs are counted from it, for all vendors alike", checkUsage},
		{"stream-only", "a page of a proxy in the place of an answer is a failure", checkPages},
		{"garbage-noticed", "bytes that are no part of the wire say that something was lost", checkGarbage},
		{"failure-class", "what is asked again, and what is not, depends on the class", checkClasses},
		{"failure-wait", "a request that comes too early is refused again", checkWaits},
		{"failure-text", "the server's own words are what a person can act on", checkTexts},
		{"one-request", "whoever retries without being asked doubles costs, and hides failures from those who count them", checkOneRequest},
		{"cancel-head", "a cancelled turn must not wait for a server that says nothing", checkCancelHead},
		{"cancel-stream", "a cancelled turn must not wait for the rest of the answer", checkCancelStream},
		{"context-error", "the caller tells its own end from a failure by errors.Is", checkContextErrors},
		{"stop-early", "a consumer that has enough stops, and must not be called again", checkStopEarly},
		{"connection-released", "a body that is not closed keeps its connection for good", checkReleased},
		{"goroutines-end", "a goroutine that outlives its stream is one more with every request", checkGoroutines},
		{"concurrent", "one adapter serves all conversations at the same time", checkConcurrent},
		{"request-whole", "a model cannot use what it is not told", checkRequest},
		{"request-unchanged", "the history is shared by all that read it", checkUnchanged},
		{"request-same", "caches of servers are looked up by the bytes of a request", checkSame},
		{"prefix-stable", "a conversation whose beginning changes is paid for in full with every request", checkPrefix},
		{"settings", "a setting that is dropped in silence is believed to work", checkSettings},
		{"media", "an image that is dropped in silence is believed to be seen", checkMedia},
		{"reasoning-replayed", "vendors refuse a tool's result without the signed reasoning before its call", checkReplay},
		{"meta-own", "metadata without the name of its wire would be sent to another vendor", checkOwnMeta},
		{"meta-foreign", "what another vendor has signed is refused here, and is none of this vendor's business", checkForeignMeta},
		{"ids-foreign", "a conversation goes on with another vendor, whose ids look different", checkForeignIDs},
		{"key-header", "addresses and bodies are logged on the way; a key belongs in a header", checkKey},
		{"key-redirect", "a redirect must not take the key to another server", checkRedirect},
		{"key-hidden", "errors are shown, stored and sent to observers", checkHidden},
	}
}
