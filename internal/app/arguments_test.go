package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
	"github.com/grapnel-go/grapnel/subsystems/compact"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
	"github.com/grapnel-go/grapnel/subsystems/fallback"
	"github.com/grapnel-go/grapnel/subsystems/guard"
	"github.com/grapnel-go/grapnel/subsystems/mcp"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
	"github.com/grapnel-go/grapnel/subsystems/secure"
	"github.com/grapnel-go/grapnel/subsystems/skills"
	"github.com/grapnel-go/grapnel/subsystems/structured"
)

// watcher sees the arguments of calls at every point that does, and approves.
type watcher struct {
	hook.Nop
	seen map[string]message.JSON
}

func (w *watcher) RewriteArgs(_ context.Context, _ *hook.ToolCall, args message.JSON) (message.JSON, error) {
	w.seen["RewriteArgs"] = args
	return args, nil
}
func (w *watcher) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	w.seen["BeforeTool"] = call.Args()
	return hook.ToolDecision{}, nil
}
func (w *watcher) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	w.seen["WrapTool"] = call.Args()
	return next.Run(ctx)
}
func (w *watcher) AfterTool(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (hook.OutcomeDecision, error) {
	w.seen["AfterTool"] = call.Args()
	return hook.OutcomeDecision{}, nil
}

// approve approves the call that waits. The turn does nothing meanwhile.
func (w *watcher) approve(t *testing.T, rt *runtime.Runtime, conversation string) {
	assert.NoError(t, rt.AwaitPending(t.Context(), conversation))
	for _, r := range rt.Pending() {
		w.seen["Approve"] = r.Approval.Args
		assert.NoError(t, rt.Answer(conversation, r.ID, "ann", hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove}}))
	}
}

// play lets the model send one call of bash with these arguments to the whole
// daemon and returns what the watcher saw, the result, and the stored arguments.
func play(t *testing.T, raw string) (seen map[string]message.JSON, result message.ToolResult, stored message.JSON) {
	t.Helper()
	osTools, err := ostools.New(t.TempDir(), nil)
	require.NoError(t, err)
	servers, err := mcp.New(mcp.Config{}, nil)
	require.NoError(t, err)
	w := &watcher{seen: map[string]message.JSON{}}
	d := &app.Hooks{
		Secure: secure.New(nil), Policy: byAnnotations(t), Guard: guard.New(nil), Cost: free(t), Approval: approval.New(nil), Skills: skills.New(nil), AskUser: askuser.New(nil), Delegate: delegate.New(nil), Compact: compact.New(nil), Fallback: fallback.New(nil), Structured: structured.New(nil),
		MCP: servers, OS: osTools, Extra: []hook.Hook{w},
	}
	model := script.New(script.Rule{Calls: []script.Call{{Tool: "bash", Raw: raw}}}, script.Rule{Say: "done"})
	st := mem.New(nil)
	rt := runtime.New(d, model, &runtime.Options{Store: st})
	ctx := t.Context()
	require.NoError(t, rt.Open(ctx))
	defer func() { assert.NoError(t, rt.Close(context.Background())) }()
	_, err = rt.Register(ctx, hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	conv, err := dialog.Conversation(ctx, rt, "a", "s")
	require.NoError(t, err)
	var approving sync.WaitGroup
	out, err := dialog.Send(ctx, conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		switch ev.Kind {
		case event.CallStart, event.ApprovalAsked:
			w.seen[string(ev.Kind)] = ev.Detail().Args
		}
		if ev.Kind == event.ApprovalAsked {
			approving.Go(func() { w.approve(t, rt, conv.ID()) })
		}
	}})
	approving.Wait()
	require.NoError(t, err)
	if out.Stop != hook.StopTokenLimit { // a megabyte of arguments is more than the guard allows
		require.Equal(t, "done", out.Text(), "the turn goes on: %v", out.Err)
	}
	rec, err := st.Conversation(ctx, store.Key{Agent: "a", Sender: "s"})
	require.NoError(t, err)
	history, err := st.Messages(ctx, rec.ID)
	require.NoError(t, err)
	return w.seen, history[2].Result, history[1].Content.At(0).JSON
}

// Arguments that two readers could read differently never run, and nobody is
// asked about them.
func TestAmbiguousArgumentsNeverRun(t *testing.T) {
	cases := []string{
		`{"command":"echo ls","Command":"echo rm"}`,
		`{"command":"echo ls","command":"echo rm"}`,
		`{"command":"echo ls","\u0063ommand":"echo rm"}`,
		"{\"command\":\"echo ls\",\"\u212Aommand\":\"echo rm\"}",
		`{"COMMAND":"echo rm"}`,
		`{"command":"echo ls"`,
		`{"command":"echo ls"}}`,
		`{"command":"echo ls"} {"command":"echo rm"}`,
		`{"command":"echo ls",}`,
		`{command:"echo ls"}`,
		`{'command':'echo ls'}`,
		`["echo ls"]`,
		`"echo ls"`,
		`null`,
		`true`,
		`{}`,
		``,
		`   `,
		`{"command":null}`,
		`{"command":1}`,
		`{"command":["echo ls"]}`,
		`{"command":"echo \ud800 ls"}`,
		"{\"command\":\"echo \xff ls\"}",
		"{\"command\":\"echo \u0000 ls\"}",
		`{"command":"echo ls","timeout":1e400}`,
		`{"command":"echo ls","timeout":9007199254740993}`,
		`{"command":"echo ls","timeout":"1000"}`,
		`{"command":"echo ls","timeout":010}`,
		`{"command":"echo ls","env":{"A":"1","A":"2"}}`,
		`{"command":"echo ls","shell":"zsh"}`,
		"\ufeff" + `{"command":"echo ls"}`,
		`{"command":"echo ls"} // comment`,
		strings.Repeat(`{"command":`, 100_000),
		"{\"command\":\"echo ls\",\"co\u017fmand\":\"echo rm\"}",
		`{"command":"echo ls","comMand":"echo rm"}`,
		`{"Command":"echo rm","command":"echo ls"}`,
		`{"command":"echo ls","command ":"echo rm"}`,
		`{"command":"echo ls","":"echo rm"}`,
		`{"\u0043ommand":"echo rm"}`,
		`{"command":"echo ls"` + "\x00}",
		"\x00{\"command\":\"echo ls\"}",
		"{\"command\":\"echo\nls\"}",
		`{"command":"echo \x ls"}`,
		`{"command":"echo \u12 ls"}`,
		`{"command":"echo \udc00\ud800 ls"}`,
		`{"command":"echo \u0000 ls"}`,
		`{"command":{"command":"echo ls"}}`,
		`{"command":true}`,
		`{"command":"echo ls","timeout":1e3}`,
		`{"command":"echo ls","timeout":1.5}`,
		`{"command":"echo ls","timeout":-0x10}`,
		`{"command":"echo ls","timeout":NaN}`,
		`{"command":"echo ls","timeout":Infinity}`,
		`{"command":"echo ls","timeout":+1}`,
		`{"command":"echo ls","timeout":null,"timeout":1}`,
		`{"command":"echo ls","env":{"A":null}}`,
		`{"command":"echo ls","env":["A=1"]}`,
		`{"command":"echo ls","env":{"A":1}}`,
		`{"command":"echo ls","env":{"A":"1","\u0041":"2"}}`,
		`{"command":"echo ls"},`,
		`[{"command":"echo ls"}]`,
		`{"command":"echo ls"}{"command":"echo rm"}`,
		`{"command":"echo ls" "timeout":1}`,
		`{"command":"echo ls","__proto__":{"command":"echo rm"}}`,
		`/* */{"command":"echo ls"}`,
	}
	require.GreaterOrEqual(t, len(cases), 60)
	for i, raw := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			seen, result, stored := play(t, raw)
			assert.Equal(t, message.FailArguments, result.Failure, "%s", result.Text())
			assert.Contains(t, result.Text(), `"required":["command"]`, "the schema comes with the error")
			for _, point := range []string{"RewriteArgs", "BeforeTool", "Approve", "WrapTool"} {
				assert.NotContains(t, seen, point)
			}
			assert.Contains(t, seen, "AfterTool")
			assert.Regexp(t, `^\{`, string(stored), "every provider takes it back")
		})
	}
}

// Whoever sees the arguments of a call sees the same bytes: hooks, approval,
// events, the tool and the history.
func TestEverybodySeesTheSameArguments(t *testing.T) {
	cases := map[string]string{
		`{"command":"echo a"}`:                           `{"command":"echo a"}`,
		" { \"command\" :\t\"echo a\" }\r\n":             `{"command":"echo a"}`,
		`{"\u0063ommand":"ech\u006f \u0061"}`:            `{"command":"echo a"}`,
		`{"command":"echo a","timeout":1e3}`:             "",
		`{"timeout":1000,"command":"echo a"}`:            `{"timeout":1000,"command":"echo a"}`,
		`{"timeout":null,"command":"echo a","env":null}`: `{"command":"echo a"}`,
		`{"command":"echo a","env":{"B":"2","A":"1" }}`:  `{"command":"echo a","env":{"B":"2","A":"1"}}`,
		`{"command":"echo \/ \ud83d\ude00"}`:             `{"command":"echo / 😀"}`,
	}
	for raw, want := range cases {
		t.Run(raw, func(t *testing.T) {
			seen, result, stored := play(t, raw)
			if want == "" {
				assert.Equal(t, message.FailArguments, result.Failure, "an integer is written as one")
				return
			}
			require.False(t, result.IsError(), result.Text())
			assert.Len(t, seen, 7)
			for who, args := range seen {
				assert.Equal(t, message.JSON(want), args, who)
			}
			assert.Equal(t, message.JSON(want), stored)
			assert.Contains(t, result.Text(), `"exit_code":0`)
		})
	}
}
