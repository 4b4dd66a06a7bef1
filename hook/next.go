package hook

import (
	"context"

	"github.com/grapnel-go/grapnel/hook/message"
)

// ToolNext is the rest of a tool's execution, as a wrap sees it.
type ToolNext struct {
	chain ToolChain
	at    int
}

// ToolChain is a chain of wraps around one execution. Composites and the runtime
// implement it: one value for the whole chain, however many wraps there are.
type ToolChain interface {
	// WrapToolAt runs the chain from position at on.
	WrapToolAt(ctx context.Context, at int) message.ToolResult
}

// NewToolNext returns the rest of the chain from position at on.
func NewToolNext(chain ToolChain, at int) ToolNext { return ToolNext{chain, at} }

// Run runs the rest. It takes only a context: a wrap cannot change the call.
func (n ToolNext) Run(ctx context.Context) message.ToolResult { return n.chain.WrapToolAt(ctx, n.at) }

// ModelNext is the rest of a model call, as a wrap sees it.
type ModelNext struct {
	chain ModelChain
	at    int
}

// ModelChain is a chain of wraps around one model call.
type ModelChain interface {
	// WrapModelAt starts the chain from position at on.
	WrapModelAt(ctx context.Context, at int) message.ModelStream
}

// NewModelNext returns the rest of the chain from position at on.
func NewModelNext(chain ModelChain, at int) ModelNext { return ModelNext{chain, at} }

// Stream starts the rest. It takes only a context: a wrap cannot change the
// request.
func (n ModelNext) Stream(ctx context.Context) message.ModelStream {
	return n.chain.WrapModelAt(ctx, n.at)
}
