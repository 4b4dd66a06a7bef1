// Package mcpsdk calls a typed tool with the official Go SDK of the Model Context
// Protocol.
//
// A typed tool of it can be called through a session only, so every call is also a
// request and a response of JSON-RPC over its transport in memory, between the
// goroutines of a client and a server. It validates against schemas on both sides,
// and sends the answer twice, as text and as JSON. Most of the memory goes to buffers
// that its JSON decoder makes anew for what it reads.
package mcpsdk

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Caller calls a tool that AddTool has added to a server.
func Caller(ctx context.Context, find work.Finder) (work.Caller, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: work.Tool, Description: work.About},
		func(_ context.Context, _ *mcp.CallToolRequest, in work.Input) (*mcp.CallToolResult, work.Answer, error) {
			out, err := find(in)
			return nil, out, err
		})
	near, far := mcp.NewInMemoryTransports()
	serving, err := server.Connect(ctx, far, nil)
	if err != nil {
		return work.Caller{}, err
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "v1.0.0"}, nil).Connect(ctx, near, nil)
	if err != nil {
		return work.Caller{}, errors.Join(err, serving.Close())
	}
	call := func(ctx context.Context, args string) (string, error) {
		result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: work.Tool, Arguments: json.RawMessage(args)})
		if err != nil {
			return "", err
		}
		if len(result.Content) != 1 {
			return "", errors.New("mcpsdk: a result without content")
		}
		text, ok := result.Content[0].(*mcp.TextContent)
		if !ok || result.IsError {
			return "", errors.New("mcpsdk: the call has failed")
		}
		return text.Text, nil
	}
	return work.Caller{Call: call, Close: func() error { return errors.Join(client.Close(), serving.Wait()) }}, nil
}

// Schema makes the schema of an input as AddTool does, and writes it.
func Schema[T any]() (string, error) {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(schema)
	return string(text), err
}
