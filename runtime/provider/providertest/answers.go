package providertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Grouped returns the answer with each call's arguments behind its begin, for wires that
// send one call after the other.
func (a Answer) Grouped() Answer {
	args := map[int][]Piece{}
	for _, p := range a.Pieces {
		if p.Kind == PieceArguments {
			args[p.Call] = append(args[p.Call], p)
		}
	}
	var out []Piece
	for _, p := range a.Pieces {
		switch p.Kind {
		case PieceArguments:
		case PieceCall:
			out = append(append(out, p), args[p.Call]...)
		default:
			out = append(out, p)
		}
	}
	a.Pieces = out
	return a
}

// Arguments returns all arguments of a call, for wires that send them at once.
func (a Answer) Arguments(call int) string {
	var sb strings.Builder
	for _, p := range a.Pieces {
		if p.Kind == PieceArguments && p.Call == call {
			sb.WriteString(p.Text)
		}
	}
	return sb.String()
}

// HasCalls reports whether the model calls tools.
func (a Answer) HasCalls() bool {
	for _, p := range a.Pieces {
		if p.Kind == PieceCall {
			return true
		}
	}
	return false
}

// blocks are those of the reply that the answer makes, without metadata.
func (a Answer) blocks() (out []message.Block) {
	for _, p := range a.Pieces {
		switch p.Kind {
		case PieceText:
			out = append(out, message.TextBlock(p.Text))
		case PieceReasoning:
			out = append(out, message.Block{Kind: message.BlockReasoning, Text: p.Text})
		case PieceCall:
			out = append(out, message.Block{Kind: message.BlockToolCall, CallID: p.ID, Tool: p.Tool, JSON: message.JSON(a.Arguments(p.Call))})
		}
	}
	return joined(out)
}

// joined joins neighbouring texts and neighbouring reasoning, and leaves out metadata and
// empty blocks: wires differ in where their blocks begin.
func joined(blocks []message.Block) (out []message.Block) {
	for _, b := range blocks {
		b.Meta = ""
		last := len(out) - 1
		switch {
		case b.Kind != message.BlockText && b.Kind != message.BlockReasoning:
		case b.Text == "":
			continue
		case last >= 0 && out[last].Kind == b.Kind:
			out[last].Text += b.Text
			continue
		}
		out = append(out, b)
	}
	return out
}

// differ says in what the blocks of a reply differ from those of the answer; "" if they do
// not.
func differ(got message.List[message.Block], want []message.Block) string {
	is := joined(got.Slice())
	if len(is) != len(want) {
		return fmt.Sprintf("%d blocks, not %d: %s", len(is), len(want), briefly(is))
	}
	for i, b := range want {
		switch a := is[i]; {
		case a.Kind != b.Kind || a.Text != b.Text:
			return fmt.Sprintf("block %d is %s %q, not %s %q", i, a.Kind, a.Text, b.Kind, b.Text)
		case a.CallID != b.CallID || a.Tool != b.Tool:
			return fmt.Sprintf("call %q of %q, not %q of %q", a.CallID, a.Tool, b.CallID, b.Tool)
		case !sameJSON(string(a.JSON), string(b.JSON)):
			return fmt.Sprintf("the call of %s has the arguments %s, not %s", b.Tool, a.JSON, b.JSON)
		}
	}
	return ""
}

func briefly(blocks []message.Block) string {
	var parts []string
	for _, b := range blocks {
		parts = append(parts, fmt.Sprintf("%s %.40q", b.Kind, b.Text+b.Tool))
	}
	return strings.Join(parts, ", ")
}

// sameJSON reports whether both are the same value, or the same text that is none. No
// arguments are an empty object.
func sameJSON(a, b string) bool {
	if a == "" {
		a = "{}"
	}
	if b == "" {
		b = "{}"
	}
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}

// The tools that the kit's model calls.
const (
	toolLook = "look"
	toolRead = "read_file"
)

// signature is what the vendor signs its reasoning with.
func signature() string {
	return base64.StdEncoding.EncodeToString([]byte("kit-signature-of-the-reasoning"))
}

// counts are the usage of the kit's answers.
func (w *Wire) counts() message.Usage {
	u := message.Usage{Input: 1200, Output: 48, CacheRead: 640, CacheWrite: 320, Reasoning: 12}
	if w.Lacks.CacheWrite {
		u.CacheWrite = 0
	}
	if w.Lacks.ReasoningTokens {
		u.Reasoning = 0
	}
	return u
}

func text(pieces ...string) (out []Piece) {
	for _, p := range pieces {
		out = append(out, Piece{Kind: PieceText, Text: p})
	}
	return out
}

func call(n int, id, tool string, args ...string) []Piece {
	out := []Piece{{Kind: PieceCall, Call: n, ID: id, Tool: tool}}
	for _, a := range args {
		out = append(out, Piece{Kind: PieceArguments, Call: n, Text: a})
	}
	return out
}

// hello is the shortest answer.
func hello() Answer {
	return Answer{Pieces: text("Hel", "lo."), Finish: message.FinishStop, Usage: message.Usage{Input: 9, Output: 2}}
}

// long is an answer with everything that the wire has: reasoning with a signature, text, and
// two calls whose pieces are mixed.
func (w *Wire) long() Answer {
	var all []Piece
	if !w.Lacks.Reasoning {
		all = append(all, Piece{Kind: PieceReasoning, Text: "Both are needed — "}, Piece{Kind: PieceReasoning, Text: "I think 😀."})
		if !w.Lacks.Signatures {
			all = append(all, Piece{Kind: PieceSignature, Text: signature()})
		}
	}
	all = append(all, text("I look — at ", `"both"`, " 😀, é\nand\\on.")...)
	a := Answer{Pieces: all, Finish: message.FinishStop, Usage: w.counts()}
	if !w.Lacks.Tools {
		a.Pieces, a.Finish = append(a.Pieces, mixed()...), message.FinishTools
	}
	return a
}

// mixed are two calls whose pieces are mixed.
func mixed() []Piece {
	look, read := call(0, "call_Ab1", toolLook, `{"at":`, `"the "`, "}"), call(1, "call_Cd2", toolRead, `{"path"`, `:"a 😀`, `.txt"}`)
	look[2].Text = `"the \"sea\" — é"`
	return []Piece{look[0], look[1], read[0], read[1], look[2], read[2], look[3], read[3]}
}

// answers are what the rules about whole answers try, by a name for findings.
func (w *Wire) answers() map[string]Answer {
	all := map[string]Answer{
		"a short answer":      hello(),
		"a long answer":       w.long(),
		"an answer in pieces": {Pieces: text(strings.Split("— é 😀\t<&>\u2028 \"\\ ", "")...), Finish: message.FinishStop, Usage: w.counts()},
		"an answer of 64 KiB": {Pieces: text(strings.Repeat("0123456789abcdef", 1<<12)), Finish: message.FinishStop, Usage: w.counts()},
		"an empty answer":     {Finish: message.FinishStop, Usage: w.counts()},
	}
	if !w.Lacks.Tools {
		all["a call alone"] = Answer{Pieces: call(0, "call_1", toolLook, `{"at":"x"}`), Finish: message.FinishTools, Usage: w.counts()}
		all["a call without arguments"] = Answer{Pieces: call(0, "call_1", toolLook), Finish: message.FinishTools, Usage: w.counts()}
	}
	return all
}
