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

// Run runs the rest. It takes only a context: a wrap cannot change the call.
func (n ToolNext) Run(ctx context.Context) message.ToolResult { return n.chain.WrapToolAt(ctx, n.at) }

// ModelNext is the rest of a model call, as a wrap sees it.
type ModelNext struct {
	chain ModelChain
	at    int
}

// Stream starts the rest. It takes only a context: a wrap cannot change the
// request.
func (n ModelNext) Stream(ctx context.Context) message.ModelStream {
	return n.chain.WrapModelAt(ctx, n.at)
}
