package eino

import (
	"context"

	"github.com/cloudwego/eino/components/tool/utils"

	"github.com/grapnel-go/grapnel/bench/work"
)

// Caller calls a tool that InferTool has made of a function. Eino decodes with
// sonic, a newer one here than it asks for, because that does not compile with Go
// 1.26.
func Caller(find work.Finder) (work.Caller, error) {
	tool, err := utils.InferTool(work.Tool, work.About, func(_ context.Context, in work.Input) (work.Answer, error) { return find(in) })
	return work.Caller{Call: func(ctx context.Context, args string) (string, error) { return tool.InvokableRun(ctx, args) }}, err
}

// Schema makes the schema of an input as InferTool does, and writes it.
func Schema[T any]() (string, error) {
	params, err := utils.GoStruct2ParamsOneOf[T]()
	if err != nil {
		return "", err
	}
	schema, err := params.ToJSONSchema()
	if err != nil {
		return "", err
	}
	text, err := schema.MarshalJSON()
	return string(text), err
}
