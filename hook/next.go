package hook

import (
	"context"

	"github.com/grapnel-go/grapnel/hook/message"
)

// ToolNext is the rest of a tool's execution, as a wrap sees it.
type ToolNext interface {
	// Run runs the rest. It takes only a context: a wrap cannot change the call.
	Run(ctx context.Context) message.ToolResult
}

// ModelNext is the rest of a model call, as a wrap sees it.
type ModelNext interface {
	// Stream starts the rest. It takes only a context: a wrap cannot change the
	// request.
	Stream(ctx context.Context) message.ModelStream
}
