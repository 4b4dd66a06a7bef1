package anthropic

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// The types of blocks that are not kept as they came.
const (
	textBlock     = "text"
	thinkingBlock = "thinking"
	toolUse       = "tool_use"
	redacted      = "redacted_thinking"
)

// event is one event of a stream.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	Block jsontext.Value `json:"content_block"`
	Delta delta          `json:"delta"`
	Usage usage          `json:"usage"`
}

// delta is what an event adds to a block, or to the message.
type delta struct {
	Type        string         `json:"type"`
	Text        piece          `json:"text"`
	Thinking    piece          `json:"thinking"`
	Signature   string         `json:"signature"`
	PartialJSON piece          `json:"partial_json"`
	Citation    jsontext.Value `json:"citation"`
	StopReason  string         `json:"stop_reason"`
}

// piece is a part of a text; servers in between may cut a character in two.
type piece struct{ wire.Piece }

// UnmarshalJSONFrom implements json.UnmarshalerFrom. Unlike wire.Piece it takes nothing but a
// string, so that no text is lost.
func (p *piece) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if kind := d.PeekKind(); kind != jsontext.KindString && kind != jsontext.KindNull {
		return errors.New("is no string")
	}
	return p.Piece.UnmarshalJSONFrom(d)
}

// head is the beginning of a block.
type head struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Text      string         `json:"text"`
	Thinking  string         `json:"thinking"`
	Signature string         `json:"signature"`
	Input     jsontext.Value `json:"input"`
}

// usage are the counts so far; nil is unchanged.
type usage struct {
	Input   *wire.Count `json:"input_tokens"`
	Output  *wire.Count `json:"output_tokens"`
	Read    *wire.Count `json:"cache_read_input_tokens"`
	Write   *wire.Count `json:"cache_creation_input_tokens"`
	Details struct {
		Thinking *wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// counts are the newest counts of an answer.
type counts struct {
	input, output, read, write, thinking int64
	known                                bool
}

func (c *counts) take(u *usage) {
	set := func(to *int64, from *wire.Count) {
		if from != nil {
			*to, c.known = int64(*from), true
		}
	}
	set(&c.input, u.Input)
	set(&c.output, u.Output)
	set(&c.read, u.Read)
	set(&c.write, u.Write)
	set(&c.thinking, u.Details.Thinking)
}

// usage returns the counts in the meaning of all providers: the wire's input leaves out what
// a cache had.
func (c *counts) usage() message.Usage {
	return message.Usage{
		Input: c.input + c.read + c.write, Output: c.output, CacheRead: c.read, CacheWrite: c.write, Reasoning: c.thinking,
	}
}

// finishOf maps a stop reason.
func finishOf(reason string) message.FinishReason {
	switch reason {
	case "end_turn", "stop_sequence":
		return message.FinishStop
	case "tool_use":
		return message.FinishTools
	case "max_tokens", "model_context_window_exceeded":
		return message.FinishLength
	case "refusal":
		return message.FinishFilter
	case "pause_turn":
		return message.FinishPause
	}
	return message.FinishOther
}
