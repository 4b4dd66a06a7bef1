package openai

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
)

// toolsForm names the encoding of a tool set.
const toolsForm = "openai-chat"

// encoder appends a request to buf. It reads the request once, without intermediate values.
type encoder struct {
	p   *Provider
	buf []byte
	// responses: the wire is Responses, else chat. strict: the server is the vendor's own.
	responses, strict bool
	// newest: the message is the person's newest one, or a result behind it.
	newest bool
	// media counts the bytes of media.
	media int
	// text is a buffer for arguments.
	text []byte
	// names are the members that are written.
	names []string
	held  []held
	// err is the first thing that the wire does not take.
	err error
}

// encode returns the body of a chat request, and its bytes without media.
func (p *Provider) encode(req *message.ModelRequest, pl *plan) (body []byte, text int, err error) {
	tools := req.Tools.Encoded(toolsForm, encodeTools)
	m := &pl.model
	e := encoder{p: p, strict: p.vendor(), buf: make([]byte, 0, sizeOf(req)+len(tools)+512), names: make([]string, 0, 16)}
	e.raw(`{`)
	e.word("model", m.Name)
	e.key("messages")
	e.raw(`[`)
	e.messages(req)
	e.raw(`]`)
	if tools != "" {
		e.key("tools")
		e.raw(tools)
		e.choice(m.Choice)
	}
	if err := e.format(m.Format); err != nil {
		return nil, 0, p.s.Refuse("%w", err)
	}
	if m.MaxTokens > 0 {
		e.key(p.o.MaxTokensKey)
		e.buf = strconv.AppendInt(e.buf, int64(m.MaxTokens), 10)
	}
	e.sampling(m)
	e.word("reasoning_effort", pl.effort())
	if m.Seed.Set {
		e.key("seed")
		e.buf = strconv.AppendInt(e.buf, m.Seed.Value, 10)
	}
	e.stop(m.Stop)
	if err := e.extra(p, m); err != nil {
		return nil, 0, err
	}
	e.raw(`,"stream":true`)
	if !p.o.NoUsage {
		e.raw(`,"stream_options":{"include_usage":true}`)
	}
	e.raw(`}`)
	return e.buf, len(e.buf) - e.media, e.err
}

func (e *encoder) stop(texts message.List[string]) {
	if texts.Len() == 0 {
		return
	}
	e.key("stop")
	e.raw(`[`)
	for i, text := range texts.All() {
		if i > 0 {
			e.raw(`,`)
		}
		e.string(text)
	}
	e.raw(`]`)
}

// sizeOf estimates the bytes of the messages, a little too high.
func sizeOf(req *message.ModelRequest) int {
	n := len(req.System)
	for _, m := range req.Messages.All() {
		n += 96 + len(m.CallID) + blocksSize(m.Content) + blocksSize(m.Result.Content)
	}
	return n + n/8
}

func blocksSize(blocks message.List[message.Block]) (n int) {
	for _, b := range blocks.All() {
		n += 96 + len(b.Text) + len(b.JSON) + len(b.Data) + len(b.URI)
	}
	return n
}

func (e *encoder) raw(s string)    { e.buf = append(e.buf, s...) }
func (e *encoder) string(s string) { e.buf = quote.Append(e.buf, s) }

// inside appends to an open string.
func (e *encoder) inside(s string) { e.buf = quote.AppendInside(e.buf, s) }

func encodeTools(tools message.List[message.Tool]) string {
	if tools.Len() == 0 {
		return ""
	}
	var e encoder
	e.raw(`[`)
	for i, t := range tools.All() {
		if i > 0 {
			e.raw(`,`)
		}
		e.raw(`{"type":"function","function":{"name":`)
		e.string(t.Name)
		if t.Description != "" {
			e.raw(`,"description":`)
			e.string(t.Description)
		}
		e.raw(`,"parameters":`)
		e.raw(parameters(string(t.Input)))
		e.raw(`}}`)
	}
	e.raw(`]`)
	return string(e.buf)
}

// parameters returns the schema of a tool's arguments. OpenAI refuses a schema without
// properties, so parameters adds empty ones for a tool without parameters.
func parameters(schema string) string {
	const none = `{"type":"object","properties":{}}`
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(schema), &members) != nil || len(members) == 0 {
		return none
	}
	properties, there := members["properties"]
	switch {
	case !there:
		return `{"properties":{},` + strings.TrimPrefix(strings.TrimSpace(schema), "{")
	case string(properties) == "null":
		return none
	}
	return schema
}

func (e *encoder) choice(c message.ToolChoice) {
	switch c.Mode {
	case message.ToolChoiceNone, message.ToolChoiceRequired:
		e.word("tool_choice", string(c.Mode))
	case message.ToolChoiceTool:
		e.key("tool_choice")
		if e.responses {
			e.raw(`{"type":"function","name":`)
			e.string(c.Tool)
			e.raw(`}`)
			return
		}
		e.raw(`{"type":"function","function":{"name":`)
		e.string(c.Tool)
		e.raw(`}}`)
	}
}

func (e *encoder) format(f message.ResponseFormat) error {
	switch {
	case f.Schema != "":
		if !json.Valid([]byte(f.Schema)) {
			return fmt.Errorf("the schema of the response format %q is no JSON", f.Name)
		}
		name := f.Name
		if !message.ValidToolName(name) {
			name = "response"
		}
		if e.responses {
			e.key("text")
			e.raw(`{"format":{"type":"json_schema","strict":false,"name":`)
		} else {
			e.key("response_format")
			e.raw(`{"type":"json_schema","json_schema":{"name":`)
		}
		e.string(name)
		e.raw(`,"schema":`)
		e.raw(string(f.Schema))
		e.raw(`}}`)
	case f.JSON && e.responses:
		e.key("text")
		e.raw(`{"format":{"type":"json_object"}}`)
	case f.JSON:
		e.key("response_format")
		e.raw(`{"type":"json_object"}`)
	}
	return nil
}
