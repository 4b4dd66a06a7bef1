package grapnel

import (
	"context"

	"github.com/grapnel-go/grapnel/bench/work"
	"github.com/grapnel-go/grapnel/hook/message"
)

// model is the scripted model.
type model struct {
	turn work.Turn
	all  work.Ledgers
}

var usage = message.Usage{Input: 10, Output: 5}

// Stream implements the runtime's provider.
func (m model) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	l, shown := m.all.In(ctx), seen(req)
	return func(yield func(message.Chunk, error) bool) {
		calls, err := l.Model(shown)
		if err != nil {
			yield(message.Chunk{}, err)
			return
		}
		if calls > 0 {
			ask(l, calls, yield)
			return
		}
		if m.turn.Deltas == 0 && !yield(message.Chunk{Kind: message.ChunkText, Text: l.Answer()}, nil) {
			return
		}
		for range m.turn.Deltas {
			if !yield(message.Chunk{Kind: message.ChunkText, Text: work.Word}, nil) {
				return
			}
		}
		yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: usage}, nil)
	}
}

// ask yields calls of the tool.
func ask(l *work.Ledger, calls int, yield func(message.Chunk, error) bool) {
	for i := range calls {
		ok := yield(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: l.ID(), Tool: work.Tool}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: work.Args}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallEnd, Index: i}, nil)
		if !ok {
			return
		}
	}
	yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools, Usage: usage}, nil)
}

// seen is what the request shows.
func seen(req message.ModelRequest) work.Seen {
	n := req.Messages.Len()
	s := work.Seen{Tools: req.Tools.Tools().Len(), Messages: n}
	for ; s.Results < n; s.Results++ {
		m := req.Messages.At(n - 1 - s.Results)
		if m.Role != message.RoleTool {
			break
		}
		if s.Results == 0 {
			s.Last = m.Result.Text()
		}
	}
	return s
}
