package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// chunk is one event of a stream: a whole response with the newest part of the answer.
type chunk struct {
	Candidates wire.List[candidate] `json:"candidates"`
	Feedback   struct {
		Block wire.Text `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage       `json:"usageMetadata"`
	Error *wire.Reason `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts wire.List[part] `json:"parts"`
	} `json:"content"`
	Finish wire.Text `json:"finishReason"`
	// Why says more about the finish.
	Why wire.Text `json:"finishMessage"`
	// Token continues the answer.
	Token wire.Text `json:"continuationToken"`
}

type part struct {
	Text      wire.Text `json:"text"`
	Thought   bool      `json:"thought"`
	Signature wire.Text `json:"thoughtSignature"`
	Call      *call     `json:"functionCall"`
	Data      *media    `json:"inlineData"`
	File      *media    `json:"fileData"`
	// Rest are the members of unknown names.
	Rest jsontext.Value `json:",embed"`
}

type call struct {
	ID   wire.Text      `json:"id"`
	Name wire.Text      `json:"name"`
	Args jsontext.Value `json:"args"`
	// More and Pieces are of calls in pieces, which only Vertex AI sends.
	More   bool           `json:"willContinue"`
	Pieces jsontext.Value `json:"partialArgs"`
}

// media has Data, or URI for a file.
type media struct {
	MIME wire.Text `json:"mimeType"`
	Data wire.Text `json:"data"`
	URI  wire.Text `json:"fileUri"`
}

// usage counts the whole answer so far.
type usage struct {
	Prompt     wire.Count `json:"promptTokenCount"`
	ToolPrompt wire.Count `json:"toolUsePromptTokenCount"`
	Cached     wire.Count `json:"cachedContentTokenCount"`
	Answer     wire.Count `json:"candidatesTokenCount"`
	Thoughts   wire.Count `json:"thoughtsTokenCount"`
}

// tokens returns the usage in the meaning of all providers: the wire counts thoughts beside
// the answer.
func (u *usage) tokens() message.Usage {
	return message.Usage{
		Input: int64(u.Prompt + u.ToolPrompt), Output: int64(u.Answer + u.Thoughts),
		CacheRead: int64(u.Cached), Reasoning: int64(u.Thoughts),
	}
}

// block returns the block of media that a model made.
func (m *media) block() message.Block {
	b := message.Block{Kind: message.BlockResource, MIME: string(m.MIME), Data: string(m.Data), URI: string(m.URI)}
	switch {
	case strings.HasPrefix(b.MIME, "image/"):
		b.Kind = message.BlockImage
	case strings.HasPrefix(b.MIME, "audio/"):
		b.Kind = message.BlockAudio
	case b.MIME == "application/pdf":
		b.Kind = message.BlockDocument
	}
	return b
}

// finishOf maps a finish reason.
func finishOf(reason string) message.FinishReason {
	switch reason {
	case "STOP":
		return message.FinishStop
	case "MAX_TOKENS":
		return message.FinishLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return message.FinishFilter
	}
	return message.FinishOther
}

// malformed reports whether the model failed to write a call: a second try may succeed.
func malformed(reason string) bool {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return true
	}
	return false
}
