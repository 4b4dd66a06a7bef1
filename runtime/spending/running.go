package spending

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/estimate"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// running is a request that is being made. It is for one goroutine at a time.
type running struct {
	ledger   *Ledger
	turn     *Turn
	request  *message.ModelRequest
	key      store.SpentKey
	id       int64
	reserved hook.Cost

	// answered: the model has begun to answer. output counts the bytes of the answer.
	answered bool
	output   int
	// usage is what the model reported with the finish of its answer.
	usage    message.Usage
	finished bool
	err      error
}

// note notes the next element of the stream.
func (r *running) note(chunk *message.Chunk, err error) {
	if err != nil {
		r.err = err
		return
	}
	r.answered = true
	r.output += len(chunk.Text)
	if b := chunk.Block; b != nil {
		r.output += len(b.Text)
		if b.Data != "" || b.URI != "" {
			r.output += imageTokens * bytesPerToken
		}
	}
	if chunk.Kind == message.ChunkFinish {
		r.usage, r.finished = chunk.Usage, true
	}
}

// end writes what the request has cost, also if ctx has ended. With an error the store does not
// have it; it counts in the turn all the same.
func (r *running) end(ctx context.Context) error {
	spent := r.spent(ctx)
	r.turn.settle(r.reserved, spent.Cost)
	if r.ledger.store == nil || spent.Calls == 0 && r.id == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := r.ledger.store.Settle(ctx, r.id, spent); err != nil {
		return fmt.Errorf("spending: %v of the model %s is not written down: %w", spent.Cost, r.key.Model, err)
	}
	return nil
}

// spent returns what the request has used up: nothing if the model was not asked.
func (r *running) spent(ctx context.Context) store.Spent {
	s := store.Spent{SpentKey: r.key, Calls: 1, Usage: r.usage}
	switch {
	case r.finished && r.usage != (message.Usage{}): // else the provider has not counted
	case r.answered:
		s.Estimated = 1
		s.Usage = message.Usage{Input: tokensOf(r.request), Output: estimate.Tokens(r.output)}
	case mayHaveAsked(ctx, r.err):
		s.Estimated = 1
		s.Usage = message.Usage{Input: tokensOf(r.request)}
	default:
		return store.Spent{SpentKey: r.key}
	}
	s.Usage = bounded(s.Usage)
	cost, known := r.ledger.price(r.request.Model.Name, s.Usage)
	s.Cost = min(max(cost, 0), store.MaxCallCost)
	if !known && s.Usage != (message.Usage{}) {
		s.Unpriced = 1
	}
	return s
}

// mayHaveAsked reports whether a request without an answer may have reached the model: it was
// cancelled, or took too long. A request that the provider refuses costs nothing.
func mayHaveAsked(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return true
	}
	class, _ := provider.Classify(err)
	return class == message.FailureTimeout
}

// bounded returns the usage without figures that cannot be.
func bounded(u message.Usage) message.Usage {
	for _, n := range []*int64{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning} {
		*n = min(max(*n, 0), store.MaxCallTokens)
	}
	return u
}

// imageTokens is the estimate for an image or another file, whose bytes are no text.
const imageTokens = 1600

// bytesPerToken is what package estimate counts with.
const bytesPerToken = 4

// tokensOf estimates the tokens of a request in constant time.
func tokensOf(req *message.ModelRequest) int64 {
	return estimate.Tokens(int64(len(req.System)+len(req.Model.Format.Schema)) + req.Messages.Bytes() + req.Tools.Bytes())
}

// maxName is how long a name in a row may be.
const maxName = 200

// short returns the name, or the beginning of a longer one with a digest of all of it.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:maxName-17], "") + "#" + hex.EncodeToString(sum[:8])
}
