package gemini

import (
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/quote"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/internal/wire"
)

// unsigned stands for the signature of a call that the model did not make. The API documents
// it: ai.google.dev/gemini-api/docs/thought-signatures.
const unsigned = "skip_thought_signature_validator"

// unnamed stands for the name of a call that has none, which the API refuses.
const unnamed = "unnamed"

// meta is what the wire needs to know about a block that goes back.
type meta struct {
	// Model is the model that was asked. Only it gets Signature, Part and Token back.
	Model string `json:"model,omitempty"`
	// ID is the id that the server gave a call.
	ID        string `json:"id,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Part has the members of a part of an unknown kind.
	Part jsontext.Value `json:"part,omitempty"`
	// Token continues an answer that the server has interrupted.
	Token string `json:"token,omitempty"`
}

// metaOf returns the meta of a block: the id if another model made the block, and the zero
// meta if another vendor did.
func (e *encoder) metaOf(b message.Block) (m meta) {
	if !provider.MetaFor(vendor, b.Meta, &m) {
		return meta{}
	}
	if m.Model != e.model.Name {
		m = meta{ID: m.ID}
	}
	return m
}

// content is a kind of content.
type content string

// The kinds. Results of tools are the user's, but nothing else may stand beside them.
const (
	results content = "results"
	user    content = "user"
	model   content = "model"
)

// history is the state of an encoder that writes contents.
type history struct {
	// open is the content that is being written; "" is none.
	open content
	// called: the open content has a call.
	called bool
	// ids are those that the server gave the calls of the newest content with calls, by the
	// ids that the history has for them.
	ids map[string]string
	// token continues an interrupted answer.
	token string
}

func (e *encoder) contents(ms message.Messages) error {
	to := e.uninterrupted(ms)
	for i := 0; i < to; {
		if m := ms.At(i); m.Role == message.RoleAssistant {
			e.answered(m)
			i++
			continue
		}
		from := i
		for i < to && ms.At(i).Role != message.RoleAssistant {
			i++
		}
		e.asked(ms, from, i)
	}
	if e.open == "" {
		return errors.New("the request has no message with content; add a user's message")
	}
	e.raw(`]}`)
	return nil
}

// uninterrupted returns how many messages go into the contents. An answer that the server has
// interrupted is not one of them: the token at its end stands for it.
func (e *encoder) uninterrupted(ms message.Messages) int {
	n := ms.Len()
	for n > 0 {
		m := ms.At(n - 1)
		if m.Role != message.RoleAssistant || m.Content.Len() == 0 {
			break
		}
		own := e.metaOf(m.Content.At(m.Content.Len() - 1))
		if own.Token == "" {
			break
		}
		if e.token == "" {
			e.token = own.Token
		}
		n--
	}
	return n
}

// asked writes messages of the user and of tools: first the results, then what cannot stand in
// them and the user's words.
func (e *encoder) asked(ms message.Messages, from, to int) {
	for i := from; i < to; i++ {
		if m := ms.At(i); m.Role == message.RoleTool {
			e.result(m)
		}
	}
	for i := from; i < to; i++ {
		m := ms.At(i)
		if m.Role == message.RoleTool {
			e.shown(m)
			continue
		}
		for _, b := range m.Content.All() {
			switch {
			case b.Kind == message.BlockReasoning || b.Kind == message.BlockToolCall:
			case sendable(b):
				e.part(user)
				e.show(b)
				e.raw(`}`)
			default:
				e.text(user, plain(b))
			}
		}
	}
}

// part begins a part of a content of the kind.
func (e *encoder) part(kind content) {
	if e.open == kind {
		e.raw(`,{`)
		return
	}
	if e.open != "" {
		e.raw(`]},`)
	}
	e.open, e.called = kind, false
	if kind == model {
		e.raw(`{"role":"model","parts":[{`)
	} else {
		e.raw(`{"role":"user","parts":[{`)
	}
}

func (e *encoder) text(kind content, text string) {
	if text != "" {
		e.part(kind)
		e.raw(`"text":`)
		e.string(text)
		e.raw(`}`)
	}
}

// sendable reports whether the API takes the block as media.
func sendable(b message.Block) bool {
	if b.Data == "" && !isLink(b.URI) {
		return false
	}
	switch b.Kind {
	case message.BlockImage:
		switch b.MIME {
		case "", "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif":
			return true
		}
	case message.BlockAudio:
		return strings.HasPrefix(b.MIME, "audio/")
	case message.BlockDocument:
		return b.MIME == "" || b.MIME == "application/pdf"
	}
	return false
}

func isLink(uri string) bool {
	return strings.HasPrefix(uri, "https://") || strings.HasPrefix(uri, "http://") || strings.HasPrefix(uri, "gs://")
}

// nests reports whether the model takes the block within a result.
func (e *encoder) nests(b message.Block) bool {
	if !e.modern || b.Data == "" || !sendable(b) {
		return false
	}
	switch b.MIME {
	case "", "image/png", "image/jpeg", "image/webp", "application/pdf":
		return true
	}
	return false
}

// show writes media as the member of a part.
func (e *encoder) show(b message.Block) {
	mime := b.MIME
	switch {
	case mime != "":
	case b.Kind == message.BlockDocument:
		mime = "application/pdf"
	default:
		mime = "image/png"
	}
	if b.Data == "" {
		e.raw(`"fileData":{"mimeType":`)
		e.string(mime)
		e.raw(`,"fileUri":`)
		e.string(b.URI)
	} else {
		e.raw(`"inlineData":{"mimeType":`)
		e.string(mime)
		e.raw(`,"data":`)
		e.string(b.Data)
		e.media += len(b.Data)
	}
	e.raw(`}`)
}

// plain returns what stands for the block in a text.
func plain(b message.Block) string {
	switch {
	case b.IsMedia() && b.Data == "" && b.URI != "":
		return b.URI
	case b.IsMedia():
		return "[left out, because it cannot be sent here: " + strings.TrimSpace(string(b.Kind)+" "+b.Name+" "+b.MIME) + "]"
	case b.Kind == message.BlockJSON:
		return string(b.JSON)
	case b.Text == "":
		return b.URI
	}
	return b.Text
}

// answered writes an answer. One that has only thoughts is left out: they are no content.
func (e *encoder) answered(m message.Message) {
	from, before := len(e.buf), e.history
	said := false
	for _, b := range m.Content.All() {
		said = e.block(b) || said
	}
	if !said {
		e.buf, e.history = e.buf[:from], before
	}
}

// block writes a block of an answer; it returns false for a thought and for nothing.
func (e *encoder) block(b message.Block) bool {
	own := e.metaOf(b)
	from := len(e.buf)
	switch {
	case b.Kind == message.BlockReasoning:
		e.thought(b, own)
		return own.Part != nil
	case b.Kind == message.BlockToolCall:
		e.call(b, own)
	case b.IsMedia() && own.Model != "" && b.Data != "":
		e.part(model)
		e.show(b)
		e.end(own.Signature)
	case b.Kind == message.BlockText && own.Signature != "":
		e.part(model)
		e.raw(`"text":`)
		e.string(b.Text)
		e.end(own.Signature)
	default:
		e.text(model, plain(b))
	}
	return len(e.buf) > from
}

// end ends a part with its signature.
func (e *encoder) end(signature string) {
	if signature != "" {
		e.raw(`,"thoughtSignature":`)
		e.string(signature)
	}
	e.raw(`}`)
}

// thought writes reasoning, or a part of an unknown kind, as it came: only to the model that
// made it.
func (e *encoder) thought(b message.Block, own meta) {
	switch {
	case own.Part != nil:
		members, err := wire.Members(message.JSON(own.Part), func(string) bool { return false })
		if err != nil || members == "" {
			return
		}
		e.part(model)
		e.raw(members[1:])
	case own.Model != "" && (b.Text != "" || own.Signature != ""):
		e.part(model)
		e.raw(`"text":`)
		e.string(b.Text)
		e.raw(`,"thought":true`)
	default:
		return
	}
	e.end(own.Signature)
}

// call writes a call of a tool. Gemini 3 wants a signature on the first one of a content.
func (e *encoder) call(b message.Block, own meta) {
	e.part(model)
	if !e.called {
		e.called, e.ids = true, map[string]string{}
		if e.modern && own.Signature == "" {
			own.Signature = unsigned
		}
	}
	e.raw(`"functionCall":{`)
	if e.modern && own.ID != "" {
		e.ids[b.CallID] = own.ID
		e.raw(`"id":`)
		e.string(own.ID)
		e.raw(`,`)
	}
	e.raw(`"name":`)
	e.string(cmp.Or(b.Tool, unnamed))
	e.raw(`,"args":`)
	e.arguments(string(b.JSON))
	e.raw(`}`)
	e.end(own.Signature)
}

// arguments writes those of a call. The API takes only an object, without half characters.
func (e *encoder) arguments(args string) {
	value := jsontext.Value(args)
	switch {
	case strings.TrimSpace(args) == "":
		e.raw(`{}`)
	case value.Kind() == jsontext.KindBeginObject && value.IsValid():
		e.raw(args)
	default:
		e.buf = append(quote.Append(append(e.buf, `{"unparsed_arguments":`...), args), '}')
	}
}

// result writes the result of a tool. Its text stays a text even if it is JSON: the API would
// read numbers in it into doubles.
func (e *encoder) result(m message.Message) {
	e.part(results)
	e.raw(`"functionResponse":{`)
	if id := e.ids[m.CallID]; id != "" {
		e.raw(`"id":`)
		e.string(id)
		e.raw(`,`)
	}
	e.raw(`"name":`)
	e.string(cmp.Or(m.Tool, unnamed))
	e.raw(`,"response":{"`)
	text := e.resultText(m.Result)
	if m.Result.IsError() {
		e.raw(`error":`)
		if text == "" {
			text = "failed: " + string(m.Result.Failure)
		}
	} else {
		e.raw(`output":`)
	}
	e.string(text)
	e.raw(`}`)
	e.nested(m.Result.Content)
	e.raw(`}}`)
}

// nested writes the media that stand within a result.
func (e *encoder) nested(content message.List[message.Block]) {
	first := true
	for _, b := range content.All() {
		if !e.nests(b) {
			continue
		}
		if first {
			e.raw(`,"parts":[{`)
		} else {
			e.raw(`,{`)
		}
		first = false
		e.show(b)
		e.raw(`}`)
	}
	if !first {
		e.raw(`]`)
	}
}

func (e *encoder) resultText(r message.ToolResult) string {
	var texts []string
	for _, b := range r.Content.All() {
		switch {
		case e.nests(b):
		case sendable(b):
			texts = append(texts, "["+string(b.Kind)+" follows]")
		default:
			if text := plain(b); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n")
}

// shown writes the media of a result that cannot stand in it.
func (e *encoder) shown(m message.Message) {
	for _, b := range m.Result.Content.All() {
		if sendable(b) && !e.nests(b) {
			e.text(user, "Part of the result of "+m.Tool+":")
			e.part(user)
			e.show(b)
			e.raw(`}`)
		}
	}
}
