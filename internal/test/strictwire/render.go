package strictwire

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// renderer writes a request as an adapter for Anthropic would. It mends what an
// adapter can without knowing what was meant: messages of one role are joined,
// blank texts left out, an assistant's blocks put into the order that the wire
// wants, and tools that only the history knows are declared. It does not pair
// results with calls, and passes ids, names and arguments on as they are.
type renderer struct {
	buf []byte
	// blocks is the number of blocks of the message that is being written.
	blocks int
}

// anthropicMaxTokens bounds an answer if the request does not: the wire wants a
// bound.
const anthropicMaxTokens = 4096

// RenderAnthropic returns the body of a request to /v1/messages. It is safe for
// concurrent use.
func RenderAnthropic(req message.ModelRequest) []byte {
	r := renderer{buf: make([]byte, 0, 4096)}
	model, most := req.Model.Name, req.Model.MaxTokens
	if model == "" {
		model = "claude"
	}
	if most == 0 {
		most = anthropicMaxTokens
	}
	r.raw(`{"model":`)
	r.string(model)
	r.raw(`,"max_tokens":`)
	r.raw(strconv.Itoa(most))
	r.raw(`,"stream":true`)
	if !blank(req.System) {
		r.raw(`,"system":`)
		r.string(req.System)
	}
	r.tools(req)
	r.raw(`,"messages":[`)
	r.messages(req.Messages)
	r.raw(`]}`)
	return r.buf
}

func (r *renderer) raw(s string) { r.buf = append(r.buf, s...) }

// string writes a JSON string; bytes that are no UTF-8 are replaced.
func (r *renderer) string(s string) {
	if plain(s) {
		r.buf = append(append(append(r.buf, '"'), s...), '"')
		return
	}
	r.raw(wire.JSON(s))
}

func plain(s string) bool {
	for i := range len(s) {
		if b := s[i]; b < ' ' || b == '"' || b == '\\' || b > '~' {
			return false
		}
	}
	return true
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func (r *renderer) tools(req message.ModelRequest) {
	tools := req.Tools.Encoded("strictwire-anthropic", encodeTools)
	if tools == "" {
		tools = toolsOfHistory(req.Messages)
	}
	if tools == "" {
		return
	}
	r.raw(`,"tools":`)
	r.raw(tools)
	switch req.Model.Choice.Mode {
	case message.ToolChoiceNone:
		r.raw(`,"tool_choice":{"type":"none"}`)
	case message.ToolChoiceRequired:
		r.raw(`,"tool_choice":{"type":"any"}`)
	case message.ToolChoiceTool:
		r.raw(`,"tool_choice":{"type":"tool","name":`)
		r.string(req.Model.Choice.Tool)
		r.raw(`}`)
	}
}

func encodeTools(tools message.List[message.Tool]) string {
	var r renderer
	for _, t := range tools.All() {
		input := string(t.Input)
		if !json.Valid([]byte(input)) {
			input = `{"type":"object"}`
		}
		r.tool(t.Name, t.Description, input)
	}
	return r.list()
}

// toolsOfHistory declares the tools that were called, for a request that has no
// others: the wire wants to know them.
func toolsOfHistory(ms message.Messages) string {
	var r renderer
	seen := map[string]bool{}
	for _, m := range ms.All() {
		for _, b := range m.Content.All() {
			if b.Kind == message.BlockToolCall && !seen[b.Tool] {
				seen[b.Tool] = true
				r.tool(b.Tool, "", `{"type":"object"}`)
			}
		}
	}
	return r.list()
}

func (r *renderer) tool(name, description, input string) {
	r.comma()
	r.raw(`{"name":`)
	r.string(name)
	if description != "" {
		r.raw(`,"description":`)
		r.string(description)
	}
	r.raw(`,"input_schema":` + input + `}`)
}

func (r *renderer) list() string {
	if len(r.buf) == 0 {
		return ""
	}
	return "[" + string(r.buf) + "]"
}

// messages writes runs of messages of one role as one message each.
func (r *renderer) messages(ms message.Messages) {
	first := true
	for i := 0; i < ms.Len(); {
		role, end := wireRole(ms.At(i)), i+1
		for end < ms.Len() && wireRole(ms.At(end)) == role {
			end++
		}
		start := len(r.buf)
		if !first {
			r.raw(`,`)
		}
		r.raw(`{"role":"` + role + `","content":[`)
		r.blocks = 0
		if role == "user" {
			r.user(ms, i, end)
		} else {
			r.assistant(ms, i, end)
		}
		r.raw(`]}`)
		if i = end; r.blocks == 0 {
			r.buf = r.buf[:start] // nothing was said
			continue
		}
		first = false
	}
}

func wireRole(m message.Message) string {
	if m.Role == message.RoleAssistant {
		return "assistant"
	}
	return "user"
}

// begin writes what stands in front of a block.
func (r *renderer) begin(kind string) {
	r.comma()
	r.raw(`{"type":"` + kind + `"`)
}

// comma separates a block, or a tool, from the one before.
func (r *renderer) comma() {
	if r.blocks > 0 {
		r.raw(`,`)
	}
	r.blocks++
}

func (r *renderer) user(ms message.Messages, from, to int) {
	for i := from; i < to; i++ {
		if m := ms.At(i); m.Role == message.RoleTool {
			r.result(m)
		} else {
			r.contents(m.Content)
		}
	}
}

// contents writes texts and images.
func (r *renderer) contents(content message.List[message.Block]) {
	for _, b := range content.All() {
		switch {
		case b.Kind == message.BlockReasoning, b.Kind == message.BlockToolCall:
		case b.Kind == message.BlockImage:
			r.image(b)
		default:
			r.text(textOf(b))
		}
	}
}

func textOf(b message.Block) string {
	switch {
	case b.Kind == message.BlockJSON:
		return string(b.JSON)
	case b.Text == "":
		return b.URI
	}
	return b.Text
}

func (r *renderer) text(s string) {
	if blank(s) {
		return
	}
	r.begin("text")
	r.raw(`,"text":`)
	r.string(s)
	r.raw(`}`)
}

func (r *renderer) image(b message.Block) {
	switch {
	case b.Data != "":
		r.begin("image")
		r.raw(`,"source":{"type":"base64","media_type":`)
		r.string(b.MIME)
		r.raw(`,"data":`)
		r.string(b.Data)
		r.raw(`}}`)
	case b.URI != "":
		r.begin("image")
		r.raw(`,"source":{"type":"url","url":`)
		r.string(b.URI)
		r.raw(`}}`)
	}
}

func (r *renderer) result(m message.Message) {
	r.begin("tool_result")
	r.raw(`,"tool_use_id":`)
	r.string(m.CallID)
	if m.Result.IsError() {
		r.raw(`,"is_error":true`)
		if m.Result.Content.Len() == 0 || blank(m.Result.Text()) {
			m.Result = message.TextResult("failed: " + string(m.Result.Failure))
		}
	}
	at, outside := len(r.buf), r.blocks
	r.raw(`,"content":[`)
	r.blocks = 0
	for _, b := range m.Result.Content.All() {
		if b.Kind != message.BlockImage || !m.Result.IsError() { // a failure holds text only
			r.contents(message.ListOf(b))
		}
	}
	r.raw(`]`)
	if r.blocks == 0 {
		r.buf = r.buf[:at] // an empty success
	}
	r.blocks = outside
	r.raw(`}`)
}

// assistant writes thinking, then texts, then calls, which is the order of the
// wire.
func (r *renderer) assistant(ms message.Messages, from, to int) {
	last := to == ms.Len()
	each := func(write func(b message.Block)) {
		for i := from; i < to; i++ {
			for _, b := range ms.At(i).Content.All() {
				write(b)
			}
		}
	}
	said := false
	each(func(b message.Block) {
		said = said || b.Kind == message.BlockToolCall || b.Kind != message.BlockReasoning && !blank(textOf(b))
	})
	if !said {
		return // thinking alone is not taken back
	}
	each(r.thinking)
	each(func(b message.Block) {
		if b.Kind != message.BlockReasoning && b.Kind != message.BlockToolCall {
			s := textOf(b)
			if last {
				s = strings.TrimRight(s, " \t\r\n")
			}
			r.text(s)
		}
	})
	each(r.call)
}

// thinking writes reasoning that the vendor has signed; nothing else is taken.
func (r *renderer) thinking(b message.Block) {
	var meta struct{ Signature string }
	if b.Kind != message.BlockReasoning || !provider.MetaFor("anthropic", b.Meta, &meta) || meta.Signature == "" {
		return
	}
	r.begin("thinking")
	r.raw(`,"thinking":`)
	r.string(b.Text)
	r.raw(`,"signature":`)
	r.string(meta.Signature)
	r.raw(`}`)
}

func (r *renderer) call(b message.Block) {
	if b.Kind != message.BlockToolCall {
		return
	}
	r.begin("tool_use")
	r.raw(`,"id":`)
	r.string(b.CallID)
	r.raw(`,"name":`)
	r.string(b.Tool)
	r.raw(`,"input":`)
	if json.Valid([]byte(b.JSON)) {
		r.raw(string(b.JSON))
	} else {
		r.string(string(b.JSON)) // else the body would be no JSON
	}
	r.raw(`}`)
}
