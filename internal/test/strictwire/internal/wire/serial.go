package wire

import "github.com/grapnel-go/grapnel/hook/message"

// Serial puts the chunks of calls that are streamed at the same time one behind the other:
// for wires that stream one block at a time.
type Serial struct {
	// Next takes the chunks in their new order.
	Next func(*message.Chunk)

	open    bool
	index   int
	waiting []message.Chunk
}

// Chunk takes the next chunk.
func (s *Serial) Chunk(c *message.Chunk) {
	if c.Kind == message.ChunkFinish {
		s.open = false
		s.flush()
		s.Next(c)
		return
	}
	if s.open && !(isCall(c) && c.Index == s.index) {
		s.waiting = append(s.waiting, *c)
		return
	}
	s.Next(c)
	switch c.Kind {
	case message.ChunkCallStart:
		s.open, s.index = true, c.Index
	case message.ChunkCallEnd:
		s.open = false
		s.flush()
	}
}

func (s *Serial) flush() {
	waiting := s.waiting
	s.waiting = nil
	for i := range waiting {
		s.Chunk(&waiting[i])
	}
}

func isCall(c *message.Chunk) bool {
	return c.Kind == message.ChunkCallStart || c.Kind == message.ChunkCallArgs || c.Kind == message.ChunkCallEnd
}

// Serialized is an Answer for a wire that streams one block at a time.
type Serialized struct {
	Serial
	// OnFail writes the error of an answer that has begun.
	OnFail func(Failure)
}

// Fail writes the error of an answer that has begun.
func (s *Serialized) Fail(f Failure) { s.OnFail(f) }
