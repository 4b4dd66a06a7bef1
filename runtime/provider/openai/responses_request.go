package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
	"github.com/grapnel-go/grapnel/runtime/provider/openai/internal/answer"
)

const (
	// responsesForm names the encoding of a tool set.
	responsesForm = "openai-responses"
	// maxCallID limits the id of a call on the Responses wire, in bytes.
	maxCallID = 64
)

// encodeResponses returns the body of a Responses request, and its bytes without media. What
// changes from request to request of a conversation stands last: the input.
func (p *Provider) encodeResponses(req *message.ModelRequest, pl *plan) (body []byte, text int, err error) {
	tools := req.Tools.Encoded(responsesForm, encodeFunctions)
	m := &pl.model
	e := encoder{p: p, responses: true, strict: p.vendor(), buf: make([]byte, 0, sizeOf(req)+len(tools)+1024), names: make([]string, 0, 16)}
	e.raw(`{`)
	e.word("model", m.Name)
	e.raw(`,"stream":true,"store":false`)
	if pl.family.Reasoning != catalog.None {
		e.raw(`,"include":["reasoning.encrypted_content"]`) // others refuse it
	}
	e.word("prompt_cache_key", cacheKey(m.Name, req.System, tools))
	e.word("instructions", req.System)
	if tools != "" {
		e.key("tools")
		e.raw(tools)
		e.choice(m.Choice)
	}
	if err := e.format(m.Format); err != nil {
		return nil, 0, p.s.Refuse("%w", err)
	}
	if m.MaxTokens > 0 {
		e.key("max_output_tokens")
		e.buf = strconv.AppendInt(e.buf, int64(m.MaxTokens), 10)
	}
	e.sampling(m)
	e.effort(pl)
	if err := e.extra(p, m); err != nil {
		return nil, 0, err
	}
	e.key("input")
	e.raw(`[`)
	e.items(req, m.Name)
	e.raw(`]}`)
	return e.buf, len(e.buf) - e.media, e.err
}

// effort writes how much the model thinks.
func (e *encoder) effort(pl *plan) {
	effort := pl.effort()
	if effort == "" && !pl.family.Display {
		return
	}
	e.key("reasoning")
	e.raw(`{`)
	if effort != "" {
		e.raw(`"effort":`)
		e.string(effort)
	}
	if pl.family.Display {
		if effort != "" {
			e.raw(`,`)
		}
		e.raw(`"summary":"auto"`)
	}
	e.raw(`}`)
}

// cacheKey brings requests that begin alike to the same cache: those of all conversations of
// one agent.
func cacheKey(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash has no errors
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// encodeFunctions writes the tools. Without strict the server would make schemas strict.
func encodeFunctions(tools message.List[message.Tool]) string {
	if tools.Len() == 0 {
		return ""
	}
	var e encoder
	e.raw(`[`)
	for i, t := range tools.All() {
		if i > 0 {
			e.raw(`,`)
		}
		e.raw(`{"type":"function","name":`)
		e.string(t.Name)
		if t.Description != "" {
			e.raw(`,"description":`)
			e.string(t.Description)
		}
		e.raw(`,"strict":false,"parameters":`)
		e.raw(parameters(string(t.Input)))
		e.raw(`}`)
	}
	e.raw(`]`)
	return string(e.buf)
}

// items writes the history as items of the input.
func (e *encoder) items(req *message.ModelRequest, model string) {
	newest := newestInput(req.Messages)
	for i, m := range req.Messages.All() {
		e.newest = i >= newest && m.Role != message.RoleAssistant
		switch m.Role {
		case message.RoleTool:
			e.output(m)
		case message.RoleAssistant:
			e.assistantItems(m, model)
		default:
			e.item(`{"role":"user","content":`)
			e.user(m.Content)
			e.raw(`}`)
		}
		if len(e.held) > 0 && !resultFollows(req.Messages, i) {
			e.item(`{"role":"user","content":[`)
			e.after()
			e.raw(`]}`)
		}
	}
}

// item begins an item.
func (e *encoder) item(begin string) {
	if e.buf[len(e.buf)-1] != '[' {
		e.raw(`,`)
	}
	e.raw(begin)
}

// assistantItems writes an assistant's message: an item for each block. Items of this vendor go back
// as they were. Reasoning goes back to the model that made it, and only before the item that
// it belongs to; without it the ids of the items behind it stay away too.
func (e *encoder) assistantItems(m message.Message, model string) {
	whole := true // no reasoning has been left out
	for i, b := range m.Content.All() {
		var of answer.Mark
		own := provider.MetaFor(e.p.o.Vendor, b.Meta, &of)
		switch {
		case b.Kind == message.BlockReasoning:
			if own && of.Encrypted != "" && of.Model == model && e.itemFollows(m.Content, i, model) {
				e.reasoningItem(&b, &of)
			} else {
				whole = false
			}
		case b.Kind == message.BlockToolCall:
			e.item(`{"type":"function_call"`)
			e.id(own && whole, "fc_", of.ID)
			e.raw(`,"call_id":`)
			e.string(wire.CallID(b.CallID, maxCallID))
			e.raw(`,"name":`)
			e.string(b.Tool)
			e.raw(`,"arguments":`)
			e.arguments(string(b.JSON))
			e.raw(`}`)
		case e.sendable(&b):
			e.held = append(e.held, held{"the assistant", b})
		default:
			if text := e.plain(&b); text != "" {
				e.said(text, &of, own && whole)
			}
		}
	}
}

// itemFollows reports whether the next block of the answer, but for further reasoning, is an
// item of the same answer.
func (e *encoder) itemFollows(content message.List[message.Block], i int, model string) bool {
	for i++; i < content.Len(); i++ {
		b := content.At(i)
		var of answer.Mark
		if !provider.MetaFor(e.p.o.Vendor, b.Meta, &of) || of.Model != model {
			return false
		}
		if b.Kind != message.BlockReasoning {
			return true
		}
	}
	return false
}

// id writes the id of an item of the server's own that has the form of its kind.
func (e *encoder) id(own bool, prefix, id string) {
	if own && strings.HasPrefix(id, prefix) {
		e.raw(`,"id":`)
		e.string(id)
	}
}

// said writes a text of the assistant.
func (e *encoder) said(text string, of *answer.Mark, own bool) {
	e.item(`{"type":"message"`)
	e.id(own, "msg_", of.ID)
	if of.Phase != "" {
		e.raw(`,"phase":`)
		e.string(of.Phase)
	}
	kind, member := "output_text", "text"
	if of.Refusal {
		kind, member = "refusal", "refusal"
	}
	e.raw(`,"role":"assistant","content":[{"type":"` + kind + `","` + member + `":`)
	e.string(text)
	e.raw(`}]}`)
}

// reasoningItem writes reasoning as it came, but for its status.
func (e *encoder) reasoningItem(b *message.Block, of *answer.Mark) {
	e.item(`{"type":"reasoning"`)
	e.id(true, "rs_", of.ID)
	e.raw(`,"summary":[`)
	parts := of.Summary
	if len(parts) == 0 && b.Text != "" {
		parts = []string{b.Text}
	}
	for i, part := range parts {
		if i > 0 {
			e.raw(`,`)
		}
		e.raw(`{"type":"summary_text","text":`)
		e.string(part)
		e.raw(`}`)
	}
	e.raw(`],"encrypted_content":`)
	e.string(of.Encrypted)
	e.raw(`}`)
}

// output writes a tool's result: a text, or parts if there are media.
func (e *encoder) output(m message.Message) {
	e.item(`{"type":"function_call_output","call_id":`)
	e.string(wire.CallID(m.CallID, maxCallID))
	e.raw(`,"output":`)
	text := e.resultText(&m.Result)
	first := true
	for _, b := range m.Result.Content.All() {
		if b.Data == "" || !e.sendable(&b) {
			continue
		}
		if first {
			e.raw(`[`)
			if text != "" {
				e.part(text)
				e.raw(`,`)
			}
		} else {
			e.raw(`,`)
		}
		first = false
		e.mediaItem(&b)
	}
	if first {
		e.string(text)
	} else {
		e.raw(`]`)
	}
	e.raw(`}`)
}

// mediaItem writes media as a part of an item.
func (e *encoder) mediaItem(b *message.Block) {
	if b.Kind == message.BlockImage {
		e.raw(`{"type":"input_image","detail":"auto","image_url":`)
		e.imageURL(b)
		e.raw(`}`)
		return
	}
	e.raw(`{"type":"input_file"`)
	if b.Data == "" {
		e.raw(`,"file_url":`)
		e.string(b.URI)
	} else {
		e.raw(`,"filename":`)
		e.string(cmp.Or(b.Name, fileName(b)))
		e.raw(`,"file_data":`)
		e.dataURL(b, "application/pdf")
	}
	e.raw(`}`)
}
