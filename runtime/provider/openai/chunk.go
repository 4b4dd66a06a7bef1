package openai

import (
	"github.com/grapnel-go/grapnel/hook/message"
)

// chunk is one chunk of an answer, or an error instead. Values of unusual types are ignored
// where that loses no part of the answer.
type chunk struct {
	Choices list[choice]  `json:"choices"`
	Usage   object[usage] `json:"usage"`
	Error   *reason       `json:"error"`
	Object  text          `json:"object"`
	Message text          `json:"message"`
}

// choice is the only choice, because the request asks for one. Some servers repeat the
// answer as Message at the end, some send only Message.
type choice struct {
	Delta   part `json:"delta"`
	Message part `json:"message"`
	Finish  text `json:"finish_reason"`
}

// part is a part of an answer. Some servers send its reasoning under both names.
type part struct {
	Content          content        `json:"content"`
	Refusal          content        `json:"refusal"`
	ReasoningContent piece          `json:"reasoning_content"`
	Reasoning        piece          `json:"reasoning"`
	ToolCalls        list[callPart] `json:"tool_calls"`
	FunctionCall     *function      `json:"function_call"`
}

type callPart struct {
	Index    *index   `json:"index"`
	ID       text     `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      text      `json:"name"`
	Arguments arguments `json:"arguments"`
}

type usage struct {
	Input    count                `json:"prompt_tokens"`
	Output   count                `json:"completion_tokens"`
	Total    count                `json:"total_tokens"`
	CacheHit count                `json:"prompt_cache_hit_tokens"`
	OfInput  object[usageDetails] `json:"prompt_tokens_details"`
	OfOutput object[usageDetails] `json:"completion_tokens_details"`
}

type usageDetails struct {
	Cached    count `json:"cached_tokens"`
	Written   count `json:"cache_write_tokens"`
	Reasoning count `json:"reasoning_tokens"`
}

// tokens returns the usage; counted is false if there is none or it has only zeros.
func (c *chunk) tokens() (u message.Usage, counted bool) {
	is := c.Usage.is
	u.Input, u.Output = int64(is.Input), int64(is.Output)
	u.CacheRead = int64(max(is.CacheHit, is.OfInput.is.Cached))
	u.CacheWrite = int64(is.OfInput.is.Written)
	u.Reasoning = int64(is.OfOutput.is.Reasoning)
	if u.Reasoning > u.Output || int64(is.Total) == u.Total()+u.Reasoning {
		u.Output += u.Reasoning // xAI and others count reasoning beside the output, OpenAI within
	}
	return u, u.Total() > 0
}

// refusal returns the error that the chunk has instead of an answer, or nil.
func (c *chunk) refusal() *reason {
	if c.Error == nil && c.Object == "error" {
		return &reason{Message: words(c.Message)}
	}
	return c.Error
}

type delta struct {
	text, reasoning piece
	calls           []callDelta
	finish          string
	// repeat: it is the whole answer in one piece.
	repeat bool
}

type callDelta struct {
	index    int // -1: there is none
	id, name string
	args     piece
}

// says reports whether the chunk has a part of the answer.
func (d *delta) says() bool {
	return !d.text.empty() || !d.reasoning.empty() || len(d.calls) > 0
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
	d.text = firstPiece(p.Content.piece, p.Refusal.piece, d.text)
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
	return callDelta{index: at, id: id, name: string(f.Name), args: f.Arguments.piece}
}

// firstPiece returns the first piece that is not empty.
func firstPiece(pieces ...piece) piece {
	for _, p := range pieces {
		if !p.empty() {
			return p
		}
	}
	return piece{}
}
