package message

import "strings"

// Role says who speaks in a [Message].
type Role string

// The roles of a history. Standing instructions are no message: they are
// [ModelRequest].System.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// BlockKind says which fields of a [Block] are set.
type BlockKind string

// The kinds of block.
const (
	BlockText      BlockKind = "text"      // Text
	BlockReasoning BlockKind = "reasoning" // Text; Meta must go back to the provider unchanged
	BlockImage     BlockKind = "image"     // MIME, and Data or URI
	BlockAudio     BlockKind = "audio"     // MIME, and Data or URI
	BlockDocument  BlockKind = "document"  // a PDF: MIME, and Data or URI; Name
	BlockResource  BlockKind = "resource"  // URI, MIME, and Text or Data
	BlockJSON      BlockKind = "json"      // JSON, a structured value
	BlockToolCall  BlockKind = "tool_call" // CallID, Tool, JSON (the arguments)
)

// Block is one part of a message or of a tool result. Which fields are set
// follows from Kind; the others are zero.
type Block struct {
	Kind BlockKind `json:"kind"`
	Text string    `json:"text,omitzero"`
	// MIME is the media type of media or a resource.
	MIME string `json:"mime,omitzero"`
	// URI is the address of media or a resource.
	URI string `json:"uri,omitzero"`
	// Data is the bytes of media or a resource in base64, as the wires carry them.
	Data string `json:"data,omitzero"`
	// Name is the name of a document for people and models, such as plan.pdf. A text with a name is
	// that of a file which came with the message.
	Name string `json:"name,omitzero"`
	// JSON is a structured value, or the arguments of a tool call. In a reply the
	// arguments are exactly as the model sent them, even if they are no JSON. In the
	// history they are an object, canonical if the call could be bound.
	JSON JSON `json:"json,omitzero"`
	// CallID is the id that the result of this tool call must carry.
	CallID string `json:"call_id,omitzero"`
	// Tool is the public name of the called tool.
	Tool string `json:"tool,omitzero"`
	// Masked: the store keeps the arguments of this tool call with a secret masked. Such a call is
	// never run from the store.
	Masked bool `json:"masked,omitzero"`
	// Meta is the provider's own data about the block, such as a signature of
	// reasoning: an object with one member, named like the wire that wrote it. That wire
	// gets it back unchanged; nobody else reads it.
	Meta JSON `json:"meta,omitzero"`
}

// MediaKind returns the kind of block for media of that type; "" if it is no media of a model.
func MediaKind(mime string) BlockKind {
	switch {
	case strings.HasPrefix(mime, "image/"):
		return BlockImage
	case strings.HasPrefix(mime, "audio/"):
		return BlockAudio
	case mime == "application/pdf":
		return BlockDocument
	}
	return ""
}

// IsMedia reports whether the block is an image, audio or a document.
func (b *Block) IsMedia() bool {
	return b.Kind == BlockImage || b.Kind == BlockAudio || b.Kind == BlockDocument
}

// Attached reports whether the block is a file that came with a message: what it says, the message's
// sender has not said.
func (b *Block) Attached() bool { return b.Name != "" || b.IsMedia() || b.Kind == BlockResource }

// TextBlock returns a block of plain text.
func TextBlock(text string) Block { return Block{Kind: BlockText, Text: text} }

// Message is one entry of a conversation's history.
type Message struct {
	Role Role `json:"role"`
	// Content has the blocks of a user or an assistant in order: text, reasoning,
	// media, and the assistant's tool calls.
	Content List[Block] `json:"content,omitzero"`
	// CallID and Tool name the call that Result answers (role tool only). Every
	// tool call of an assistant message is answered by exactly one tool message
	// after it, in call order.
	CallID string     `json:"call_id,omitzero"`
	Tool   string     `json:"tool,omitzero"`
	Result ToolResult `json:"result,omitzero"`
	// Label names the framework's own entries ("skill", "feedback", …); messages of
	// people and models have none.
	Label string `json:"label,omitzero"`
	// Trust is the weakest label of what a summary, context of hooks or another of the framework's entries was made of: see
	// [Message.Origin]. Results of tools have theirs in Result.
	Trust Trust `json:"trust,omitzero"`
	// From is the name of the guest agent that wrote the message; "" if it was the
	// conversation's own agent.
	From string `json:"from,omitzero"`
	// Partial: the turn was cancelled while the model wrote this message, so it is
	// incomplete.
	Partial bool `json:"partial,omitzero"`
	// Ephemeral entries are sent to the model but never stored.
	Ephemeral bool `json:"-"`
}

// Labels of entries that the runtime makes.
const (
	// LabelSummary is the message that replaces compacted turns.
	LabelSummary = "summary"
	// LabelContext is a block of context that hooks add to one turn.
	LabelContext = "context"
	// LabelCompaction is the request for a summary: by it hooks tell the request from a turn's.
	LabelCompaction = "compaction"
	// LabelModelCall is the input of the turn in which OnModelError sees that a model call of a
	// hook has failed.
	LabelModelCall = "model_call"
)

// UserText returns a user's message of plain text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Content: ListOf(TextBlock(text))}
}

// Text returns the text blocks of the message, joined as they are.
func (m Message) Text() string { return joinText(m.Content, BlockText) }

// Input is a user's input to a turn: one message, or several after Preprocess expanded
// it.
type Input struct {
	Messages List[Message]
}

// TextInput returns the input of one line of text.
func TextInput(text string) Input { return Input{Messages: ListOf(UserText(text))} }

// Text returns the text of all messages, joined by a blank line.
func (in Input) Text() string {
	if in.Messages.Len() == 1 {
		return in.Messages.At(0).Text()
	}
	parts := make([]string, 0, in.Messages.Len())
	for _, m := range in.Messages.All() {
		parts = append(parts, m.Text())
	}
	return strings.Join(parts, "\n\n")
}

func joinText(blocks List[Block], kind BlockKind) string {
	n, last := 0, ""
	for _, b := range blocks.s {
		if b.Kind == kind {
			n, last = n+1, b.Text
		}
	}
	if n <= 1 {
		return last
	}
	var sb strings.Builder
	for _, b := range blocks.s {
		if b.Kind == kind {
			sb.WriteString(b.Text)
		}
	}
	return sb.String()
}

// Trust names the origin of what a model reads. It is a label for deciders and clients; the runtime
// itself does not act on it. What is made of several things has the weakest of their labels.
type Trust string

// The labels, the strongest first. What has no label, or another one, is external.
const (
	TrustTrusted   Trust = "trusted"   // made by this program, or said by the user
	TrustWorkspace Trust = "workspace" // read from the user's own files
	TrustExternal  Trust = "external"  // came from elsewhere: an MCP server, the web
)

// Weakest returns the weakest of the labels; without any it is TrustTrusted.
func Weakest(labels ...Trust) Trust {
	out := TrustTrusted
	for _, l := range labels {
		switch l {
		case TrustTrusted:
		case TrustWorkspace:
			out = TrustWorkspace
		default:
			return TrustExternal
		}
	}
	return out
}

// Origin returns the weakest label of what the message brings to a model that it has not read before. What people
// write is trusted, the files that come with it are their own; what a model writes brings nothing new; a summary and context of hooks have
// their own label.
func (m Message) Origin() Trust {
	switch {
	case m.Role == RoleTool:
		return Weakest(m.Result.Trust)
	case m.Role != RoleUser:
		return TrustTrusted
	case m.Label == LabelSummary || m.Label == LabelContext:
		return Weakest(m.Trust)
	case m.Trust != "":
		return Weakest(m.Trust)
	}
	for _, b := range m.Content.s {
		if b.Attached() {
			return TrustWorkspace
		}
	}
	return TrustTrusted
}

// FailureKind says why a tool result is a failure. The empty kind is success.
type FailureKind string

// The kinds of failed result. Each is an answer to the model in the call's
// place; none ends the step.
const (
	FailArguments     FailureKind = "invalid_arguments" // the arguments do not fit the schema
	FailNotFound      FailureKind = "not_found"         // the requested thing does not exist
	FailOperation     FailureKind = "operation"         // the tool ran and failed
	FailDenied        FailureKind = "denied"            // a decider or a person said no
	FailNotAvailable  FailureKind = "not_available"     // the tool is out of the agent's scope
	FailNotRegistered FailureKind = "not_registered"    // no hook owns a tool of that name
	FailUnreachable   FailureKind = "unreachable"       // the tool's server cannot be reached
	FailTimeout       FailureKind = "timeout"           // the tool's time ran out
	FailCancelled     FailureKind = "cancelled"         // the turn was cancelled; the outcome is unknown
	FailPanic         FailureKind = "panic"             // the tool panicked
)

// Outcome says how a tool call ended.
type Outcome string

// The outcomes of a tool call.
const (
	OutcomeExecuted    Outcome = "executed"    // ran, and the result is a success
	OutcomeFailed      Outcome = "failed"      // ran, and the result is a failure
	OutcomeDenied      Outcome = "denied"      // a decider denied it, or approval was refused
	OutcomeAnswered    Outcome = "answered"    // a decider answered in the tool's place
	OutcomeCancelled   Outcome = "cancelled"   // the turn was cancelled before it started
	OutcomeTimedOut    Outcome = "timed_out"   // its time ran out
	OutcomePanicked    Outcome = "panicked"    // it panicked
	OutcomeUnknown     Outcome = "unknown"     // no such tool, or out of scope
	OutcomeInvalid     Outcome = "invalid"     // its arguments could not be bound
	OutcomeInterrupted Outcome = "interrupted" // it had started when the turn was cancelled; what it did is not known
)

// ToolResult is the answer to one tool call. The zero value is an empty
// success.
type ToolResult struct {
	Content List[Block] `json:"content,omitzero"`
	// Failure is "" for success.
	Failure FailureKind `json:"failure,omitzero"`
	// Trust is where the content is from; "" is [Tool.Trust] of the tool that ran.
	Trust Trust `json:"trust,omitzero"`
	// Meta goes to clients and the store, never to the model.
	Meta JSON `json:"meta,omitzero"`
}

// TextResult returns a successful result of plain text.
func TextResult(text string) ToolResult { return ToolResult{Content: Freeze([]Block{TextBlock(text)})} }

// JSONResult returns a successful result of one structured value.
func JSONResult(value JSON) ToolResult {
	return ToolResult{Content: Freeze([]Block{{Kind: BlockJSON, JSON: value}})}
}

// FailedResult returns a failed result; the text is for the model. Inlined it would
// enlarge the stack frame of every caller for a rare case.
//
//go:noinline
func FailedResult(kind FailureKind, text string) ToolResult {
	return ToolResult{Content: ListOf(TextBlock(text)), Failure: kind}
}

// IsError reports whether the result is a failure.
func (r ToolResult) IsError() bool { return r.Failure != "" }

// Outcome says how a call ended that ran and returned the result.
func (r ToolResult) Outcome() Outcome {
	switch r.Failure {
	case "":
		return OutcomeExecuted
	case FailTimeout:
		return OutcomeTimedOut
	case FailPanic:
		return OutcomePanicked
	case FailCancelled:
		return OutcomeInterrupted
	}
	return OutcomeFailed
}

// IsZero reports whether the result is the zero value; it makes omitzero work.
func (r ToolResult) IsZero() bool {
	return r.Content.Len() == 0 && r.Failure == "" && r.Trust == "" && r.Meta == ""
}

// Text returns the result for a provider without structured results: the text
// blocks and, as JSON, the structured ones, joined by a line break.
func (r ToolResult) Text() string {
	if r.Content.Len() == 1 {
		return blockText(r.Content.At(0))
	}
	parts := make([]string, 0, r.Content.Len())
	for _, b := range r.Content.s {
		if s := blockText(b); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

func blockText(b Block) string {
	switch {
	case b.Kind == BlockJSON:
		return string(b.JSON)
	case b.Text != "" || b.URI == "":
		return b.Text
	}
	return b.URI
}
