// Package responses is the strict server of OpenAI's Responses.
package responses

import (
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/oai"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// New returns the vendor.
func New() *wire.Vendor {
	return wire.New(wire.Vendor{
		Name: "openai", Rules: rules(), Route: oai.Route("/responses"), Fault: oai.Fault, Check: check, Request: request,
		Body: oai.Body, Failed: oai.Failed, Cached: cached,
		Answer: func(out *wire.Out, ask *wire.Ask) wire.Answer {
			a := &answer{out: out, ask: ask}
			return &wire.Serialized{Serial: wire.Serial{Next: a.chunk}, OnFail: a.fail}
		},
	})
}

func cached(root wire.Node) (tools, system wire.Node, messages []wire.Node) {
	return root.Get("tools"), root.Get("instructions"), root.Get("input").List
}

// answer writes an answer as the vendor's events.
type answer struct {
	out *wire.Out
	ask *wire.Ask
	// number is that of the next event; 0: nothing is written.
	number int
	// output has the items that are done; open is the newest one until then, of the type kind,
	// and text its text.
	output []any
	open   wire.M
	kind   string
	text   strings.Builder
	size   int
	// thought is the id of the newest reasoning item, and calls the number of calls.
	thought string
	calls   int
	// follow is the reasoning item that waits for the one that follows it.
	follow string
	how    wire.Directive
}

func (a *answer) event(kind string, data wire.M) {
	data["type"], data["sequence_number"] = kind, a.number
	a.number++
	a.out.Event(kind, data)
}

func (a *answer) response(status string) wire.M {
	root := a.ask.Root
	return wire.M{
		"id": "resp_" + a.ask.ID, "object": "response", "created_at": a.ask.Now, "status": status, "error": nil, "incomplete_details": nil,
		"instructions": nil, "metadata": wire.M{}, "model": a.ask.Model, "output": a.output, "parallel_tool_calls": true, "temperature": 1.0,
		"tool_choice": "auto", "tools": []any{}, "top_p": 1.0, "store": root.Get("store").Text != "false", "usage": nil,
	}
}

func (a *answer) begin() {
	if a.number > 0 {
		return
	}
	a.output = []any{}
	a.event("response.created", wire.M{"response": a.response("in_progress")})
	a.event("response.in_progress", wire.M{"response": a.response("in_progress")})
}

// add opens an item; shown is what its first event shows of it.
func (a *answer) add(kind string, item wire.M) {
	a.close(false)
	a.begin()
	item["type"] = kind
	a.open, a.kind = item, kind
	if a.follow != "" && kind != "reasoning" {
		a.noteFollower(follower0(item))
	}
	if a.thought != "" && kind != "reasoning" {
		a.ask.Memory.Note("before "+item["id"].(string), a.thought)
	}
	a.event("response.output_item.added", wire.M{"output_index": len(a.output), "item": item})
}

func (a *answer) noteFollower(follower string) {
	a.ask.Memory.Note("follow "+a.follow, follower)
	a.follow = ""
}

// follower0 is follower of an item that is being written.
func follower0(item wire.M) string {
	if item["type"] == "function_call" {
		return "function_call " + item["call_id"].(string)
	}
	return "message assistant"
}

// in returns data that names the open item.
func (a *answer) in(data wire.M) wire.M {
	data["item_id"], data["output_index"] = a.open["id"], len(a.output)
	return data
}

func (a *answer) chunk(c *message.Chunk) {
	a.size += len(c.Text)
	switch c.Kind {
	case message.ChunkText:
		if a.kind != "message" {
			a.add("message", wire.M{"id": fmt.Sprintf("msg_%s%d", a.ask.ID, len(a.output)), "status": "in_progress", "role": "assistant", "content": []any{}})
			a.event("response.content_part.added", a.in(wire.M{"content_index": 0, "part": textPart("")}))
		}
		a.text.WriteString(c.Text)
		a.event("response.output_text.delta", a.in(wire.M{"content_index": 0, "delta": c.Text, "logprobs": []any{}}))
	case message.ChunkReasoning:
		a.reasoning(c.Text)
	case message.ChunkCallStart:
		id := fmt.Sprintf("%s%d", a.ask.ID, a.calls)
		a.calls++
		a.add("function_call", wire.M{"id": "fc_" + id, "call_id": "call_" + id, "name": c.Tool, "arguments": "", "status": "in_progress"})
	case message.ChunkCallArgs:
		a.text.WriteString(c.Text)
		a.event("response.function_call_arguments.delta", a.in(wire.M{"delta": c.Text}))
	case message.ChunkCallEnd:
		a.close(false)
	case message.ChunkMeta:
		if d, ok := wire.DirectiveOf(c.Meta); ok {
			a.how = d
		} else {
			a.close(false)
		}
	case message.ChunkFinish:
		a.finish(c)
	}
}

func textPart(text string) wire.M {
	return wire.M{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// summarised reports whether the request asks for summaries of the reasoning.
func (a *answer) summarised() bool {
	return a.ask.Root.Get("reasoning").Get("summary").Kind > wire.Null
}

func (a *answer) reasoning(text string) {
	if a.kind != "reasoning" {
		id := fmt.Sprintf("rs_%s%d", a.ask.ID, len(a.output))
		item := wire.M{"id": id, "summary": []any{}}
		if a.encrypted() {
			item["encrypted_content"] = a.ask.Signer.Seal(a.ask.Model, "added "+id, "")
		}
		a.add("reasoning", item)
		if a.summarised() {
			a.event("response.reasoning_summary_part.added", a.in(wire.M{"summary_index": 0, "part": wire.M{"type": "summary_text", "text": ""}}))
		}
	}
	a.text.WriteString(text)
	if a.summarised() {
		a.event("response.reasoning_summary_text.delta", a.in(wire.M{"summary_index": 0, "delta": text}))
	}
}

func (a *answer) encrypted() bool {
	for _, n := range a.ask.Root.Get("include").List {
		if n.Is("reasoning.encrypted_content") {
			return true
		}
	}
	return false
}

// close ends the open item; last: nothing follows it.
func (a *answer) close(last bool) {
	if a.kind == "" {
		return
	}
	text := a.text.String()
	switch a.kind {
	case "message":
		a.event("response.output_text.done", a.in(wire.M{"content_index": 0, "text": text, "logprobs": []any{}}))
		a.event("response.content_part.done", a.in(wire.M{"content_index": 0, "part": textPart(text)}))
		a.open["content"], a.open["status"], a.open["phase"] = []any{textPart(text)}, "completed", "commentary"
		if last {
			a.open["phase"] = "final_answer"
		}
	case "function_call":
		a.event("response.function_call_arguments.done", a.in(wire.M{"arguments": text, "name": a.open["name"]}))
		a.open["arguments"], a.open["status"] = text, "completed"
	case "reasoning":
		a.closeReasoning(text)
	}
	a.event("response.output_item.done", wire.M{"output_index": len(a.output), "item": a.open})
	a.output = append(a.output, a.open)
	a.open, a.kind = nil, ""
	a.text.Reset()
}

func (a *answer) closeReasoning(text string) {
	if a.summarised() {
		part := wire.M{"type": "summary_text", "text": text}
		a.event("response.reasoning_summary_text.done", a.in(wire.M{"summary_index": 0, "text": text}))
		a.event("response.reasoning_summary_part.done", a.in(wire.M{"summary_index": 0, "part": part}))
		a.open["summary"] = []any{part}
	}
	id := a.open["id"].(string)
	if a.encrypted() {
		sealed := a.ask.Signer.Seal(a.ask.Model, "done "+id, text)
		a.open["encrypted_content"] = sealed
		a.ask.Memory.Note("id "+wire.Digest(sealed), id)
		if a.follow != "" {
			a.noteFollower("reasoning " + wire.Digest(sealed))
		}
	}
	a.ask.Memory.Note("follow "+id, "")
	a.follow, a.thought = id, id
}

func (a *answer) refuse(text string) {
	a.add("message", wire.M{"id": fmt.Sprintf("msg_%s%d", a.ask.ID, len(a.output)), "status": "in_progress", "role": "assistant", "content": []any{}})
	part := wire.M{"type": "refusal", "refusal": text}
	a.event("response.content_part.added", a.in(wire.M{"content_index": 0, "part": wire.M{"type": "refusal", "refusal": ""}}))
	a.event("response.refusal.delta", a.in(wire.M{"content_index": 0, "delta": text}))
	a.event("response.refusal.done", a.in(wire.M{"content_index": 0, "refusal": text}))
	a.event("response.content_part.done", a.in(wire.M{"content_index": 0, "part": part}))
	a.open["content"], a.open["status"] = []any{part}, "completed"
	a.event("response.output_item.done", wire.M{"output_index": len(a.output), "item": a.open})
	a.output = append(a.output, a.open)
	a.open, a.kind = nil, ""
}

func (a *answer) finish(c *message.Chunk) {
	cut := a.kind == "function_call"
	a.close(true)
	a.begin()
	if cut {
		a.output[len(a.output)-1].(wire.M)["status"] = "incomplete"
	}
	if a.how.Refusal != "" {
		a.refuse(a.how.Refusal)
	}
	status, why := "completed", ""
	switch {
	case c.Finish == message.FinishLength:
		status, why = "incomplete", "max_output_tokens"
	case c.Finish == message.FinishFilter && a.how.Refusal == "":
		status, why = "incomplete", "content_filter"
	}
	r := a.response(status)
	if why != "" {
		r["incomplete_details"] = wire.M{"reason": why}
	}
	u := wire.UsageOf(a.ask, c, a.size)
	r["usage"] = wire.M{
		"input_tokens": u.Input, "input_tokens_details": wire.M{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"output_tokens": u.Output, "output_tokens_details": wire.M{"reasoning_tokens": u.Reasoning}, "total_tokens": u.Total(),
	}
	a.event("response."+status, wire.M{"response": r})
}

// fail: the server tells failures of its own as the end of the response, others as an event
// of their own.
func (a *answer) fail(f wire.Failure) {
	_, _, code := oai.Classified(f.Class)
	if f.Class == message.FailureServer {
		r := a.response("failed")
		r["error"] = wire.M{"code": code, "message": f.Message}
		a.event("response.failed", wire.M{"response": r})
		return
	}
	a.event("error", wire.M{"code": wire.OrNull(code), "message": f.Message, "param": nil})
}
