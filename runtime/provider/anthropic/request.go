package anthropic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
)

const (
	// toolsForm names the encoding of a tool set.
	toolsForm = "anthropic-messages"
	// mark says that the server may cache all up to the block that has it.
	mark = `,"cache_control":{"type":"ephemeral"}`
	// maxMarks is how many marks the API takes.
	maxMarks = 4
	// onlyJSON asks for JSON without a schema, for which the API has no member.
	onlyJSON = "Answer with one JSON value and nothing else: no prose, no code fence."
)

// encoder appends a request to buf. It reads the request once, without intermediate values.
// What settings change stands behind the messages, so that the beginning stays the same.
type encoder struct {
	settings
	buf []byte
	// media counts the bytes of images and documents.
	media int
	history
}

// encode returns the body of a request, and its bytes without media.
func (s settings) encode(req message.ModelRequest) (body []byte, text int, err error) {
	tools := req.Tools.Encoded(toolsForm, encodeTools)
	e := encoder{settings: s, buf: make([]byte, 0, sizeOf(req)+len(tools)+1024)}
	e.raw(`{"model":`)
	e.string(s.model.Name)
	marks := maxMarks
	if tools != "" {
		e.raw(`,"tools":`)
		e.raw(tools)
		marks--
	}
	if e.system(req.System) {
		marks--
	}
	e.raw(`,"messages":[`)
	if err := e.messages(req.Messages, req.Stable); err != nil {
		return nil, 0, err
	}
	e.raw(`]`)
	e.setMarks(marks)
	e.raw(`,"max_tokens":`)
	e.buf = strconv.AppendInt(e.buf, int64(s.maxTokens), 10)
	if s.thinking != "" && (!s.budget || opensWithThinking(req.Messages, s.model.Name)) {
		e.raw(`,"thinking":`)
		e.raw(s.thinking)
	}
	if err := e.output(); err != nil {
		return nil, 0, err
	}
	if tools != "" {
		e.choice()
	}
	e.stop()
	if s.model.Tier != "" {
		e.raw(`,"service_tier":`)
		e.string(s.model.Tier)
	}
	e.raw(s.extra)
	e.raw(`,"stream":true}`)
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
		n += 128 + len(b.Text) + len(b.JSON) + len(b.Data) + len(b.URI) + len(b.Meta)
	}
	return n
}

func (e *encoder) raw(s string)    { e.buf = append(e.buf, s...) }
func (e *encoder) string(s string) { e.buf = quote.Append(e.buf, s) }

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// system reports whether it wrote a mark.
func (e *encoder) system(text string) (marked bool) {
	format := e.model.Format
	asks := format.JSON && format.Schema == ""
	if blank(text) && !asks {
		return false
	}
	e.raw(`,"system":[`)
	if marked = !blank(text); marked {
		e.raw(`{"type":"text","text":`)
		e.string(text)
		e.raw(mark + `}`)
	}
	if asks {
		if marked {
			e.raw(`,`)
		}
		e.raw(`{"type":"text","text":"` + onlyJSON + `"}`)
	}
	e.raw(`]`)
	return marked
}

// setMarks sets at most most marks: at the end, behind the messages that stay, and where the
// request before this one had its end.
func (e *encoder) setMarks(most int) {
	var at []int
	for _, place := range []int{e.end, e.stable, e.before} {
		if place > 0 && len(at) < most && !slices.Contains(at, place) {
			at = append(at, place)
		}
	}
	slices.Sort(at)
	for _, place := range slices.Backward(at) {
		e.buf = slices.Insert(e.buf, place, []byte(mark)...)
	}
}

// output writes how the answer is to be.
func (e *encoder) output() error {
	schema := e.model.Format.Schema
	if e.effort == "" && schema == "" {
		return nil
	}
	e.raw(`,"output_config":{`)
	if e.effort != "" {
		e.raw(`"effort":`)
		e.string(e.effort)
	}
	if schema != "" {
		if e.effort != "" {
			e.raw(`,`)
		}
		e.raw(`"format":{"type":"json_schema","schema":`)
		var err error
		if e.buf, err = appendAnswerSchema(e.buf, schema); err != nil {
			return err
		}
		e.raw(`}`)
	}
	e.raw(`}`)
	return nil
}

func (e *encoder) choice() {
	switch c := e.model.Choice; c.Mode {
	case message.ToolChoiceNone:
		e.raw(`,"tool_choice":{"type":"none"}`)
	case message.ToolChoiceRequired:
		e.raw(`,"tool_choice":{"type":"any"}`)
	case message.ToolChoiceTool: // one call of this tool, as other vendors have it
		e.raw(`,"tool_choice":{"type":"tool","name":`)
		e.string(toolName(c.Tool))
		e.raw(`,"disable_parallel_tool_use":true}`)
	}
}

func (e *encoder) stop() {
	if e.model.Stop.Len() == 0 {
		return
	}
	e.raw(`,"stop_sequences":[`)
	for i, s := range e.model.Stop.All() {
		if i > 0 {
			e.raw(`,`)
		}
		e.string(s)
	}
	e.raw(`]`)
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
		schema, more := toolSchema(t.Input)
		e.raw(`{"name":`)
		e.string(toolName(t.Name))
		if description := strings.TrimSpace(t.Description + more); description != "" {
			e.raw(`,"description":`)
			e.string(description)
		}
		e.raw(`,"input_schema":`)
		e.raw(schema)
		if i == tools.Len()-1 {
			e.raw(mark)
		}
		e.raw(`}`)
	}
	e.raw(`]`)
	return string(e.buf)
}

// toolName returns a name that the API takes: at most 128 letters, digits, "_" and "-". Only
// a model's invention is another one.
func toolName(name string) string {
	if message.ValidToolName(name) {
		return name
	}
	name = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 128)] + strings.Repeat("_", max(0, 1-len(name)))
}
