// Package provider is the seam between the runtime and a vendor's model: one
// interface with one method, and the strict rules by which a stream of chunks
// becomes a reply. Adapters live below it, one package each, so that an
// embedder links only what it uses.
package provider

import (
	"context"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Provider is an adapter to a vendor's API. It is safe for concurrent use.
type Provider interface {
	// Stream asks the model. It returns at once; the request is made when the
	// stream is ranged over, and released when that ends or ctx does. An error is
	// the stream's last element. req and everything in it is only read.
	Stream(ctx context.Context, req message.ModelRequest) message.ModelStream
}

// Func is a Provider made of a function.
type Func func(ctx context.Context, req message.ModelRequest) message.ModelStream

// Stream calls f.
func (f Func) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return f(ctx, req)
}
