package providertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest/internal/body"
)

// sends returns the only request that the adapter makes of req, or the error instead.
func (p *probe) sends(req message.ModelRequest) (request, error) {
	o, s := p.exchange(p.wire.streams(p.stream(hello()).Events...), req)
	asked := s.asked()
	switch {
	case len(asked) > 0:
		return asked[0], nil
	case o.err != nil:
		return request{}, o.err
	}
	return request{}, fmt.Errorf("no request is made: %s", o.failure())
}

// refused reports whether an error says that a request cannot be made.
func refused(err error) bool {
	class, _ := provider.Classify(err)
	return class == message.FailureRequest
}

func checkRequest(p *probe) {
	w := p.wire
	got, err := p.sends(w.asks(w.history()...))
	if err != nil {
		p.failf("an ordinary request is not made: %v", err)
		return
	}
	all := body.Texts(got.body)
	want := []string{saidSystem, saidUser, saidModel, saidLast}
	if !w.Lacks.Tools {
		want = append(want, saidArgs, saidResult, saidFailure, saidTool, saidSchema, toolLook, toolRead, "now")
	}
	for _, word := range want {
		if !strings.Contains(all, word) {
			p.failf("the request lacks %q", word)
		}
	}
	if !strings.Contains(got.url+all, w.Model) {
		p.failf("the request does not name the model")
	}
	if w.Lacks.Tools {
		req := w.greets()
		req.Tools = tools()
		switch _, err := p.sends(req); {
		case err == nil:
			p.failf("a request with tools, which the wire lacks, is made without a failure")
		case !refused(err):
			p.failf("a request with tools, which the wire lacks, fails with another class than request: %v", err)
		}
	}
}

func checkUnchanged(p *probe) {
	w := p.wire
	req := w.asks(w.history()...)
	look := func() string {
		var out []string
		for _, v := range []any{req.Messages, req.Tools.Tools(), req.Model} {
			text, err := json.Marshal(v)
			out = append(out, string(text), fmt.Sprint(err))
		}
		return strings.Join(out, "\n")
	}
	before := look()
	p.exchange(w.streams(p.stream(w.long()).Events...), req)
	if after := look(); after != before {
		p.failf("the request is changed: %s", body.Apart(before, after))
	}
}

func checkSame(p *probe) {
	w := p.wire
	first, err := p.sends(w.asks(w.history()...))
	for range 6 {
		again, _ := p.sends(w.asks(w.history()...))
		if err == nil && again.body != first.body {
			p.failf("the same request has other bytes: %s", body.Apart(first.body, again.body))
			return
		}
	}
}

// prefixTurns is how many requests of one conversation are compared.
const prefixTurns = 20

func checkPrefix(p *probe) {
	w := p.wire
	m, s := p.open(func(request) reply { return w.streams(p.stream(w.long()).Events...) })
	history := []message.Message{message.UserText(saidUser)}
	for turn := range prefixTurns {
		o := p.ask(p.ctx, m, w.asks(history...))
		if !o.whole() {
			return // the rule "answer-whole" reports it
		}
		history = append(history, says(o.reply.Content.Slice()...))
		for _, call := range o.reply.Calls() {
			history = append(history, answersCall(call.CallID, call.Tool, message.TextResult(fmt.Sprintf("%s %d", saidResult, turn))))
		}
		if w.Lacks.Tools {
			history = append(history, message.UserText(fmt.Sprintf("%s %d", saidLast, turn)))
		}
	}
	asked := s.asked()
	before := ""
	for i, r := range asked {
		this, err := body.Plain(r.body, w.Marks)
		if err != nil {
			this = r.body // it is no JSON
		}
		if i > 0 {
			if wrong := body.Grows(before, this); wrong != "" {
				p.failf("request %d of %d of a conversation: %s", i+1, len(asked), wrong)
			}
		}
		before = this
	}
}

// setting is a setting of a model, and a word that a request with it has; "" is none that
// is known.
type setting struct {
	name  string
	model message.Model
	word  string
}

func settings() []setting {
	return []setting{
		{"max_tokens", message.Model{MaxTokens: 4321}, "4321"},
		{"temperature", message.Model{Temperature: message.Some(0.625)}, "0.625"},
		{"temperature 0", message.Model{Temperature: message.Some(0.0)}, ""},
		{"top_p", message.Model{TopP: message.Some(0.375)}, "0.375"},
		{"seed", message.Model{Seed: message.Some(int64(424242))}, "424242"},
		{"stop", message.Model{Stop: message.ListOf("KIT-STOP")}, "KIT-STOP"},
		{"reasoning high", message.Model{Reasoning: message.Reasoning{Effort: message.EffortHigh}}, ""},
		{"reasoning low", message.Model{Reasoning: message.Reasoning{Effort: message.EffortLow}}, ""},
		{"reasoning 2048", message.Model{Reasoning: message.Reasoning{Budget: 2048}}, ""},
		{"service_tier", message.Model{Tier: "priority"}, ""},
		{"extra", message.Model{Extra: `{"kit_member":"kit-value"}`}, "kit-value"},
		{"tool_choice none", message.Model{Choice: message.ToolChoice{Mode: message.ToolChoiceNone}}, ""},
		{"tool_choice required", message.Model{Choice: message.ToolChoice{Mode: message.ToolChoiceRequired}}, ""},
		{"tool_choice tool", message.Model{Choice: message.ToolChoice{Mode: message.ToolChoiceTool, Tool: toolRead}}, toolRead},
		{"format JSON", message.Model{Format: message.ResponseFormat{JSON: true}}, ""},
		{"format schema", message.Model{Format: message.ResponseFormat{
			JSON: true, Name: "kit", Schema: `{"type":"object","properties":{"kit_answer":{"type":"string"}},"required":["kit_answer"],"additionalProperties":false}`,
		}}, "kit_answer"},
	}
}

func checkSettings(p *probe) {
	w := p.wire
	without, err := p.sends(w.greets())
	if err != nil {
		return // the rule "request-whole" reports it
	}
	for _, s := range settings() {
		if w.Lacks.Tools && s.model.Choice.Mode != "" {
			continue
		}
		req := w.greets()
		req.Model = s.model
		req.Model.Name = w.Model
		got, err := p.sends(req)
		switch {
		case err != nil && !refused(err):
			p.failf("the setting %s fails with another class than request: %v", s.name, err)
		case err != nil && len(err.Error()) < 20:
			p.failf("the setting %s is refused without a word of why: %v", s.name, err)
		case err != nil: // refused before the request
		case got.body == without.body && got.url == without.url && headers(got.header) == headers(without.header):
			p.failf("the setting %s changes nothing in the request, and does not fail", s.name)
		case s.word != "" && strings.Count(seen(got), s.word) <= strings.Count(seen(without), s.word):
			p.failf("the setting %s: the request lacks %s", s.name, s.word)
		}
	}
}

// seen is all that a server reads in a request.
func seen(r request) string { return body.Texts(r.body) + r.url + headers(r.header) }

// media are blocks with data that the kit looks for. They are small and real enough for
// adapters that look inside.
func media() map[string]message.Block {
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	wav := base64.StdEncoding.EncodeToString([]byte("RIFF\x24\x00\x00\x00WAVEfmt kit"))
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4\nkit\n%%EOF\n"))
	return map[string]message.Block{
		"an image":    {Kind: message.BlockImage, MIME: "image/png", Data: png},
		"audio":       {Kind: message.BlockAudio, MIME: "audio/wav", Data: wav},
		"a PDF":       {Kind: message.BlockDocument, MIME: "application/pdf", Data: pdf, Name: "plan.pdf"},
		"a text file": {Kind: message.BlockResource, MIME: "text/plain", URI: "file:///notes.txt", Text: "kit-text-of-a-file"},
		"JSON":        {Kind: message.BlockJSON, JSON: `{"kit":"kit-json"}`},
	}
}

func checkMedia(p *probe) {
	w := p.wire
	for what, b := range media() {
		word := b.Data + b.Text
		if b.Kind == message.BlockJSON {
			word = "kit-json"
		}
		requests := map[string]message.ModelRequest{
			"of a user": w.asks(message.Message{Role: message.RoleUser, Content: message.ListOf(message.TextBlock("See:"), b)}),
		}
		if !w.Lacks.Tools {
			requests["in a result"] = w.asks(message.UserText(saidUser), says(calls("call_1", toolLook, `{"at":"x"}`)),
				answersCall("call_1", toolLook, message.ToolResult{Content: message.ListOf(message.TextBlock(saidResult), b)}))
		}
		for where, req := range requests {
			got, err := p.sends(req)
			switch {
			case err != nil && !refused(err):
				p.failf("%s %s fails with another class than request: %v", what, where, err)
			case err == nil && !strings.Contains(body.Texts(got.body), word):
				p.failf("%s %s is left out of the request, which does not fail", what, where)
			}
		}
	}
}

// replied returns the reply to an answer and the conversation that goes on from it.
func (p *probe) replied(a Answer) (message.ModelReply, []message.Message, bool) {
	w := p.wire
	o, _ := p.exchange(w.streams(p.stream(a).Events...), w.greets())
	if !o.whole() {
		return o.reply, nil, false
	}
	out := []message.Message{message.UserText("Hello."), says(o.reply.Content.Slice()...)}
	for _, call := range o.reply.Calls() {
		out = append(out, answersCall(call.CallID, call.Tool, message.TextResult(saidResult)))
	}
	if w.Lacks.Tools {
		out = append(out, message.UserText(saidLast))
	}
	return o.reply, out, true
}

// checkReplay looks at reasoning that is shown and at reasoning of which only the signature
// is.
func checkReplay(p *probe) {
	w := p.wire
	if w.Lacks.Reasoning || w.Lacks.Signatures || w.Lacks.Tools {
		return
	}
	hidden := Answer{Finish: message.FinishTools, Usage: w.counts()}
	hidden.Pieces = append([]Piece{{Kind: PieceSignature, Text: signature()}}, call(0, "call_1", toolLook, `{"at":"x"}`)...)
	for what, a := range map[string]Answer{"reasoning": w.long(), "reasoning without a text": hidden} {
		_, history, ok := p.replied(a)
		if !ok {
			p.failf("signed %s is no reply", what)
			continue
		}
		got, err := p.sends(w.asks(history...))
		if err != nil {
			p.failf("the request behind signed %s is not made: %v", what, err)
			continue
		}
		if n := strings.Count(body.Texts(got.body), signature()); n != 1 {
			p.failf("the signature of %s is %d times in the next request, not once", what, n)
			continue
		}
		if strings.Index(got.body, signature()) > strings.Index(got.body, saidResult) {
			p.failf("the signature of %s stands behind the result of the call that followed it", what)
		}
	}
}

func checkOwnMeta(p *probe) {
	reply, _, ok := p.replied(p.wire.long())
	if !ok {
		return // the rule "answer-whole" reports it
	}
	for _, b := range reply.Content.All() {
		if b.Meta == "" {
			continue
		}
		var wires map[string]json.RawMessage
		if err := json.Unmarshal([]byte(b.Meta), &wires); err != nil || len(wires) != 1 || wires[p.wire.Name] == nil || p.wire.Name == "" {
			p.failf("the metadata of a block of kind %s is %s, and not an object with the one member %q", b.Kind, b.Meta, p.wire.Name)
		}
	}
}

func checkForeignMeta(p *probe) {
	w := p.wire
	const reasoning, secret = "kit-foreign-reasoning", "a2l0LWZvcmVpZ24tc2lnbmF0dXJl"
	meta := provider.Meta("kit-other-vendor", map[string]string{
		"signature": secret, "encrypted_content": secret, "thoughtSignature": secret, "data": secret, "id": "kit-foreign-item",
	})
	signed := func(b message.Block) message.Block { b.Meta = meta; return b }
	blocks := []message.Block{
		signed(message.Block{Kind: message.BlockReasoning, Text: reasoning}),
		signed(message.Block{Kind: message.BlockReasoning}),
		signed(message.TextBlock(saidModel)),
	}
	history := []message.Message{message.UserText(saidUser)}
	want := []string{saidModel}
	if w.Lacks.Tools {
		history = append(history, says(blocks...), message.UserText(saidLast))
	} else {
		history = append(history, says(append(blocks, signed(calls("call_1", toolLook, `{"at":"`+saidArgs+`"}`)))...),
			answersCall("call_1", toolLook, message.TextResult(saidResult)))
		want = append(want, saidArgs, saidResult)
	}
	got, err := p.sends(w.asks(history...))
	if err != nil {
		p.failf("the request behind another vendor's reasoning is not made: %v", err)
		return
	}
	all := body.Texts(got.body)
	for _, word := range []string{reasoning, secret, "kit-foreign-item", "kit-other-vendor"} {
		if strings.Contains(all, word) {
			p.failf("%s of another vendor is sent", word)
		}
	}
	for _, word := range want {
		if !strings.Contains(all, word) {
			p.failf("%s, to which another vendor has added metadata, is left out", word)
		}
	}
}

func checkForeignIDs(p *probe) {
	w := p.wire
	if w.Lacks.Tools {
		return
	}
	ids := []string{
		"toolu_01A09q90qw90lq917835lq9", "fc_68af.1:2|call_x", "ü—😀 with blanks", "chatcmpl-tool-" + strings.Repeat("f", 90) + "1",
		"chatcmpl-tool-" + strings.Repeat("f", 90) + "2", "0",
	}
	history := []message.Message{message.UserText(saidUser)}
	var blocks []message.Block
	for _, id := range ids {
		blocks = append(blocks, calls(id, toolLook, `{"at":"x"}`))
	}
	history = append(history, says(blocks...))
	for i, id := range ids {
		history = append(history, answersCall(id, toolLook, message.TextResult(fmt.Sprintf("%s-%d.", saidResult, i))))
	}
	got, err := p.sends(w.asks(history...))
	if err != nil {
		p.failf("a request with ids of other vendors is not made: %v", err)
		return
	}
	at := make([]int, len(ids))
	for i := range ids {
		at[i] = strings.Index(got.body, fmt.Sprintf("%s-%d.", saidResult, i))
	}
	if !slices.IsSorted(at) || at[0] < 0 {
		p.failf("the results of calls with ids of other vendors are not all there, in order")
	}
	again, _ := p.sends(w.asks(history...))
	if again.body != got.body {
		p.failf("the ids of other vendors become others with every request: %s", body.Apart(got.body, again.body))
	}
}
