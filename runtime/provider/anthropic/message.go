package anthropic

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// maxID limits the ids of calls, in bytes.
const maxID = 64

// meta is what the wire needs to know about a block that goes back.
type meta struct {
	// Model is the model that was asked.
	Model string `json:"model,omitempty"`
	// Signature is that of thinking.
	Signature string `json:"signature,omitempty"`
	// Block is a whole block as it came: redacted thinking, or one of the server's own tools.
	Block jsontext.Value `json:"block,omitempty"`
	// Citations are those of a text.
	Citations []jsontext.Value `json:"citations,omitempty"`
}

// metaOf returns the meta of a block; the zero meta if another vendor wrote it.
func metaOf(b message.Block) (m meta) {
	if !provider.MetaFor(vendor, b.Meta, &m) {
		return meta{}
	}
	return m
}

// history is the state of an encoder that writes messages.
type history struct {
	// role is that of the open message, which begins at from; "" is none.
	role message.Role
	from int
	// trailing is where the thinking at the end of the open message begins; 0 is none.
	trailing int
	// paused: the last message has a block of the server's own tools.
	paused bool
	// end, stable and before are places for marks, 0 is none: the end of the last block
	// that can have one, of the last one that stays, and of the last one before the last
	// answer.
	end, stable, before int
	// stays: the message that is being written stays. asked: it is what the model is to
	// answer now; refused is what cannot be sent of that.
	stays, asked bool
	refused      error
	// used has the ids of all calls so far and how often each was wanted, ids the newest of
	// them by the ids that the history has.
	used map[string]int
	ids  map[string]string
}

func (e *encoder) messages(ms message.Messages, stable int) error {
	for i := 0; i < ms.Len(); {
		if m := ms.At(i); m.Role == message.RoleAssistant {
			e.stays = i < stable
			e.assistant(m)
			i++
			continue
		}
		to := i
		for to < ms.Len() && ms.At(to).Role != message.RoleAssistant {
			to++
		}
		e.asked = to == ms.Len()
		e.turn(ms, i, to, stable)
		i = to
	}
	last := e.role
	e.close()
	switch {
	case e.refused != nil:
		return e.refused
	case last == "":
		return errors.New("the request has no message with content; add a user's message")
	case last == message.RoleAssistant && !e.paused && !e.prefill:
		return errors.New("the last message is the assistant's, and the model does not continue it; add a user's message")
	}
	return nil
}

// turn writes the messages from and to as one of the user: results of tools, what they show
// that cannot stand in them, and the user's words.
func (e *encoder) turn(ms message.Messages, from, to, stable int) {
	for i := from; i < to; i++ {
		if m := ms.At(i); m.Role == message.RoleTool {
			e.stays = i < stable
			e.result(m)
		}
	}
	for i := from; i < to; i++ {
		m := ms.At(i)
		e.stays = i < stable
		if m.Role != message.RoleTool {
			e.content(m.Content)
		} else if m.Result.IsError() {
			e.shown(m)
		}
	}
}

// open begins a block of a message with the role.
func (e *encoder) open(role message.Role) {
	if e.role == role {
		e.raw(`,`)
		return
	}
	e.close()
	if role == message.RoleAssistant {
		e.before, e.paused = e.end, false
	}
	e.role, e.from = role, len(e.buf)
	if e.buf[e.from-1] != '[' {
		e.raw(`,`)
	}
	e.raw(`{"role":"`)
	e.raw(string(role))
	e.raw(`","content":[`)
}

// done ends a block that can have a mark. Its last byte is written.
func (e *encoder) done() {
	e.end, e.trailing = len(e.buf)-1, 0
	if e.stays {
		e.stable = e.end
	}
}

// close ends the open message. Thinking cannot be its last block, unless it goes on.
func (e *encoder) close() {
	if e.role == "" {
		return
	}
	e.role = ""
	if e.trailing > 0 && !e.paused {
		e.buf = e.buf[:e.trailing]
	}
	e.trailing = 0
	if e.buf[len(e.buf)-1] == '[' { // there was nothing else
		e.buf = e.buf[:e.from]
		return
	}
	e.raw(`]}`)
}

func (e *encoder) text(role message.Role, text string) {
	if blank(text) {
		return
	}
	e.open(role)
	e.part(text)
	e.done()
}

func (e *encoder) part(text string) {
	e.raw(`{"type":"text","text":`)
	e.string(text)
	e.raw(`}`)
}

// content writes the blocks of a user.
func (e *encoder) content(content message.List[message.Block]) {
	for _, b := range content.All() {
		switch {
		case b.Kind == message.BlockReasoning || b.Kind == message.BlockToolCall:
		case sendable(b):
			e.open(message.RoleUser)
			e.show(b)
			e.done()
		default:
			e.text(message.RoleUser, e.plain(b))
		}
	}
}

// sendable reports whether the API takes the block as an image or a document.
func sendable(b message.Block) bool {
	if b.Data == "" && !strings.HasPrefix(b.URI, "https://") && !strings.HasPrefix(b.URI, "http://") {
		return false
	}
	switch b.Kind {
	case message.BlockImage:
		switch b.MIME {
		case "image/jpeg", "image/png", "image/gif", "image/webp":
			return true
		}
		return b.MIME == "" // a link, or as most tools mean it
	case message.BlockDocument:
		return b.MIME == "application/pdf" || b.MIME == ""
	}
	return false
}

// show writes an image or a document.
func (e *encoder) show(b message.Block) {
	kind, mime := "image", b.MIME
	if b.Kind == message.BlockDocument {
		kind, mime = "document", "application/pdf"
	} else if mime == "" {
		mime = "image/png"
	}
	e.raw(`{"type":"` + kind + `","source":{"type":`)
	if b.Data == "" {
		e.raw(`"url","url":`)
		e.string(b.URI)
	} else {
		e.raw(`"base64","media_type":"` + mime + `","data":`)
		e.string(b.Data)
		e.media += len(b.Data)
	}
	e.raw(`}`)
	if b.Kind == message.BlockDocument && !blank(b.Name) {
		e.raw(`,"title":`)
		e.string(b.Name)
	}
	e.raw(`}`)
}

// plain returns what stands for the block in a text. What was said long ago, perhaps to
// another vendor's model, must not end the conversation; what is said now must not be lost.
func (e *encoder) plain(b message.Block) string {
	switch {
	case b.IsMedia() && b.Data == "" && b.URI != "":
		return b.URI
	case b.IsMedia():
		if e.asked && e.refused == nil {
			e.refused = fmt.Errorf("the API takes no %s %s; send an image (JPEG, PNG, GIF or WebP), a PDF or text, or ask a model that takes it", b.Kind, cmp.Or(b.MIME, b.Name))
		}
		return "[left out, because it cannot be sent here: " + strings.Join(strings.Fields(string(b.Kind)+" "+b.Name+" "+b.MIME), " ") + "]"
	case b.Kind == message.BlockJSON:
		return string(b.JSON)
	case b.Text == "":
		return b.URI
	}
	return b.Text
}

// assistant writes an answer. Nothing but calls may stand behind a call: texts that another
// vendor's model said there stand before the calls.
func (e *encoder) assistant(m message.Message) {
	e.asked = false
	called := false
	for i, b := range m.Content.All() {
		switch {
		case b.Kind == message.BlockReasoning:
			e.reasoning(b)
		case b.Kind != message.BlockToolCall && !called:
			e.spoken(b)
		case b.Kind == message.BlockToolCall:
			if !called {
				called = true
				e.behind(m.Content.From(i + 1))
			}
			e.call(b)
		}
	}
}

// behind writes what is neither a call nor reasoning.
func (e *encoder) behind(content message.List[message.Block]) {
	for _, b := range content.All() {
		if b.Kind != message.BlockReasoning && b.Kind != message.BlockToolCall {
			e.spoken(b)
		}
	}
}

// spoken writes a text of an answer, or what stands for its media: an answer has none.
func (e *encoder) spoken(b message.Block) {
	if b.Kind == message.BlockText {
		e.said(b)
		return
	}
	e.text(message.RoleAssistant, e.plain(b))
}

// said writes a text of an answer with its citations.
func (e *encoder) said(b message.Block) {
	if blank(b.Text) {
		return
	}
	e.open(message.RoleAssistant)
	e.part(b.Text)
	if own := metaOf(b); len(own.Citations) > 0 {
		e.buf = e.buf[:len(e.buf)-1]
		e.raw(`,"citations":[`)
		for i, c := range own.Citations {
			if i > 0 {
				e.raw(`,`)
			}
			e.buf = append(e.buf, c...)
		}
		e.raw(`]}`)
	}
	e.done()
}

// reasoning writes a block as it came: thinking only to the model that made it.
func (e *encoder) reasoning(b message.Block) {
	own := metaOf(b)
	thinks := own.Signature != "" || kindOf(own.Block) == redacted
	switch {
	case !thinks && own.Block == nil, thinks && (e.forget || own.Model != e.model.Name):
		return
	}
	from := len(e.buf)
	if e.role != message.RoleAssistant {
		from = 0
	}
	e.open(message.RoleAssistant)
	if from == 0 {
		from = len(e.buf)
	}
	if own.Block != nil {
		e.buf = append(e.buf, own.Block...)
	} else {
		e.raw(`{"type":"thinking","thinking":`)
		e.string(b.Text)
		e.raw(`,"signature":`)
		e.string(own.Signature)
		e.raw(`}`)
	}
	switch {
	case !thinks:
		e.trailing, e.paused = 0, true
	case e.trailing == 0:
		e.trailing = from
	}
}

// kindOf returns the type of a block of the wire; "" if there is none.
func kindOf(block jsontext.Value) string {
	var head struct {
		Type string `json:"type"`
	}
	if block == nil || json.Unmarshal(block, &head, wire.Lax()) != nil {
		return ""
	}
	return head.Type
}

// opensWithThinking reports whether thinking with a budget may go on: while the model works
// with tools, every answer since the user's message has to begin with its own thinking.
// Another model may have given one of them.
func opensWithThinking(ms message.Messages, model string) bool {
	for i := ms.Len() - 1; i >= 0; i-- {
		m := ms.At(i)
		if m.Role != message.RoleAssistant {
			continue
		}
		if !hasCalls(m) {
			return true
		}
		own := metaOf(m.Content.At(0))
		if own.Model != model || own.Signature == "" && kindOf(own.Block) != redacted {
			return false
		}
	}
	return true
}

func hasCalls(m message.Message) bool {
	for _, b := range m.Content.All() {
		if b.Kind == message.BlockToolCall {
			return true
		}
	}
	return false
}

// call writes a call of a tool. The ids of a conversation are unique here, even if another
// vendor counts them anew in each answer.
func (e *encoder) call(b message.Block) {
	if e.used == nil {
		e.used, e.ids = map[string]int{}, map[string]string{}
	}
	base := wire.CallID(b.CallID, maxID)
	id := base
	for e.used[id] > 0 {
		e.used[base]++
		id = base + "_" + strconv.Itoa(e.used[base])
	}
	e.used[id]++
	e.ids[b.CallID] = id
	e.open(message.RoleAssistant)
	e.raw(`{"type":"tool_use","id":`)
	e.string(id)
	e.raw(`,"name":`)
	e.string(toolName(b.Tool))
	e.raw(`,"input":`)
	e.input(string(b.JSON))
	e.raw(`}`)
	e.done()
}

// input writes arguments. The API takes only an object, without half characters.
func (e *encoder) input(args string) {
	value := jsontext.Value(args)
	switch {
	case blank(args):
		e.raw(`{}`)
	case value.Kind() == jsontext.KindBeginObject && value.IsValid(jsontext.AllowDuplicateNames(true)):
		e.raw(args)
	default:
		e.buf = append(quote.Append(append(e.buf, `{"unparsed_arguments":`...), args), '}')
	}
}

// result writes the result of a tool. That of a failure has only text.
func (e *encoder) result(m message.Message) {
	id, known := e.ids[m.CallID]
	if !known {
		id = wire.CallID(m.CallID, maxID)
	}
	e.open(message.RoleUser)
	e.raw(`{"type":"tool_result","tool_use_id":`)
	e.string(id)
	failed, from := m.Result.IsError(), len(e.buf)
	next := func() {
		if len(e.buf) == from {
			e.raw(`,"content":[`)
		} else {
			e.raw(`,`)
		}
	}
	for _, b := range m.Result.Content.All() {
		switch {
		case sendable(b) && !failed:
			next()
			e.show(b)
		case sendable(b) && failed: // it follows the results
		default:
			if text := e.plain(b); !blank(text) {
				next()
				e.part(text)
			}
		}
	}
	if len(e.buf) == from && failed {
		next()
		e.part("failed: " + string(m.Result.Failure))
	}
	if len(e.buf) > from {
		e.raw(`]`)
	}
	if failed {
		e.raw(`,"is_error":true`)
	}
	e.raw(`}`)
	e.done()
}

// shown writes the media of a failed result.
func (e *encoder) shown(m message.Message) {
	for _, b := range m.Result.Content.All() {
		if sendable(b) {
			e.text(message.RoleUser, "Part of the result of "+m.Tool+":")
			e.open(message.RoleUser)
			e.show(b)
			e.done()
		}
	}
}
