package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// answers is a model that answers at once.
type answers struct{}

func (answers) Stream(context.Context, message.ModelRequest) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkText, Text: "answer"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop}, nil)
	}
}

// calls is a model that calls a tool and answers when it has the result.
type calls struct{ n atomic.Int64 }

func (m *calls) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	if req.Messages.At(req.Messages.Len()-1).Role == message.RoleTool {
		return answers{}.Stream(ctx, req)
	}
	id := fmt.Sprint(m.n.Add(1))
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Kind: message.ChunkCallStart, CallID: id, Tool: "look"}, nil) &&
			yield(message.Chunk{Kind: message.ChunkCallArgs, Text: `{}`}, nil) && yield(message.Chunk{Kind: message.ChunkCallEnd}, nil) &&
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools}, nil)
	}
}

// looks has the tool.
type looks struct{ hook.Nop }

func (looks) Schema() []message.Tool {
	return []message.Tool{{Name: "look", Input: `{"type":"object"}`}}
}

func (looks) Dispatch(context.Context, *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound("{}", looks{}), true
}

func (looks) Run(context.Context, *hook.Env) message.ToolResult { return message.TextResult("seen") }

// exchanges records what is sent to the server.
type exchanges struct {
	mu  sync.Mutex
	sql []string
}

// exchanged leaves out notifications, which are of a tick and not of a turn.
func (e *exchanges) exchanged(sql string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !strings.Contains(sql, "pg_notify") {
		e.sql = append(e.sql, sql)
	}
}

func (e *exchanges) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.sql
	e.sql = nil
	return out
}

// A round trip is what a turn waits for when the database is another machine. The bounds are what
// the runtime calls the store for; a write is one exchange with its commit.
func TestATurnTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		hook  hook.Hook
		model provider.Provider
		most  int
	}{
		{"a plain turn", hook.Nop{}, answers{}, 5},
		{"a turn with one call", looks{}, &calls{}, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sent exchanges
			s := open(t, migrated.Database(t), &postgres.Options{Database: pgdb.Options{Connections: 1, Trace: sent.exchanged}})
			rt := runtime.New(tt.hook, tt.model, &runtime.Options{Store: s})
			require.NoError(t, rt.Open(t.Context()))
			defer func() { assert.NoError(t, rt.Close(context.Background())) }()
			agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"})
			require.NoError(t, err)
			conv, err := agent.Conversation(t.Context(), "me")
			require.NoError(t, err)
			for range 3 { // the first describes the statements
				sent.take()
				out, err := conv.Send(t.Context(), message.TextInput("hello"), nil)
				require.NoError(t, err)
				require.Equal(t, "answer", out.Text())
			}
			got := sent.take()
			assert.LessOrEqual(t, len(got), tt.most, "%s", strings.Join(got, "\n"))
			t.Logf("%d round trips", len(got))
		})
	}
}
