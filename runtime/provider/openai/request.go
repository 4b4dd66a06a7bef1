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
	buf []byte
	// reasoningKey is Options.ReasoningKey.
	reasoningKey string
	// media counts the bytes of images.
	media int
	// text is a buffer for arguments.
	text []byte
}

// encode returns the body of a request, and its bytes without images.
func (p *Provider) encode(req message.ModelRequest) (body []byte, text int, err error) {
	tools := req.Tools.Encoded(toolsForm, encodeTools)
	e := encoder{reasoningKey: p.o.ReasoningKey, buf: make([]byte, 0, sizeOf(req)+len(tools)+len(p.extra)+512)}
	e.raw(`{`)
	if model := orElse(req.Model.Name, p.o.Model); model != "" {
		e.raw(`"model":`)
		e.string(model)
		e.raw(`,`)
	}
	e.raw(`"messages":[`)
	e.messages(req)
	e.raw(`]`)
	if tools != "" {
		e.raw(`,"tools":`)
		e.raw(tools)
		e.choice(req.Model.Choice)
	}
	if err := e.format(req.Model.Format); err != nil {
		return nil, 0, err
	}
	if req.Model.MaxTokens > 0 {
		e.raw(`,`)
		e.string(p.o.MaxTokensKey)
		e.raw(`:`)
		e.buf = strconv.AppendInt(e.buf, int64(req.Model.MaxTokens), 10)
	}
	e.raw(p.extra)
	e.raw(`,"stream":true`)
	if !p.o.NoUsage {
		e.raw(`,"stream_options":{"include_usage":true}`)
	}
	e.raw(`}`)
	return e.buf, len(e.buf) - e.media, nil
}

// sizeOf estimates the bytes of the messages, a little too high.
func sizeOf(req message.ModelRequest) int {
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
		e.raw(`,"tool_choice":"`)
		e.raw(string(c.Mode))
		e.raw(`"`)
	case message.ToolChoiceTool:
		e.raw(`,"tool_choice":{"type":"function","function":{"name":`)
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
		e.raw(`,"response_format":{"type":"json_schema","json_schema":{"name":`)
		e.string(name)
		e.raw(`,"schema":`)
		e.raw(string(f.Schema))
		e.raw(`}}`)
	case f.JSON:
		e.raw(`,"response_format":{"type":"json_object"}`)
	}
	return nil
}
