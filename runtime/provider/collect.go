package provider

import (
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Sentinels that callers test with errors.Is.
var (
	// ErrNoFinish: the stream ended without a finish, because the connection was cut. Its
	// text is no answer, even if it looks complete.
	ErrNoFinish = errors.New("provider: the stream ended without a finish")
	// ErrProtocol: the stream broke the rules of message.ChunkKind. The adapter or its
	// server has a bug.
	ErrProtocol = errors.New("provider: the stream breaks the rules")
)

// Collect reads the stream to its end and returns the reply, with the default Limits. With
// an error it returns the reply of Collector.Partial.
func Collect(stream message.ModelStream) (message.ModelReply, error) {
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

// Collector makes a reply of the chunks of one stream. The zero Collector is ready
// and must not be copied once it is in use. A chunk that continues text costs no
// allocation but the growth of a buffer. Until Reply it holds at most twice what its
// Limits allow.
//
// Blocks are in the order of their begin. Text and reasoning end where another block begins,
// and at their metadata. Calls are assembled by index, so they may be interleaved.
type Collector struct {
	// Limits limit the reply. Set them before the first Add.
	Limits Limits

	blocks []message.Block
	calls  []partialCall
	// textBytes and argBytes are the sizes that Limits.Text and Limits.Arguments limit.
	textBytes, argBytes int
	// last is the largest index of a call.
	last int
	// few is the first memory of calls.
	few [2]partialCall
	// pieces has the text of the last block. open: that block is text or reasoning.
	pieces pieces
	open   bool
	usage  message.Usage
	finish message.FinishReason
}

// partialCall is a tool call that is being streamed; block is the index of its block.
type partialCall struct {
	index, block int
	pieces       pieces
	ended        bool
}

// Add adds the next chunk; it does not keep the pointer. An error (ErrProtocol, or
// *TooLargeError beyond the Limits) ends the stream.
func (c *Collector) Add(chunk *message.Chunk) error {
	if c.finish != "" {
		return broken("a chunk after the finish")
	}
	switch chunk.Kind {
	case message.ChunkText:
		return c.text(message.BlockText, chunk.Text)
	case message.ChunkReasoning:
		return c.text(message.BlockReasoning, chunk.Text)
	case message.ChunkCallStart:
		return c.startCall(chunk)
	case message.ChunkCallArgs:
		return c.addArgs(chunk)
	case message.ChunkCallEnd:
		return c.endCall(chunk.Index)
	case message.ChunkMeta:
		return c.meta(chunk.Meta)
	case message.ChunkBlock:
		return c.block(chunk.Block)
	case message.ChunkFinish:
		return c.end(chunk)
	}
	return broken("a chunk of unknown kind %d", chunk.Kind)
}

// Reply returns the whole reply; ErrNoFinish if the stream did not finish. Do not use the
// collector after that. The caller sets Model and Duration.
func (c *Collector) Reply() (message.ModelReply, error) {
	if c.finish == "" {
		return c.Partial(), ErrNoFinish
	}
	return message.ModelReply{Content: message.Freeze(c.blocks), Usage: c.usage, Finish: c.finish}, nil
}

// Calls returns the number of tool calls that have begun.
func (c *Collector) Calls() int { return len(c.calls) }

// Call returns tool call i, counted from 0 in the order of their begin. The runtime uses it
// to repair ids early. Do not change the call after Reply.
func (c *Collector) Call(i int) *message.Block { return &c.blocks[c.calls[i].block] }

// Partial returns the text so far. It leaves out calls, because an incomplete call must not
// run, and reasoning, because a provider accepts only complete reasoning. Do not use the
// collector after that.
func (c *Collector) Partial() message.ModelReply {
	c.closeText()
	var out []message.Block
	for _, b := range c.blocks {
		if b.Kind == message.BlockText && b.Text != "" {
			out = append(out, b)
		}
	}
	return message.ModelReply{Content: message.Freeze(out), Usage: c.usage}
}

func (c *Collector) text(kind message.BlockKind, text string) error {
	if text == "" {
		return nil
	}
	if err := c.countText(len(text)); err != nil {
		return err
	}
	if c.open && c.blocks[len(c.blocks)-1].Kind != kind {
		c.closeText()
	}
	if !c.open {
		if err := c.begin(message.Block{Kind: kind}); err != nil {
			return err
		}
		c.open = true
	}
	c.pieces.add(text)
	return nil
}

func (c *Collector) closeText() {
	if c.open {
		c.blocks[len(c.blocks)-1].Text = c.pieces.take()
		c.open = false
	}
}

func (c *Collector) begin(b message.Block) error {
	if limit := c.Limits.blocks(); len(c.blocks) == limit {
		return &TooLargeError{Part: PartBlocks, Limit: limit}
	}
	c.blocks = append(c.blocks, b)
	return nil
}

func (c *Collector) countText(n int) error {
	limit := c.Limits.text()
	if c.textBytes += n; c.textBytes > limit {
		return &TooLargeError{Part: PartText, Limit: limit}
	}
	return nil
}

func (c *Collector) countArguments(n int) error {
	limit := c.Limits.arguments()
	if c.argBytes += n; c.argBytes > limit {
		return &TooLargeError{Part: PartArguments, Limit: limit}
	}
	return nil
}

func (c *Collector) startCall(chunk *message.Chunk) error {
	if c.call(chunk.Index) != nil {
		return broken("call %d begins twice", chunk.Index)
	}
	if len(chunk.CallID) > maxName || len(chunk.Tool) > maxName {
		return broken("the id or the name of call %d is longer than %d bytes", chunk.Index, maxName)
	}
	c.closeText()
	block := len(c.blocks)
	if err := c.begin(message.Block{Kind: message.BlockToolCall, CallID: chunk.CallID, Tool: chunk.Tool}); err != nil {
		return err
	}
	if c.calls == nil {
		c.calls = c.few[:0]
	}
	if len(c.calls) == 0 || chunk.Index > c.last {
		c.last = chunk.Index
	}
	c.calls = append(c.calls, partialCall{index: chunk.Index, block: block})
	return nil
}

func (c *Collector) addArgs(chunk *message.Chunk) error {
	call := c.call(chunk.Index)
	switch {
	case call == nil:
		return broken("arguments for call %d, which has not begun", chunk.Index)
	case call.ended:
		return broken("arguments for call %d, which has ended", chunk.Index)
	}
	if err := c.countArguments(len(chunk.Text)); err != nil {
		return err
	}
	call.pieces.add(chunk.Text)
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
	c.blocks[call.block].JSON = message.JSON(call.pieces.take())
	call.pieces = pieces{}
}

func (c *Collector) meta(meta message.JSON) error {
	if len(c.blocks) == 0 {
		return broken("metadata before any block")
	}
	if err := c.countText(len(meta)); err != nil {
		return err
	}
	c.closeText()
	c.blocks[len(c.blocks)-1].Meta = meta
	return nil
}

// block adds a whole block. A tool call comes in chunks of its own, because it may be cut.
func (c *Collector) block(b *message.Block) error {
	if b == nil || b.Kind == "" || b.Kind == message.BlockToolCall {
		return broken("a block without a kind, or a tool call as a whole block")
	}
	if err := c.countText(len(b.Text) + len(b.Data) + len(b.URI) + len(b.JSON) + len(b.Meta)); err != nil {
		return err
	}
	c.closeText()
	return c.begin(*b)
}

func (c *Collector) end(chunk *message.Chunk) error {
	if chunk.Finish == "" {
		return broken("a finish without a reason")
	}
	c.closeText()
	for i := range c.calls {
		call := &c.calls[i]
		if call.ended {
			continue
		}
		if chunk.Finish != message.FinishLength && chunk.Finish != message.FinishFilter {
			return broken("call %d has not ended at the finish", call.index)
		}
		c.settle(call) // cut by the token limit: the error comes when it is bound; or withheld: it is not run
	}
	c.finish, c.usage = chunk.Finish, chunk.Usage
	return nil
}

// call returns the call with the index; nil if none has begun. It does not search for an
// index above all others: calls nearly always begin in the order of their indices.
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
