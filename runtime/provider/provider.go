// Package provider is the border between the runtime and a vendor's model: one interface
// with one method, and the strict rules by which a stream of chunks becomes a reply.
// Adapters are packages below it, so that an embedder links only those that it uses. The
// program's list of providers is in internal/app.
package provider

import (
	"context"

	"github.com/grapnel-go/grapnel/hook/message"
)

// Provider is an adapter to a vendor's API. It is safe for concurrent use.
type Provider interface {
	// Stream asks the model. It returns at once. Ranging over the stream makes the
	// request; the end of the range or of ctx releases it. An error is the stream's last
	// element. Stream must not change req or anything in it.
	Stream(ctx context.Context, req message.ModelRequest) message.ModelStream
}

// Func is a Provider made of a function.
type Func func(ctx context.Context, req message.ModelRequest) message.ModelStream

// Stream calls f.
func (f Func) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	return f(ctx, req)
}
