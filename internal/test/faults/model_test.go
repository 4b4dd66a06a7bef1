package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

var errModel = errors.New("the model is overloaded")

// models are the provider of a world. What comes next depends on the model and on
// how often it was asked.
type models struct{ w *world }

// Stream implements provider.Provider.
func (m models) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	w := m.w
	w.mu.Lock()
	w.asked[req.Model.Name]++
	n := w.asked[req.Model.Name]
	w.mu.Unlock()
	d := dice(w.seed, "model", req.Model.Name, fmt.Sprint(n))
	if w.calm.Load() {
		return w.says("calm")
	}
	switch fault := d.IntN(50); fault {
	case 0:
		w.counts.add("provider error")
		return w.breaks(d, errModel, nil)
	case 1:
		w.counts.add("provider EOF")
		return w.breaks(d, nil, nil)
	case 2:
		w.counts.add("provider hang")
		return w.breaks(d, nil, ctx)
	case 3:
		w.counts.add("provider panic")
		return func(yield func(message.Chunk, error) bool) {
			yield(message.Chunk{Kind: message.ChunkText, Text: "half"}, nil)
			panic("boom")
		}
	case 4:
		w.counts.add("provider breaks the rules")
		return chunks(message.Chunk{Kind: message.ChunkCallArgs, Index: 7, Text: "{"}, finish(message.FinishStop))
	case 5:
		w.counts.add("provider says nothing")
		return chunks(finish(message.FinishStop))
	}
	if one(d, 4) || req.Model.Choice.Mode == message.ToolChoiceNone && !one(d, 5) {
		return w.says(fmt.Sprintf("%s answers %d", req.Model.Name, n))
	}
	return w.calls(d, req.Model.Name, n)
}

func (w *world) says(text string) message.ModelStream {
	return chunks(message.Chunk{Kind: message.ChunkReasoning, Text: "hm"}, message.Chunk{Kind: message.ChunkText, Text: text[:1]},
		message.Chunk{Kind: message.ChunkText, Text: text[1:]}, finish(message.FinishStop))
}

// breaks is a stream that is cut in the middle of a text or of a call. With a
// context it hangs first, until that ends.
func (w *world) breaks(d *rand.Rand, err error, ctx context.Context) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		if !yield(message.Chunk{Kind: message.ChunkText, Text: "cut o"}, nil) {
			return
		}
		if one(d, 2) && !(yield(message.Chunk{Kind: message.ChunkCallStart, CallID: "cut", Tool: "ok"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Text: `{"s":`}, nil)) {
			return
		}
		if ctx != nil {
			<-ctx.Done()
			err = ctx.Err()
		}
		if err != nil {
			yield(message.Chunk{}, err)
		}
	}
}

func chunks(cs ...message.Chunk) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func finish(r message.FinishReason) message.Chunk {
	return message.Chunk{Kind: message.ChunkFinish, Finish: r, Usage: message.Usage{Input: 10, Output: 5}}
}

// oddArgs are arguments that nothing may be run with.
var oddArgs = []struct{ name, text string }{
	{"malformed args", `{"s":`}, {"malformed args", `{"s":"x"}}`}, {"malformed args", "\xff"},
	{"ambiguous args", `{"s":"x","s":"y"}`}, {"ambiguous args", `{"s":"x","S":"y"}`}, {"ambiguous args", `{"S":"x"}`},
	{"ambiguous args", `{"s":"x","\u0073":"y"}`}, {"ambiguous args", `{"s":"\ud800"}`}, {"ambiguous args", `null`}, {"ambiguous args", `[1]`},
}

func (w *world) calls(d *rand.Rand, model string, n int) message.ModelStream {
	cut := one(d, 12)
	count := 1 + d.IntN(8)
	var cs []message.Chunk
	if one(d, 3) {
		cs = append(cs, message.Chunk{Kind: message.ChunkText, Text: "let me see"})
	}
	for i := range count {
		call := message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("%s_%d_%d", model, n, i), Tool: w.anyTool(d, model)}
		text := fmt.Sprintf(`{"s":"%d"}`, i)
		switch d.IntN(60) {
		case 0:
			w.counts.add("empty id")
			call.CallID = ""
		case 1, 2:
			w.counts.add("duplicate id")
			call.CallID = model + "_same"
		case 3:
			w.counts.add("unusable id")
			call.CallID = "a b/" + strings.Repeat("é", 60)
		case 4:
			w.counts.add("unknown tool")
			call.Tool = []string{"okay", "", "no such tool!"}[d.IntN(3)]
		case 5:
			w.counts.add("no args")
			text = ""
		case 6:
			odd := oddArgs[d.IntN(len(oddArgs))]
			w.counts.add(odd.name)
			text = odd.text
		}
		cs = append(cs, call)
		half := d.IntN(len(text) + 1)
		cs = append(cs, message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: text[:half]})
		if cut && i == count-1 {
			w.counts.add("truncated args")
			return chunks(append(cs, finish(message.FinishLength))...)
		}
		cs = append(cs, message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: text[half:]}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return chunks(append(cs, finish(message.FinishTools))...)
}

// anyTool is mostly one that works; a child runs no children of its own.
func (w *world) anyTool(d *rand.Rand, model string) string {
	if one(d, 2) {
		return []string{"ok", "reader", "alone"}[d.IntN(3)]
	}
	if one(d, 50) {
		return "big"
	}
	names := []string{"fail", "panic", "goexit", "goexit_limited", "hang_limited", "deaf_limited", "garbled", "hidden", "child", "ok"}
	if one(d, 8) {
		names = []string{"hang", "deaf"}
	}
	return names[d.IntN(len(names))]
}
