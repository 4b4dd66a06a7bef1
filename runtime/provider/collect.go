package provider

import (
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrNoFinish: the stream ended without a finish. What came is no answer, also
	// if it looks whole: the connection was cut.
	ErrNoFinish = errors.New("provider: the stream ended without a finish")
	// ErrProtocol: the stream broke the rules of hook.ChunkKind. The adapter is
	// wrong, or the server it talks to.
	ErrProtocol = errors.New("provider: the stream breaks the rules")
)

// Collect reads the stream to its end and returns the reply. With an error the
// reply is what Collector.Partial returns.
func Collect(stream hook.ModelStream) (hook.ModelReply, error) {
	var c Collector
	for chunk, err := range stream {
		if err != nil {
			return c.Partial(), err
		}
		if err := c.Add(&chunk); err != nil {
			return c.Partial(), err
		}
	}
	return c.Reply()
}

// Collector makes a reply of the chunks of one stream. The zero Collector is
// ready and must not be copied once it is in use. A chunk that continues text costs no allocation but the growth of a
// buffer.
//
// Blocks stand in the order in which they began. Text and reasoning end where
// the other one or a call begins. Calls are assembled by index, so they may be
// interleaved.
type Collector struct {
	blocks []hook.Block
	calls  []partialCall
	// last is the largest index of a call.
	last int
	// few is where calls are kept as long as they are few.
	few [2]partialCall
	// first is the open text block's only piece so far, buf all of its pieces if
	// there are several: a text of one piece is not copied.
	first  string
	buf    []byte
	open   bool
	usage  hook.Usage
	finish hook.FinishReason
}

// partialCall is a tool call that is being streamed; block is its place.
type partialCall struct {
	index, block int
	first        string
	buf          []byte
	ended        bool
}

// Add takes the next chunk, which it does not keep. An error (ErrProtocol) ends the
// stream.
func (c *Collector) Add(chunk *hook.Chunk) error {
	if c.finish != "" {
		return broken("a chunk after the finish")
	}
	switch chunk.Kind {
	case hook.ChunkText:
		c.text(hook.BlockText, chunk.Text)
	case hook.ChunkReasoning:
		c.text(hook.BlockReasoning, chunk.Text)
	case hook.ChunkCallStart:
		return c.startCall(chunk)
	case hook.ChunkCallArgs:
		return c.addArgs(chunk)
	case hook.ChunkCallEnd:
		return c.endCall(chunk.Index)
	case hook.ChunkMeta:
		return c.meta(chunk.Meta)
	case hook.ChunkFinish:
		return c.end(chunk)
	default:
		return broken("a chunk of unknown kind %d", chunk.Kind)
	}
	return nil
}

// Reply returns the whole reply; ErrNoFinish if the stream did not finish. The
// collector is used up. Model and Duration are the caller's to fill in.
func (c *Collector) Reply() (hook.ModelReply, error) {
	if c.finish == "" {
		return c.Partial(), ErrNoFinish
	}
	return hook.ModelReply{Content: hook.Freeze(c.blocks), Usage: c.usage, Finish: c.finish}, nil
}

// Calls returns the number of tool calls that have begun.
func (c *Collector) Calls() int { return len(c.calls) }

// Call returns tool call i, counted from 0 in the order in which they began. It
// is for the runtime, which mends ids before anybody has seen the reply; after
// Reply it must not be changed.
func (c *Collector) Call(i int) *hook.Block { return &c.blocks[c.calls[i].block] }

// Partial returns the text that has come so far: no calls, because a call of
// which a part is missing must not run, and no reasoning, because a provider
// takes it back only whole. The collector is used up.
func (c *Collector) Partial() hook.ModelReply {
	c.closeText()
	var out []hook.Block
	for _, b := range c.blocks {
		if b.Kind == hook.BlockText && b.Text != "" {
			out = append(out, b)
		}
	}
	return hook.ModelReply{Content: hook.Freeze(out), Usage: c.usage}
}

func (c *Collector) text(kind hook.BlockKind, text string) {
	if text == "" {
		return
	}
	if c.open && c.blocks[len(c.blocks)-1].Kind != kind {
		c.closeText()
	}
	if !c.open {
		c.blocks = append(c.blocks, hook.Block{Kind: kind})
		c.open, c.first = true, text
		return
	}
	join(&c.buf, c.first, text)
}

// join appends a later piece to buf, which is empty as long as first is the only
// piece.
func join(buf *[]byte, first, piece string) {
	if len(*buf) == 0 {
		*buf = append(*buf, first...)
	}
	*buf = append(*buf, piece...)
}

// joined returns all pieces.
func joined(buf []byte, first string) string {
	if len(buf) == 0 {
		return first
	}
	return string(buf)
}

func (c *Collector) closeText() {
	if c.open {
		c.blocks[len(c.blocks)-1].Text = joined(c.buf, c.first)
		c.open, c.first, c.buf = false, "", c.buf[:0]
	}
}

func (c *Collector) startCall(chunk *hook.Chunk) error {
	if c.call(chunk.Index) != nil {
		return broken("call %d begins twice", chunk.Index)
	}
	c.closeText()
	if c.calls == nil {
		c.calls = c.few[:0]
	}
	if len(c.calls) == 0 || chunk.Index > c.last {
		c.last = chunk.Index
	}
	c.calls = append(c.calls, partialCall{index: chunk.Index, block: len(c.blocks)})
	c.blocks = append(c.blocks, hook.Block{Kind: hook.BlockToolCall, CallID: chunk.CallID, Tool: chunk.Tool})
	return nil
}

func (c *Collector) addArgs(chunk *hook.Chunk) error {
	call := c.call(chunk.Index)
	switch {
	case call == nil:
		return broken("arguments for call %d, which has not begun", chunk.Index)
	case call.ended:
		return broken("arguments for call %d, which has ended", chunk.Index)
	case call.first == "":
		call.first = chunk.Text
	case chunk.Text != "":
		join(&call.buf, call.first, chunk.Text)
	}
	return nil
}

func (c *Collector) endCall(index int) error {
	call := c.call(index)
	if call == nil || call.ended {
		return broken("call %d ends without having begun", index)
	}
	c.settle(call)
	return nil
}

func (c *Collector) settle(call *partialCall) {
	call.ended = true
	c.blocks[call.block].JSON = hook.JSON(joined(call.buf, call.first))
	call.first, call.buf = "", nil
}

func (c *Collector) meta(meta hook.JSON) error {
	if len(c.blocks) == 0 {
		return broken("metadata before any block")
	}
	c.blocks[len(c.blocks)-1].Meta = meta
	return nil
}

func (c *Collector) end(chunk *hook.Chunk) error {
	if chunk.Finish == "" {
		return broken("a finish without a reason")
	}
	c.closeText()
	for i := range c.calls {
		call := &c.calls[i]
		if call.ended {
			continue
		}
		if chunk.Finish != hook.FinishLength {
			return broken("call %d has not ended at the finish", call.index)
		}
		c.settle(call) // cut by the token limit: binding it will say so
	}
	c.finish, c.usage = chunk.Finish, chunk.Usage
	return nil
}

// call returns the call with the index; nil if none has begun. Calls that begin in the
// order of their indices, as they nearly always do, are not searched for before.
func (c *Collector) call(index int) *partialCall {
	if len(c.calls) == 0 || index > c.last {
		return nil
	}
	for i := len(c.calls) - 1; i >= 0; i-- {
		if c.calls[i].index == index {
			return &c.calls[i]
		}
	}
	return nil
}

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}
