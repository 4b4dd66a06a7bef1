package structured

import (
	"encoding/json"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/fence"
)

// reader reads one streamed reply. It passes it on as it comes until the answer could begin
// that has to be changed: at the first text or call where final_answer is offered, else at a
// fence. From there it holds the rest to the end.
type reader struct {
	// tool: final_answer is offered; wrapped: its parameter is an object around the answer.
	tool, wrapped bool
	yield         func(message.Chunk, error) bool
	// ended is called once the reply is read, before its changed end is passed on.
	ended func()

	// began: text that is not blank has passed.
	began, holding bool
	held           []part
	size           int
	// finals and mixed are for progress.
	finals int
	mixed  bool
}

// part is one held chunk, or several of the same kind.
type part struct {
	message.Chunk
	text []byte
}

// maxHeld limits what a reader holds, in bytes. It is above the runtime's default limits of a
// reply. What is longer passes unchanged, and the runtime's limits end it.
const maxHeld = 32 << 20

// partSize is what a part takes beside its text.
const partSize = 256

func (r *reader) read(stream message.ModelStream) {
	for c, err := range stream {
		switch {
		case err != nil:
			r.yield(c, err)
			return
		case c.Kind == message.ChunkFinish:
			if !r.finish(c) {
				return
			}
		case r.holds(&c):
			r.hold(c)
			if r.size > maxHeld && !r.release() {
				return
			}
		default: // blanks may be held
			if !r.release() || !r.yield(c, nil) {
				return
			}
		}
	}
}

// holds reports whether the chunk is held.
func (r *reader) holds(c *message.Chunk) bool {
	if r.holding || r.size > maxHeld {
		return r.holding
	}
	switch c.Kind {
	case message.ChunkText:
		text := strings.TrimSpace(c.Text)
		r.holding = r.tool || !r.began && strings.HasPrefix(text, "`")
		r.began = r.began || text != ""
		return r.holding || !r.began
	case message.ChunkCallStart:
		r.holding = r.tool
	}
	return r.holding
}

func (r *reader) hold(c message.Chunk) {
	r.size += len(c.Text) + len(c.Meta)
	if n := len(r.held); n > 0 && c.Text != "" && r.held[n-1].Kind == c.Kind && r.held[n-1].Index == c.Index && c.Kind != message.ChunkMeta {
		r.held[n-1].text = append(r.held[n-1].text, c.Text...)
		return
	}
	r.size += partSize
	r.held = append(r.held, part{c, []byte(c.Text)})
}

// release passes on what is held. It is false if the consumer wants no more.
func (r *reader) release() bool { return r.pass(func(*part) bool { return true }) }

// pass passes on those of the held chunks that keep wants.
func (r *reader) pass(keep func(*part) bool) bool {
	held := r.held
	r.held, r.holding = nil, false
	for i := range held {
		p := &held[i]
		if !keep(p) {
			continue
		}
		p.Chunk.Text = string(p.text)
		if !r.yield(p.Chunk, nil) {
			return false
		}
	}
	return true
}

// finish passes on what is held, changed if need be, and the finish.
func (r *reader) finish(c message.Chunk) bool {
	finals, others := r.calls()
	text := ""
	keep := func(*part) bool { return true }
	switch {
	case len(finals) > 0 && others > 0:
		r.mixed = true
		keep = without(finals)
	case len(finals) > 1:
		r.finals = len(finals)
		keep = reasoning()
		c.Finish = stopped(c.Finish)
	case len(finals) == 1:
		text = r.arguments(finals)
		keep = reasoning()
		c.Finish = stopped(c.Finish)
	case others == 0:
		if inner, ok := fence.Inner(r.text()); ok {
			text, keep = inner, reasoning()
		}
	}
	if r.ended(); !r.pass(keep) {
		return false
	}
	if text != "" && !r.yield(message.Chunk{Kind: message.ChunkText, Text: text}, nil) {
		return false
	}
	return r.yield(c, nil)
}

// stopped is the finish of an answer whose call becomes text.
func stopped(f message.FinishReason) message.FinishReason {
	if f == message.FinishTools {
		return message.FinishStop
	}
	return f
}

// calls returns the indices of the held calls of final_answer, and counts the others.
func (r *reader) calls() (finals map[int]bool, others int) {
	finals = map[int]bool{}
	for i := range r.held {
		switch p := &r.held[i]; {
		case p.Kind != message.ChunkCallStart:
		case r.tool && p.Tool == Tool:
			finals[p.Index] = true
		default:
			others++
		}
	}
	return finals, others
}

// text returns the held text.
func (r *reader) text() string {
	var sb strings.Builder
	for i := range r.held {
		if p := &r.held[i]; p.Kind == message.ChunkText {
			sb.Write(p.text)
		}
	}
	return sb.String()
}

// arguments returns the answer in the arguments of the one call of final_answer.
func (r *reader) arguments(final map[int]bool) string {
	var sb strings.Builder
	for i := range r.held {
		if p := &r.held[i]; p.Kind == message.ChunkCallArgs && final[p.Index] {
			sb.Write(p.text)
		}
	}
	if r.wrapped {
		var outer map[string]json.RawMessage
		if json.Unmarshal([]byte(sb.String()), &outer) == nil && len(outer) == 1 && outer[member] != nil {
			return string(outer[member])
		}
	}
	return sb.String()
}

// reasoning keeps reasoning with its metadata.
func reasoning() func(*part) bool {
	return following(func(p *part) bool { return p.Kind == message.ChunkReasoning })
}

// without drops calls with their metadata.
func without(calls map[int]bool) func(*part) bool {
	return following(func(p *part) bool {
		switch p.Kind {
		case message.ChunkCallStart, message.ChunkCallArgs, message.ChunkCallEnd:
			return !calls[p.Index]
		}
		return true
	})
}

// following keeps metadata with the block that it belongs to: the last that began.
func following(keep func(*part) bool) func(*part) bool {
	last := true
	return func(p *part) bool {
		switch p.Kind {
		case message.ChunkMeta:
			return last
		case message.ChunkText, message.ChunkReasoning, message.ChunkCallStart:
			last = keep(p)
			return last
		}
		return keep(p)
	}
}
