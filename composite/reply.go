package composite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/grapnel-go/grapnel/composite/reply"
	"github.com/grapnel-go/grapnel/hook"
)

// Reply returns the result of a typed tool: text for a string, a
// [hook.ToolResult] as it is, JSON for anything else. An error is a failed result
// of the kind that its *hook.ToolError says. Generated code writes the types that it
// knows with [reply.Encoder] instead, in the same bytes.
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
	w := writers.Get().(*writer)
	err = w.enc.Encode(out)
	text := hook.JSON(bytes.TrimSuffix(w.buf.Bytes(), []byte("\n")))
	w.free()
	if err != nil {
		return reply.Unwritable(err)
	}
	return hook.JSONResult(text)
}

// writer writes results as JSON; it is used again, so that a result costs its text
// and little more.
type writer struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var writers = sync.Pool{New: func() any {
	w := new(writer)
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}}

// keptWriter is the largest buffer that is kept for the next result, in bytes.
const keptWriter = 64 << 10

// free empties the writer and gives it back. One in which a MarshalJSON has panicked
// is lost.
func (w *writer) free() {
	if w.buf.Cap() <= keptWriter {
		w.buf.Reset()
		writers.Put(w)
	}
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
