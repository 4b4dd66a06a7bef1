package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/schema"
)

func BenchmarkBind(b *testing.B) {
	s, err := schema.Compile(`{"type":"object","required":["path"],"additionalProperties":false,
		"properties":{"path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}}}`)
	require.NoError(b, err)
	t := &tool{Tool: message.Tool{Name: "mcp__srv__read"}, schema: s}
	call := hook.NewToolCall(hook.ToolCallData{Tool: t.Tool, Args: `{"path":"notes/log.txt","limit":100}`})
	b.ReportAllocs()
	for b.Loop() {
		if t.bind(call).Err() != nil {
			b.Fatal("not bound")
		}
	}
}
