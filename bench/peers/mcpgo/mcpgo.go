// Package mcpgo calls a typed tool with mark3labs' implementation of the Model
// Context Protocol.
//
// Its typed handler can be called without a client, and is: the calls do not pass
// the protocol. It does not validate, and makes of an answer both text and a value.
package mcpgo

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Caller calls the handler of a structured tool.
func Caller(find work.Finder) work.Caller {
	handle := mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in work.Input) (work.Answer, error) { return find(in) })
	return work.Caller{Call: func(ctx context.Context, args string) (string, error) {
		result, err := handle(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: work.Tool, Arguments: json.RawMessage(args)}})
		if err != nil {
			return "", err
		}
		if len(result.Content) != 1 {
			return "", errors.New("mcpgo: a result without content")
		}
		text, ok := result.Content[0].(mcp.TextContent)
		if !ok || result.IsError {
			return "", errors.New("mcpgo: the call has failed")
		}
		return text.Text, nil
	}}
}

// Schema makes the schema of an input as a tool's option does, which also writes it.
func Schema[T any]() (string, error) {
	return string(mcp.NewTool(work.Tool, mcp.WithInputSchema[T]()).RawInputSchema), nil
}
