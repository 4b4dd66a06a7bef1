package genkit

import (
	"context"
	"encoding/json"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core"
	"github.com/firebase/genkit/go/genkit"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Caller calls a tool that DefineTool has made. Every call is also a span of
// OpenTelemetry, is validated against schemas on both sides, and comes back as a
// map, which is encoded here as a plugin for a model would do it.
func Caller(ctx context.Context, find work.Finder) work.Caller {
	g := genkit.Init(ctx)
	tool := genkit.DefineTool(g, work.Tool, work.About, func(_ *ai.ToolContext, in work.Input) (work.Answer, error) { return find(in) })
	return work.Caller{Call: func(ctx context.Context, args string) (string, error) {
		out, err := tool.RunRaw(ctx, json.RawMessage(args))
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(out)
		return string(text), err
	}}
}

// Schema makes the schema of an input as DefineTool does, and writes it.
func Schema[T any]() (string, error) {
	var zero T
	text, err := json.Marshal(core.InferSchemaMap(zero))
	return string(text), err
}
