package composite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
)

// Reply returns the result of a typed tool: text for a string, a
// [hook.ToolResult] as it is, JSON for anything else. An error is a failed result
// of the kind that its *hook.ToolError says.
func Reply[T any](out T, err error) hook.ToolResult {
	if err != nil {
		return Failed(err)
	}
	switch v := any(out).(type) {
	case string:
		return hook.TextResult(v)
	case hook.ToolResult:
		return v
	case hook.JSON:
		return hook.JSONResult(v)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return hook.FailedResult(hook.FailOperation, "the result cannot be written as JSON: "+err.Error())
	}
	return hook.JSONResult(hook.JSON(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))
}

// Done returns the result of a typed tool that returns only an error: "ok", or
// the failure.
func Done(err error) hook.ToolResult {
	if err != nil {
		return Failed(err)
	}
	return hook.TextResult("ok")
}

// Failed returns the failed result of a typed tool that returned an error, of the
// kind that its *hook.ToolError says. The error must not be nil.
func Failed(err error) hook.ToolResult {
	var tool *hook.ToolError
	switch {
	case errors.As(err, &tool):
		return hook.FailedResult(tool.Kind, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return hook.FailedResult(hook.FailTimeout, err.Error())
	case errors.Is(err, context.Canceled):
		return hook.FailedResult(hook.FailCancelled, err.Error())
	}
	return hook.FailedResult(hook.FailOperation, err.Error())
}
