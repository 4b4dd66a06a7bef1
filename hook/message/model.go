package message

import (
	"iter"
	"sync"
	"time"
)

// ToolChoice says whether the model must call a tool. Mode "" is ToolChoiceAuto;
// Tool names the one tool to call and counts only with ToolChoiceTool.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitzero"`
	Tool string         `json:"tool,omitzero"`
}

// ToolChoiceMode is the mode of a [ToolChoice].
type ToolChoiceMode string

// The modes of tool choice.
const (
	ToolChoiceAuto     ToolChoiceMode = "auto"     // the model decides
	ToolChoiceNone     ToolChoiceMode = "none"     // no tool may be called
	ToolChoiceRequired ToolChoiceMode = "required" // some tool must be called
	ToolChoiceTool     ToolChoiceMode = "tool"     // the named tool must be called
)

// ResponseFormat asks the model for JSON. The zero value is plain text.
type ResponseFormat struct {
	// JSON asks for a JSON value.
	JSON bool `json:"json,omitzero"`
	// Schema is the JSON Schema that the value must fit; "" is any value.
	Schema JSON `json:"schema,omitzero"`
	// Name labels the schema for providers that want a name.
	Name string `json:"name,omitzero"`
}

// ToolSet is an immutable list of tools that caches their encodings, so that a
// provider encodes them once per registered agent and not once per request. Safe
// for concurrent use.
type ToolSet struct {
	tools   List[Tool]
	bytes   int64
	encoded sync.Map // form string -> *encoding
}

type encoding struct {
	once sync.Once
	text string
}

// NewToolSet returns the set of the tools, in their order. The caller must not change
// the slice any more.
func NewToolSet(tools []Tool) *ToolSet {
	s := &ToolSet{tools: Freeze(tools)}
	for i := range tools {
		s.bytes += int64(len(tools[i].Name) + len(tools[i].Description) + len(tools[i].Input))
	}
	return s
}

// Bytes is the length of the names, descriptions and schemas. It takes constant time.
func (s *ToolSet) Bytes() int64 {
	if s == nil {
		return 0
	}
	return s.bytes
}

// Tools returns the tools; a nil set has none.
func (s *ToolSet) Tools() List[Tool] {
	if s == nil {
		return List[Tool]{}
	}
	return s.tools
}

// Encoded returns encode(tools), computed once per form. The form names a wire
// ("openai-chat"); encode must always give the same text for it.
func (s *ToolSet) Encoded(form string, encode func(List[Tool]) string) string {
	if s == nil {
		return encode(List[Tool]{})
	}
	v, ok := s.encoded.Load(form)
	if !ok {
		v, _ = s.encoded.LoadOrStore(form, new(encoding))
	}
	e := v.(*encoding)
	e.once.Do(func() { e.text = encode(s.tools) })
	return e.text
}

// ModelRequest is one request to a model. Changing it in RewriteRequest touches
// this request only, never the stored history.
type ModelRequest struct {
	// Model says which model answers, and how.
	Model    Model
	System   string
	Messages Messages
	Tools    *ToolSet
	// Stable is how many of the first messages later requests of the conversation begin
	// with as well. An adapter that marks what a server may cache sets a mark behind them.
	Stable int
}

// FinishReason is why the model stopped.
type FinishReason string

// Finish reasons. Providers map their own to these.
const (
	FinishStop   FinishReason = "stop"           // the answer is complete
	FinishTools  FinishReason = "tool_calls"     // tools are to be called
	FinishLength FinishReason = "length"         // the token limit was reached; the last call may be cut
	FinishFilter FinishReason = "content_filter" // the model refused, or the provider withheld the answer or blocked the prompt
	FinishPause  FinishReason = "pause"          // the provider interrupted a long answer; it goes on when the reply is sent back as it is
	FinishOther  FinishReason = "other"          // anything else
)

// Usage counts tokens, in one meaning for all providers. Input includes CacheRead and
// CacheWrite, those read from a cache and those written to it. Output includes Reasoning.
type Usage struct {
	Input      int64 `json:"input,omitzero"`
	Output     int64 `json:"output,omitzero"`
	CacheRead  int64 `json:"cache_read,omitzero"`
	CacheWrite int64 `json:"cache_write,omitzero"`
	Reasoning  int64 `json:"reasoning,omitzero"`
}

// Add returns the sum of both.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: u.Input + o.Input, Output: u.Output + o.Output,
		CacheRead: u.CacheRead + o.CacheRead, CacheWrite: u.CacheWrite + o.CacheWrite,
		Reasoning: u.Reasoning + o.Reasoning,
	}
}

// Total returns input plus output.
func (u Usage) Total() int64 { return u.Input + u.Output }

// ChunkKind says which fields of a [Chunk] are set.
type ChunkKind uint8

// The parts of a stream. Text and reasoning come in any number of chunks. A
// tool call is one ChunkCallStart, any number of ChunkCallArgs and one
// ChunkCallEnd with the same Index. A stream ends with exactly one ChunkFinish;
// one that ends without it is an error.
const (
	ChunkText      ChunkKind = iota + 1 // Text
	ChunkReasoning                      // Text
	ChunkCallStart                      // Index, CallID, Tool
	ChunkCallArgs                       // Index, Text: the next piece of the arguments
	ChunkCallEnd                        // Index
	ChunkFinish                         // Finish, Usage
	ChunkMeta                           // Meta of the block that the chunks before it built; it ends that block
	ChunkBlock                          // Block: a whole block but a tool call, such as an image, or reasoning without text
)

// Chunk is one part of a streamed answer.
type Chunk struct {
	Kind   ChunkKind
	Index  int
	Text   string
	CallID string
	Tool   string
	Finish FinishReason
	Usage  Usage
	Meta   JSON
	Block  *Block
}

// ModelStream is a streamed answer. It yields chunks with a nil error, or one
// error as its last element. The consumer may stop early; the producer then
// releases what it holds. It can be ranged over once.
type ModelStream = iter.Seq2[Chunk, error]

// ModelReply is a whole answer.
type ModelReply struct {
	// Content is text, reasoning and tool calls in the model's order.
	Content  List[Block]
	Usage    Usage
	Finish   FinishReason
	Model    string
	Duration time.Duration
}

// Text returns the text of the reply without reasoning.
func (r ModelReply) Text() string { return joinText(r.Content, BlockText) }

// Reasoning returns the reasoning of the reply.
func (r ModelReply) Reasoning() string { return joinText(r.Content, BlockReasoning) }

// Calls yields the tool calls, numbered from 0 in the model's order.
func (r ModelReply) Calls() iter.Seq2[int, Block] {
	return func(yield func(int, Block) bool) {
		n := 0
		for _, b := range r.Content.s {
			if b.Kind != BlockToolCall {
				continue
			}
			if !yield(n, b) {
				return
			}
			n++
		}
	}
}

// ModelFailure is why a model call failed.
type ModelFailure struct {
	Class FailureClass
	Err   error
	// Model is the model that was asked.
	Model string
	// Attempt counts the model calls of the step from 1.
	Attempt int
	// Elapsed is the time since the first of them began.
	Elapsed time.Duration
	// RetryAfter is the minimum wait that the provider asked for; 0 if it did not.
	RetryAfter time.Duration
	// Released: clients have got text of the reply. If the call is retried, the event
	// turn_retried tells them to drop it.
	Released bool
}

// FailureClass is a kind of failure of a model call.
type FailureClass string

// The classes of failure.
const (
	FailureRateLimit  FailureClass = "rate_limit"     // too many requests
	FailureOverloaded FailureClass = "overloaded"     // the provider is busy
	FailureServer     FailureClass = "server"         // the provider has failed
	FailureTimeout    FailureClass = "timeout"        // no answer in time
	FailureNetwork    FailureClass = "network"        // no connection, or it was cut
	FailureContext    FailureClass = "context_length" // the request is too long for the model
	FailureAuth       FailureClass = "auth"           // the key is wrong or has no right
	FailureRequest    FailureClass = "request"        // the provider refuses the request
	FailureContent    FailureClass = "content"        // the provider refuses what the request says
	FailureProtocol   FailureClass = "protocol"       // the answer breaks the provider's protocol
	FailureTooLarge   FailureClass = "too_large"      // the answer exceeds a limit and was cut
	FailureUnknown    FailureClass = "unknown"        // anything else
)

// Passing reports whether the same request may succeed later.
func (c FailureClass) Passing() bool {
	switch c {
	case FailureRateLimit, FailureOverloaded, FailureServer, FailureTimeout, FailureNetwork, FailureProtocol:
		return true
	}
	return false
}
