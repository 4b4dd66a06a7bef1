package wires

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider/providertest"
)

// Responses is OpenAI's Responses.
func Responses(open Open) providertest.Wire {
	return providertest.Wire{Name: "openai", Model: "gpt-5.6", Open: open, Answer: responses, Failures: responsesFailures}
}

// responsesAnswer writes the events of a response.
type responsesAnswer struct {
	events []string
	output []*responsesItem
	// open is the item of text or reasoning that is being written, nil for none; calls are
	// those of the calls.
	open  *responsesItem
	calls map[int]*responsesItem
	// refuses: the text is a refusal. cut: the answer ended within its last item.
	refuses, cut bool
}

// responsesItem is an item of the output.
type responsesItem struct {
	index     int
	id, kind  string
	call      providertest.Piece
	text      strings.Builder
	signature string
}

func (a *responsesAnswer) event(kind string, v object) {
	v["type"], v["sequence_number"] = kind, len(a.events)
	a.events = append(a.events, named(kind, v))
}

// of returns the members of an event that name an item.
func (a *responsesAnswer) of(i *responsesItem, v object) object {
	v["item_id"], v["output_index"] = i.id, i.index
	return v
}

func (a *responsesAnswer) part(text string) object {
	if a.refuses {
		return object{"type": "refusal", "refusal": text}
	}
	return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// json returns the item as far as it has come.
func (a *responsesAnswer) json(i *responsesItem, done bool) object {
	status := map[bool]string{false: "in_progress", true: "completed"}[done]
	switch i.kind {
	case "reasoning":
		v := object{"id": i.id, "type": i.kind, "summary": []any{}, "encrypted_content": "bm90IHRoZSBvbmUgdG8gc2VuZCBiYWNr"}
		if done && i.text.Len() > 0 {
			v["summary"] = []any{object{"type": "summary_text", "text": i.text.String()}}
		}
		if done {
			v["encrypted_content"] = i.signature
		}
		return v
	case "function_call":
		v := object{"id": i.id, "type": i.kind, "status": status, "name": i.call.Tool, "arguments": i.text.String()}
		if i.call.ID != "" {
			v["call_id"] = i.call.ID
		}
		return v
	}
	v := object{"id": i.id, "type": i.kind, "status": status, "role": "assistant", "content": []any{}}
	if done {
		v["content"] = []any{a.part(i.text.String())}
	}
	return v
}

func (a *responsesAnswer) add(kind, prefix string, call providertest.Piece) *responsesItem {
	i := &responsesItem{index: len(a.output), id: fmt.Sprintf("%s_%d", prefix, len(a.output)), kind: kind, call: call}
	a.output = append(a.output, i)
	a.event("response.output_item.added", object{"output_index": i.index, "item": a.json(i, false)})
	return i
}

// begin makes an item of the kind the open one; hidden: it has no text.
func (a *responsesAnswer) begin(kind, prefix string, hidden bool) {
	if a.open != nil && a.open.kind == kind {
		return
	}
	a.close()
	a.open = a.add(kind, prefix, providertest.Piece{})
	switch kind {
	case "message":
		a.event("response.content_part.added", a.of(a.open, object{"content_index": 0, "part": a.part("")}))
	case "reasoning":
		if hidden {
			return
		}
		a.event("response.reasoning_summary_part.added", a.of(a.open, object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}}))
	}
}

func (a *responsesAnswer) close() {
	if i := a.open; i != nil {
		a.done(i)
	}
	a.open = nil
}

func (a *responsesAnswer) done(i *responsesItem) {
	text := i.text.String()
	switch {
	case i.kind == "function_call":
		a.event("response.function_call_arguments.done", a.of(i, object{"arguments": text, "name": i.call.Tool}))
	case i.kind == "reasoning" && text == "":
	case i.kind == "reasoning":
		a.event("response.reasoning_summary_text.done", a.of(i, object{"summary_index": 0, "text": text}))
		a.event("response.reasoning_summary_part.done", a.of(i, object{"summary_index": 0, "part": object{"type": "summary_text", "text": text}}))
	default:
		if a.refuses {
			a.event("response.refusal.done", a.of(i, object{"content_index": 0, "refusal": text}))
		} else {
			a.event("response.output_text.done", a.of(i, object{"content_index": 0, "text": text, "logprobs": []any{}}))
		}
		a.event("response.content_part.done", a.of(i, object{"content_index": 0, "part": a.part(text)}))
	}
	v := a.json(i, true)
	if a.cut && i.index == len(a.output)-1 {
		v["status"] = "incomplete"
	}
	a.event("response.output_item.done", object{"output_index": i.index, "item": v})
}

func (a *responsesAnswer) piece(p providertest.Piece) {
	switch p.Kind {
	case providertest.PieceText:
		a.begin("message", "msg", false)
		a.open.text.WriteString(p.Text)
		if a.refuses {
			a.event("response.refusal.delta", a.of(a.open, object{"content_index": 0, "delta": p.Text}))
		} else {
			a.event("response.output_text.delta", a.of(a.open, object{"content_index": 0, "delta": p.Text, "logprobs": []any{}}))
		}
	case providertest.PieceReasoning:
		a.begin("reasoning", "rs", false)
		a.open.text.WriteString(p.Text)
		a.event("response.reasoning_summary_text.delta", a.of(a.open, object{"summary_index": 0, "delta": p.Text}))
	case providertest.PieceSignature:
		a.begin("reasoning", "rs", true)
		a.open.signature = p.Text
	case providertest.PieceCall:
		a.close()
		a.calls[p.Call] = a.add("function_call", "fc", p)
	case providertest.PieceArguments:
		i := a.calls[p.Call]
		i.text.WriteString(p.Text)
		a.event("response.function_call_arguments.delta", a.of(i, object{"delta": p.Text}))
	}
}

func (a *responsesAnswer) response(status string) object {
	return object{
		"id": "resp_1", "object": "response", "created_at": 1, "status": status, "error": nil, "incomplete_details": nil, "model": "gpt-5.6",
		"output": []any{}, "parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "usage": nil,
	}
}

func responses(answer providertest.Answer) (s providertest.Stream) {
	why := map[message.FinishReason]string{message.FinishLength: "max_output_tokens", message.FinishFilter: "content_filter"}[answer.Finish]
	if answer.Finish == message.FinishPause {
		return s
	}
	a := responsesAnswer{calls: map[int]*responsesItem{}, cut: answer.Finish == message.FinishLength}
	a.refuses = answer.Finish == message.FinishFilter && len(answer.Pieces) > 0
	a.event("response.created", object{"response": a.response("in_progress")})
	a.event("response.in_progress", object{"response": a.response("in_progress")})
	for _, p := range answer.Pieces {
		a.piece(p)
	}
	a.close()
	for i := range len(a.calls) {
		a.done(a.calls[i])
	}
	status := "completed"
	if why != "" && !a.refuses {
		status = "incomplete"
	}
	r, u := a.response(status), answer.Usage
	var output []any
	for _, i := range a.output {
		output = append(output, a.json(i, true))
	}
	r["output"] = output
	r["usage"] = object{
		"input_tokens": u.Input, "input_tokens_details": object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning}, "total_tokens": u.Total(),
	}
	if status == "incomplete" {
		r["incomplete_details"] = object{"reason": why}
	}
	s.Finish = len(a.events)
	a.event("response."+status, object{"response": r})
	s.Events = a.events
	return s
}

func responsesFailures(text string) []providertest.Failure {
	within := func(class message.FailureClass, code string) providertest.Failure {
		return providertest.Failure{Class: class, Status: http.StatusOK, Body: named("error", object{
			"type": "error", "code": code, "message": text, "param": nil, "sequence_number": 3,
		})}
	}
	failed := func(class message.FailureClass, code string) providertest.Failure {
		r := (&responsesAnswer{}).response("failed")
		r["error"] = object{"code": cmp.Or(code, "server_error"), "message": text}
		return providertest.Failure{Class: class, Status: http.StatusOK, Body: named("response.failed", object{
			"type": "response.failed", "sequence_number": 3, "response": r,
		})}
	}
	return append(openAIFailures(text),
		within(message.FailureServer, "server_error"), within(message.FailureRateLimit, "rate_limit_exceeded"),
		failed(message.FailureServer, "server_error"), failed(message.FailureRateLimit, "rate_limit_exceeded"), failed(message.FailureContent, "invalid_prompt"),
	)
}
