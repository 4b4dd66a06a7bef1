package gemini

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// history checks the contents of a request.
type history struct {
	*wire.Check
	// signs: the model signs its calls and wants the signatures back.
	signs bool
}

// call is a call of the content in front of its results.
type call struct{ id, name string }

const (
	partMembers = "text thought thoughtSignature inlineData fileData functionCall functionResponse executableCode codeExecutionResult " +
		"videoMetadata mediaResolution partMetadata toolCall toolResponse audioTranscription mediaProcessing speechMetadata"
	datas = "text inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall toolResponse"
)

func (h history) check(contents wire.Node) {
	if contents.Kind != wire.Array || len(contents.List) == 0 {
		h.Refuse("contents", "", "* GenerateContentRequest.contents: contents is not specified\n")
		return
	}
	turn := 0 // the content with which the current turn begins
	for i, c := range contents.List {
		if c.Get("role").Is("user") && len(partsWith(c, "functionResponse")) == 0 {
			turn = i
		}
	}
	var open []call
	for i, c := range contents.List {
		h.content(i, c)
		calls, results := partsWith(c, "functionCall"), partsWith(c, "functionResponse")
		h.results(i, open, results)
		if open = nil; len(calls) == 0 {
			continue
		}
		if i == 0 || !contents.List[i-1].Get("role").Is("user") {
			h.Refuse("call-place", "", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		for _, p := range calls {
			f := p.Get("functionCall")
			open = append(open, call{f.Get("id").Text, f.Get("name").Text})
		}
		if h.signs && i > turn && calls[0].Get("thoughtSignature").Blank() {
			h.Refuse("signature-missing", "", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "+
				"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. "+
				"Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", open[0].name, i+1)
		}
	}
	h.results(len(contents.List), open, nil)
}

func partsWith(content wire.Node, member string) (out []wire.Node) {
	for _, p := range content.Get("parts").List {
		if p.Get(member).Kind != wire.None {
			out = append(out, p)
		}
	}
	return out
}

func (h history) content(i int, c wire.Node) {
	at := fmt.Sprintf("contents[%d]", i)
	unknown(h.Check, "unknown", at, c, "role parts")
	role := c.Get("role").Text
	if role != "user" && role != "model" {
		h.Refuse("role", "", "Please use a valid role: user, model.")
	}
	if len(c.Get("parts").List) == 0 {
		h.Refuse("parts", "", "* GenerateContentRequest.%s.parts: contents.parts must not be empty.\n", at)
	}
	for j, p := range c.Get("parts").List {
		h.part(role, fmt.Sprintf("%s.parts[%d]", at, j), p)
	}
}

func (h history) part(role, at string, p wire.Node) {
	unknown(h.Check, "unknown", at, p, partMembers)
	n := 0
	for i := range p.List {
		if wire.Among(datas, p.List[i].Key) {
			n++
		}
	}
	text, signature := p.Get("text"), p.Get("thoughtSignature")
	empty := n == 0 || text.Kind == wire.Text && text.Text == ""
	switch {
	case n > 1:
		h.Refuse("part-one", "", "Invalid value at '%s' (oneof), oneof field 'data' is already set.", at)
	case empty && signature.Kind == wire.None:
		h.Refuse("part-data", "", "* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field\n", at)
	}
	if blob := p.Get("inlineData"); blob.Kind != wire.None && (blob.Get("mimeType").Text == "" || blob.Get("data").Text == "" || !isBase64(blob.Get("data").Text)) {
		h.Refuse("inline-data", "", "Invalid value at '%s.inline_data.data' (TYPE_BYTES), Base64 decoding failed", at)
	}
	h.call(role, at, p.Get("functionCall"))
	if p.Get("functionResponse").Kind != wire.None && role == "model" {
		h.Refuse("call-role", "", "* GenerateContentRequest.%s: function_response is not of the model.\n", at)
	}
	h.signed(at, p, signature)
}

func (h history) call(role, at string, f wire.Node) {
	if f.Kind == wire.None {
		return
	}
	unknown(h.Check, "unknown", at+".function_call", f, "id name args")
	if role == "user" {
		h.Refuse("call-role", "", "* GenerateContentRequest.%s: function_call is not of the user.\n", at)
	}
	if f.Get("name").Text == "" {
		h.Refuse("call-name", "", "* GenerateContentRequest.%s.function_call.name: Name cannot be empty.\n", at)
	}
	if args := f.Get("args"); args.Kind != wire.None && args.Kind != wire.Object {
		h.Refuse("call-args", "", "Invalid value at '%s.function_call.args' (type.googleapis.com/google.protobuf.Struct), %s", at, args.Raw)
	}
}

// signed checks the signature of a part. The vendor takes two values in place of one, for
// histories that were made elsewhere.
func (h history) signed(at string, p, signature wire.Node) {
	switch s := signature.Text; {
	case signature.Kind == wire.None, s == "skip_thought_signature_validator", s == "context_engineering_is_the_way_to_go":
	case !isBase64(s):
		h.Refuse("signature-bytes", "", "Invalid value at '%s.thought_signature' (TYPE_BYTES), Base64 decoding failed for %q", at, s)
	case isBypass(s):
	case !h.Signer.Signed(h.Model, "part", canonical(p), s):
		h.Refuse("signature", "", "Corrupted thought signature.")
	}
}

// isBypass reports whether base64 holds one of the two values: the SDK sends bytes so.
func isBypass(s string) bool {
	return s == "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=" || s == "Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv"
}

// canonical returns the part of a part that a signature covers: a call with its arguments in
// any order, or a text.
func canonical(p wire.Node) string {
	if f := p.Get("functionCall"); f.Kind != wire.None {
		return callText(f.Get("name").Text, f.Get("args").Raw)
	}
	return "text " + p.Get("text").Text
}

func callText(name, args string) string {
	var v any = map[string]any{}
	if args != "" && json.Unmarshal([]byte(args), &v) != nil {
		return "call " + name + " " + args
	}
	return "call " + name + " " + wire.JSON(v)
}

// results checks the results in content i against the calls of the one in front of it.
func (h history) results(i int, open []call, results []wire.Node) {
	switch {
	case len(open) == 0 && len(results) > 0:
		h.Refuse("response-place", "", "Please ensure that function response turn comes immediately after a function call turn.")
	case len(open) != len(results):
		h.Refuse("response-count", "", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
	}
	for j, p := range results {
		f := p.Get("functionResponse")
		at := fmt.Sprintf("contents[%d].parts[%d].function_response", i, j)
		unknown(h.Check, "unknown", at, f, "id name response parts willContinue scheduling")
		name, id := f.Get("name").Text, f.Get("id").Text
		if name == "" {
			h.Refuse("response-name", "", "* GenerateContentRequest.%s.name: Name cannot be empty.\n", at)
		} else if len(open) > 0 && !slices.ContainsFunc(open, func(c call) bool { return c.name == name }) {
			h.Refuse("response-name", "", "* GenerateContentRequest.%s.name: there is no call of %s.\n", at, name)
		}
		if id != "" && len(open) > 0 && !slices.ContainsFunc(open, func(c call) bool { return c.id == id }) {
			h.Refuse("response-id", "", "* GenerateContentRequest.%s.id: there is no call %s.\n", at, id)
		}
		if r := f.Get("response"); r.Kind != wire.Object {
			h.Refuse("response-object", "", "Invalid value at '%s.response' (type.googleapis.com/google.protobuf.Struct), %s", at, r.Raw)
		}
	}
}
