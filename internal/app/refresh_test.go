package app_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/trust"
	"github.com/grapnel-go/grapnel/runtime"
)

// schoolEnv makes the test binary an MCP server.
const schoolEnv = "GRAPNEL_TEST_SCHOOL"

// school is an MCP server whose tool learn adds the tool dance to the list, of
// which the SDK tells the client.
func school() {
	says := func(text string) sdk.ToolHandlerFor[struct{}, any] {
		return func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
		}
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "school", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "learn"}, func(ctx context.Context, r *sdk.CallToolRequest, in struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "dance"}, says("danced"))
		return says("learnt")(ctx, r, in)
	})
	_ = s.Run(context.Background(), &sdk.StdioTransport{}) // ends with its input
}

// connections counts the news of servers.
type connections struct {
	hook.Nop
	news chan hook.Event
}

func (c connections) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == event.ServerConnected {
		c.news <- ev
	}
}

func (c connections) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.news:
	case <-time.After(time.Minute):
		require.Fail(t, "no server was connected or listed its tools again")
	}
}

const schoolModel = `
rules:
  - {when: {turn: 1, step: 1}, calls: [{tool: mcp__school__learn, args: {}}]}
  - {when: {turn: 2, step: 1}, calls: [{tool: mcp__school__dance, args: {}}]}
  - {when: always, say: Done.}
`

// TestAServersNewToolsReachTheAgents: a server announces a tool in one turn, and
// the next one has it.
func TestAServersNewToolsReachTheAgents(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	list, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"school": map[string]any{
		"command": self, "env": map[string]string{schoolEnv: "1", "GORACE": "atexit_sleep_ms=0"}}}})
	require.NoError(t, err)
	heard := connections{news: make(chan hook.Event, 16)}
	opened, err := app.Open(t.Context(), app.Options{
		Paths:   project(t, map[string]string{".mcp.json": string(list), "m.yaml": schoolModel}),
		Inquire: term.NewApprover(&term.ApproverOptions{Yes: true}).Inquire,
		Extra:   []hook.Hook{heard},
		Trust:   func(context.Context, trust.Request) (trust.Answer, error) { return trust.Once, nil },
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	agent, err := opened.Register(t.Context(), app.DefaultAgent, hook.AgentConfig{Model: message.Model{Name: "script:m.yaml"}})
	require.NoError(t, err)
	heard.wait(t)
	dances := func() bool {
		return slices.ContainsFunc(agent.Tools().Tools().Slice(), func(t message.Tool) bool { return t.Name == "mcp__school__dance" })
	}
	require.False(t, dances())

	conv, err := opened.Conversation(t.Context(), app.DefaultAgent, "ann")
	require.NoError(t, err)
	results := func() (out []message.ToolResult) {
		_, err := send(t.Context(), opened, conv, "go on", &runtime.TurnOptions{Observe: func(ev hook.Event) {
			if ev.Kind == event.CallResult {
				out = append(out, ev.Detail().Result)
			}
		}})
		require.NoError(t, err)
		return out
	}
	first := results()
	require.Len(t, first, 1)
	assert.Equal(t, "learnt", first[0].Text())
	heard.wait(t)
	assert.True(t, dances())
	second := results()
	require.Len(t, second, 1)
	assert.Equal(t, "danced", second[0].Text())
}
