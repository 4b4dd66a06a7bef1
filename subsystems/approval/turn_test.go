package approval_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

// strict asks about every call that writes, and denies one.
type strict struct{ hook.Nop }

func (strict) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	switch {
	case call.Args() == `{"file_path":"forbidden","content":"x"}`:
		return hook.DenyTool("not that file"), nil
	case call.Tool().Annotations.Destructive:
		return because, nil
	}
	return hook.ToolDecision{}, nil
}

// program is a runtime with real tools, over a store.
func program(t *testing.T, st store.Store, root string) *runtime.Runtime {
	t.Helper()
	tools, err := ostools.New(root, nil)
	require.NoError(t, err)
	type hooks struct {
		Strict   strict
		Approval *approval.Approval
		OS       *ostools.OS
	}
	h, err := composite.New(&hooks{Approval: approval.New(nil), OS: tools})
	require.NoError(t, err)
	model := script.New(
		script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: "write", Raw: `{"file_path": "a.txt", "content": "theirs"}`}}},
		script.Rule{When: &script.When{}, Say: "${result:write}"},
	)
	rt := runtime.New(h, model, &runtime.Options{Store: st})
	require.NoError(t, rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) })
	_, err = rt.Register(t.Context(), hook.AgentConfig{Name: "helper"})
	require.NoError(t, err)
	return rt
}

// send runs a turn of the sender's conversation in which p answers, and returns how
// it ended and who answered the asks.
func send(t *testing.T, rt *runtime.Runtime, sender string, p *people) (said string, by []string) {
	t.Helper()
	conv, err := dialog.Conversation(t.Context(), rt, "helper", sender)
	require.NoError(t, err)
	var answering sync.WaitGroup
	defer answering.Wait()
	out, err := dialog.Send(t.Context(), conv, message.TextInput("go"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		switch ev.Kind {
		case event.ApprovalAsked:
			answering.Go(func() { answer(t, rt, conv.ID(), p) })
		case event.ApprovalGiven:
			by = append(by, ev.Detail().By)
		}
	}})
	require.NoError(t, err)
	return out.Text(), by
}

// answer answers what waits in the conversation.
func answer(t *testing.T, rt *runtime.Runtime, conversation string, p *people) {
	if !assert.NoError(t, rt.AwaitPending(t.Context(), conversation)) {
		return
	}
	for _, r := range rt.Pending() {
		given, err := p.ask(t.Context(), r.Inquiry)
		assert.NoError(t, err)
		assert.NoError(t, rt.Answer(conversation, r.ID, "ann", given))
	}
}

// TestTurns: what people answer, in real turns with real tools.
func TestTurns(t *testing.T) {
	t.Parallel()
	modified := func(args message.JSON) hook.ApprovalReply {
		return hook.ApprovalReply{Answer: hook.AnswerModify, Args: args, By: "ann"}
	}
	for name, tt := range map[string]struct {
		reply   hook.ApprovalReply
		content string // of a.txt; "" if there is none
		said    string
	}{
		"approved":                   {yes, "theirs", "a.txt"},
		"refused":                    {hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "Ask Bob.", By: "ann"}, "", "Ask Bob."},
		"modified":                   {modified(`{"content":"mine","file_path":"a.txt"}`), "mine", "a.txt"},
		"modified to what is denied": {modified(`{"file_path":"forbidden","content":"x"}`), "", "not that file"},
		"modified to nonsense":       {modified(`{"where":"a.txt"}`), "", "where"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, p := t.TempDir(), says(tt.reply)
			said, by := send(t, program(t, mem.New(nil), root), "bob", p)
			assert.Contains(t, said, tt.said)
			assert.Equal(t, []string{"Approval.ann"}, by)
			assert.Equal(t, message.JSON(`{"file_path":"a.txt","content":"theirs"}`), p.asked[0].Args, "canonical")
			data, err := os.ReadFile(filepath.Join(root, "a.txt"))
			assert.Equal(t, tt.content == "", os.IsNotExist(err))
			assert.Equal(t, tt.content, string(data))
			assert.NoFileExists(t, filepath.Join(root, "forbidden"))
		})
	}
}

// TestConversationsRemember: an answer for a conversation holds in its next turns,
// and in no other one.
func TestConversationsRemember(t *testing.T) {
	t.Parallel()
	root, st, p := t.TempDir(), mem.New(nil), says(remembering(yes, "call-conversation"))
	rt := program(t, st, root)
	for i, want := range []string{"Approval.ann", "Approval.rule"} {
		_, by := send(t, rt, "bob", p)
		assert.Equal(t, []string{want}, by, "%d", i)
	}
	_, by := send(t, rt, "eve", p)
	assert.Equal(t, []string{"Approval.ann"}, by)
}
