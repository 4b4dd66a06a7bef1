package mcp_test

import (
	"context"
	"fmt"
	"os"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
)

// A server is declared, started by the first agent that uses it, and called. The
// server here is this test program, started again.
func Example() {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := mcp.Parse([]byte(`{"mcpServers": {
		"local":  {"command": "${SELF}", "env": {"TEST_SERVER_MODE": "tools", "GORACE": "atexit_sleep_ms=0"}, "destructive": false},
		"old": {"type": "sse", "url": "https://example.com/mcp"}
	}}`), func(name string) (string, bool) { return self, name == "SELF" })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Warnings)
	m, err := mcp.New(cfg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A runtime does the following.
	ctx := context.Background()
	defer func() { _ = m.OnClose(ctx) }()
	agent, err := m.OnBuildAgent(ctx, hook.AgentConfig{Name: "mate"}.WithSection("mcp", `{"tools": ["mcp__local__echo"]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.ScopedTools(&agent).Tools)
	call := hook.NewToolCall(hook.ToolCallData{
		ID: "1", Tool: message.Tool{Name: "mcp__local__echo"}, Args: `{"text": "ahoy ", "times": 2}`,
	})
	bound, _ := m.Dispatch(ctx, call)
	fmt.Println(bound.Runner().Run(ctx, &hook.Env{Call: call}).Text())
	// Output:
	// [server "old" cannot be used: the transport sse is not supported; use http, or stdio for a program]
	// [mcp__local__echo]
	// ahoy ahoy
}
