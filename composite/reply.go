package composite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Reply returns the result of a typed tool: text for a string, a
// [message.ToolResult] as it is, JSON for anything else. An error becomes a failed
// result as with [Failed].
func Reply[T any](out T, err error) message.ToolResult {
	if err != nil {
		return Failed(err)
	}
	switch v := any(out).(type) {
	case string:
		return message.TextResult(v)
	case message.ToolResult:
		return v
	case message.JSON:
		return message.JSONResult(v)
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return message.FailedResult(message.FailOperation, "the result cannot be written as JSON: "+err.Error())
	}
	return message.JSONResult(message.JSON(bytes.TrimSuffix(text.Bytes(), []byte("\n"))))
}

// Done returns the result of a typed tool that returns only an error: "ok", or
// the failure.
func Done(err error) message.ToolResult {
	if err != nil {
		return Failed(err)
	}
	return message.TextResult("ok")
}

// Failed returns the failed result of a typed tool that returned an error. A
// *hook.ToolError sets its kind. The error must not be nil.
func Failed(err error) message.ToolResult {
	var tool *hook.ToolError
	switch {
	case errors.As(err, &tool):
		return message.FailedResult(tool.Kind, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return message.FailedResult(message.FailTimeout, err.Error())
	case errors.Is(err, context.Canceled):
		return message.FailedResult(message.FailCancelled, err.Error())
	}
	return message.FailedResult(message.FailOperation, err.Error())
}
