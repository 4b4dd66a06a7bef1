package gemini

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// toolsForm names the encoding of a tool set.
const toolsForm = "gemini-generate"

// encoder appends a request to buf. It reads the request once, without intermediate values.
// What settings change stands behind the contents, so that the beginning stays the same.
type encoder struct {
	settings
	buf []byte
	// media counts the bytes of images, audio and documents.
	media int
	history
}

// encode returns the body of a request, and its bytes without media.
func (s settings) encode(req message.ModelRequest) (body []byte, text int, err error) {
	tools := req.Tools.Encoded(toolsForm, encodeTools)
	e := encoder{settings: s, buf: make([]byte, 0, sizeOf(req)+len(tools)+1024)}
	e.raw(`{`)
	if strings.TrimSpace(req.System) != "" {
		e.raw(`"systemInstruction":{"parts":[{"text":`)
		e.string(req.System)
		e.raw(`}]},`)
	}
	if tools != "" {
		e.raw(`"tools":[{"functionDeclarations":`)
		e.raw(tools)
		e.raw(`}],`)
	}
	e.raw(`"contents":[`)
	if err := e.contents(req.Messages); err != nil {
		return nil, 0, err
	}
	e.raw(`]`)
	e.generation()
	if tools != "" {
		e.choice()
	}
	if s.model.Tier != "" {
		e.raw(`,"serviceTier":`)
		e.string(s.model.Tier)
	}
	if e.token != "" {
		e.raw(`,"continuationToken":`)
		e.string(e.token)
	}
	e.raw(s.extra)
	e.raw(`}`)
	return e.buf, len(e.buf) - e.media, nil
}

// sizeOf estimates the bytes of the messages, a little too high.
func sizeOf(req message.ModelRequest) int {
	n := len(req.System)
	for _, m := range req.Messages.All() {
		n += 128 + len(m.CallID) + blocksSize(m.Content) + blocksSize(m.Result.Content)
	}
	return n + n/8
}

func blocksSize(blocks message.List[message.Block]) (n int) {
	for _, b := range blocks.All() {
		n += 96 + len(b.Text) + len(b.JSON) + len(b.Data) + len(b.URI) + len(b.Meta)
	}
	return n
}

func (e *encoder) raw(s string)    { e.buf = append(e.buf, s...) }
func (e *encoder) string(s string) { e.buf = quote.Append(e.buf, s) }

// name writes the name of a member, behind a comma if it is not the first of its object.
func (e *encoder) name(s string) {
	if e.buf[len(e.buf)-1] != '{' {
		e.raw(`,`)
	}
	e.string(s)
	e.raw(`:`)
}

// generation writes how the answer is to be.
func (e *encoder) generation() {
	from := len(e.buf)
	e.raw(`,"generationConfig":{`)
	empty := len(e.buf)
	m := &e.model
	if m.MaxTokens > 0 {
		e.name("maxOutputTokens")
		e.buf = strconv.AppendInt(e.buf, int64(m.MaxTokens), 10)
	}
	if m.Temperature.Set {
		e.name("temperature")
		e.buf = strconv.AppendFloat(e.buf, m.Temperature.Value, 'g', -1, 64)
	}
	if m.TopP.Set {
		e.name("topP")
		e.buf = strconv.AppendFloat(e.buf, m.TopP.Value, 'g', -1, 64)
	}
	if m.Seed.Set {
		e.name("seed")
		e.buf = strconv.AppendInt(e.buf, m.Seed.Value, 10)
	}
	if m.Stop.Len() > 0 {
		e.name("stopSequences")
		e.texts(m.Stop)
	}
	if e.asksJSON() {
		e.name("responseMimeType")
		e.raw(`"application/json"`)
	}
	if m.Format.Schema != "" {
		e.name("responseJsonSchema")
		e.raw(string(m.Format.Schema))
	}
	if e.thinking != "" {
		e.name("thinkingConfig")
		e.raw(e.thinking)
	}
	switch further := e.config; {
	case len(e.buf) > empty:
		e.raw(further)
	case further != "":
		e.raw(further[1:])
	default:
		e.buf = e.buf[:from]
		return
	}
	e.raw(`}`)
}

func (e *encoder) texts(list message.List[string]) {
	e.raw(`[`)
	for i, s := range list.All() {
		if i > 0 {
			e.raw(`,`)
		}
		e.string(s)
	}
	e.raw(`]`)
}

func (e *encoder) choice() {
	mode := ""
	switch e.model.Choice.Mode {
	case message.ToolChoiceNone:
		mode = "NONE"
	case message.ToolChoiceRequired, message.ToolChoiceTool:
		mode = "ANY"
	default:
		return
	}
	e.raw(`,"toolConfig":{"functionCallingConfig":{"mode":"` + mode + `"`)
	if e.model.Choice.Mode == message.ToolChoiceTool {
		e.raw(`,"allowedFunctionNames":`)
		e.texts(message.ListOf(e.model.Choice.Tool))
	}
	e.raw(`}}`)
}

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
		e.raw(`{"name":`)
		e.string(t.Name)
		if t.Description != "" {
			e.raw(`,"description":`)
			e.string(t.Description)
		}
		e.raw(`,"parametersJsonSchema":`)
		e.raw(parameters(t.Input))
		e.raw(`}`)
	}
	e.raw(`]`)
	return string(e.buf)
}

// parameters returns the schema of a tool's arguments, which has to be that of an object.
func parameters(schema message.JSON) string {
	var top struct {
		Type jsontext.Value `json:"type"`
		Rest jsontext.Value `json:",embed"`
	}
	if json.Unmarshal([]byte(schema), &top) != nil {
		top.Type, top.Rest = nil, nil
	}
	if string(top.Type) == `"object"` {
		return string(schema)
	}
	rest, _ := wire.Members(message.JSON(top.Rest), func(string) bool { return false }) // they are valid
	if rest == "" {
		rest = `,"properties":{}`
	}
	return `{"type":"object"` + rest + `}`
}
