package answer

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// chunk is one chunk of an answer, or an error instead. Values of unusual types are ignored
// where that loses no part of the answer.
type chunk struct {
	Choices wire.List[choice]  `json:"choices"`
	Usage   wire.Object[usage] `json:"usage"`
	Error   *wire.Reason       `json:"error"`
	Object  errorWord          `json:"object"`
	Message wire.Text          `json:"message"`
}

// errorWord is whether a value is the word "error". Every chunk has another word there, which
// nobody needs.
type errorWord bool

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (w *errorWord) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	*w = err == nil && string(value) == `"error"`
	return err
}

// choice is the only choice, because the request asks for one. Some servers repeat the
// answer as Message at the end, some send only Message.
type choice struct {
	Delta   part      `json:"delta"`
	Message part      `json:"message"`
	Finish  wire.Text `json:"finish_reason"`
}

// part is a part of an answer. Some servers send its reasoning under both names.
type part struct {
	Content          wire.Content        `json:"content"`
	Refusal          wire.Content        `json:"refusal"`
	ReasoningContent wire.Piece          `json:"reasoning_content"`
	Reasoning        wire.Piece          `json:"reasoning"`
	ToolCalls        wire.List[callPart] `json:"tool_calls"`
	FunctionCall     *function           `json:"function_call"`
}

type callPart struct {
	Index    *wire.Index `json:"index"`
	ID       wire.Text   `json:"id"`
	Function function    `json:"function"`
}

type function struct {
	Name      wire.Text      `json:"name"`
	Arguments wire.Arguments `json:"arguments"`
}

type usage struct {
	Input    wire.Count                `json:"prompt_tokens"`
	Output   wire.Count                `json:"completion_tokens"`
	Total    wire.Count                `json:"total_tokens"`
	CacheHit wire.Count                `json:"prompt_cache_hit_tokens"`
	OfInput  wire.Object[usageDetails] `json:"prompt_tokens_details"`
	OfOutput wire.Object[usageDetails] `json:"completion_tokens_details"`
}

type usageDetails struct {
	Cached    wire.Count `json:"cached_tokens"`
	Written   wire.Count `json:"cache_write_tokens"`
	Reasoning wire.Count `json:"reasoning_tokens"`
}

// tokens returns the usage; counted is false if there is none or it has only zeros.
func (c *chunk) tokens() (u message.Usage, counted bool) {
	is := c.Usage.Is
	u.Input, u.Output = int64(is.Input), int64(is.Output)
	u.CacheRead = int64(max(is.CacheHit, is.OfInput.Is.Cached))
	u.CacheWrite = int64(is.OfInput.Is.Written)
	u.Reasoning = int64(is.OfOutput.Is.Reasoning)
	if u.Reasoning > u.Output || int64(is.Total) == u.Total()+u.Reasoning {
		u.Output += u.Reasoning // xAI and others count reasoning beside the output, OpenAI within
	}
	return u, u.Total() > 0
}

// refusal returns the error that the chunk has instead of an answer, or nil.
func (c *chunk) refusal() *wire.Reason {
	if c.Error == nil && bool(c.Object) {
		return &wire.Reason{Message: wire.Words(c.Message)}
	}
	return c.Error
}

type delta struct {
	text, reasoning wire.Piece
	calls           []callDelta
	finish          string
	// refused: the text is a refusal.
	refused bool
	// repeat: it is the whole answer in one piece.
	repeat bool
}

type callDelta struct {
	index    int // -1: there is none
	id, name string
	args     wire.Piece
}

// says reports whether the chunk has a part of the answer.
func (d *delta) says() bool {
	return !d.text.Empty() || !d.reasoning.Empty() || len(d.calls) > 0
}

func (c *chunk) delta() delta {
	var d delta
	for i := range c.Choices {
		choice := &c.Choices[i]
		d.add(&choice.Delta)
		if !d.says() {
			d.add(&choice.Message)
			d.repeat = d.says()
		}
		if choice.Finish != "" {
			d.finish = string(choice.Finish)
		}
	}
	return d
}

func (d *delta) add(p *part) {
	d.refused = d.refused || !p.Refusal.Empty()
	d.text = firstPiece(p.Content.Piece, p.Refusal.Piece, d.text)
	d.reasoning = firstPiece(d.reasoning, p.ReasoningContent, p.Reasoning)
	for i := range p.ToolCalls {
		call := &p.ToolCalls[i]
		at := -1
		if call.Index != nil {
			at = int(*call.Index)
		}
		d.calls = append(d.calls, call.Function.delta(at, string(call.ID)))
	}
	if p.FunctionCall != nil {
		d.calls = append(d.calls, p.FunctionCall.delta(-1, ""))
	}
}

func (f *function) delta(at int, id string) callDelta {
	return callDelta{index: at, id: id, name: string(f.Name), args: f.Arguments.Piece}
}

// firstPiece returns the first piece that is not empty.
func firstPiece(pieces ...wire.Piece) wire.Piece {
	for _, p := range pieces {
		if !p.Empty() {
			return p
		}
	}
	return wire.Piece{}
}
