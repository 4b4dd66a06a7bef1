package grapnel

import (
	"context"

	"github.com/grapnel-go/grapnel/bench/work"
	"github.com/grapnel-go/grapnel/hook"
)

// model is the scripted model.
type model struct {
	turn work.Turn
	all  work.Ledgers
}

var usage = hook.Usage{Input: 10, Output: 5}

// Stream implements the runtime's provider.
func (m model) Stream(ctx context.Context, req hook.ModelRequest) hook.ModelStream {
	l, shown := m.all.In(ctx), seen(req)
	return func(yield func(hook.Chunk, error) bool) {
		calls, err := l.Model(shown)
		if err != nil {
			yield(hook.Chunk{}, err)
			return
		}
		if calls > 0 {
			ask(l, calls, yield)
			return
		}
		if m.turn.Deltas == 0 && !yield(hook.Chunk{Kind: hook.ChunkText, Text: l.Answer()}, nil) {
			return
		}
		for range m.turn.Deltas {
			if !yield(hook.Chunk{Kind: hook.ChunkText, Text: work.Word}, nil) {
				return
			}
		}
		yield(hook.Chunk{Kind: hook.ChunkFinish, Finish: hook.FinishStop, Usage: usage}, nil)
	}
}

// ask yields calls of the tool.
func ask(l *work.Ledger, calls int, yield func(hook.Chunk, error) bool) {
	for i := range calls {
		ok := yield(hook.Chunk{Kind: hook.ChunkCallStart, Index: i, CallID: l.ID(), Tool: work.Tool}, nil) &&
			yield(hook.Chunk{Kind: hook.ChunkCallArgs, Index: i, Text: work.Args}, nil) &&
			yield(hook.Chunk{Kind: hook.ChunkCallEnd, Index: i}, nil)
		if !ok {
			return
		}
	}
	yield(hook.Chunk{Kind: hook.ChunkFinish, Finish: hook.FinishTools, Usage: usage}, nil)
}

// seen is what the request shows.
func seen(req hook.ModelRequest) work.Seen {
	n := req.Messages.Len()
	s := work.Seen{Tools: req.Tools.Tools().Len(), Messages: n}
	for ; s.Results < n; s.Results++ {
		m := req.Messages.At(n - 1 - s.Results)
		if m.Role != hook.RoleTool {
			break
		}
		if s.Results == 0 {
			s.Last = m.Result.Text()
		}
	}
	return s
}
