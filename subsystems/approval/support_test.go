package approval_test

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people are a channel that says what answer says, and remember what they were asked.
type people struct {
	answer func(ctx context.Context, r approval.Request) (approval.Reply, error)

	mu    sync.Mutex
	asked []approval.Request
}

func (p *people) Ask(ctx context.Context, r approval.Request) (approval.Reply, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	p.mu.Unlock()
	return p.answer(ctx, r)
}

func (p *people) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// says are people who always give the same answer.
func says(r approval.Reply) *people {
	return &people{answer: func(context.Context, approval.Request) (approval.Reply, error) { return r, nil }}
}

// silent are people who never answer.
func silent() *people {
	return &people{answer: func(ctx context.Context, _ approval.Request) (approval.Reply, error) {
		<-ctx.Done()
		return approval.Reply{}, context.Cause(ctx)
	}}
}

var (
	yes = approval.Reply{Answer: hook.AnswerApprove, By: "ann"}
	no  = approval.Reply{Answer: hook.AnswerRefuse, By: "ann"}
)

// remembering is the reply with what is to be remembered.
func remembering(r approval.Reply, offer string) approval.Reply {
	r.Remember = offer
	return r
}

// place is where calls are made.
type place struct {
	host  hooktest.Recorder
	agent string
	id    string
	conv  *hook.Conversation
	// t and project are set where a call needs the project's files.
	t       *testing.T
	project string
}

func newPlace(agent, conversation string) *place {
	p := &place{agent: agent, id: conversation}
	p.conv = hook.NewConversation(hook.ConversationData{
		ID: conversation, Sender: "ann", Agent: &hook.AgentConfig{Name: agent}, Host: &p.host,
	})
	return p
}

// call is a call of a tool in the conversation.
func (p *place) call(tool message.Tool, args message.JSON) *hook.ToolCall {
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: p.conv, ID: "turn"})
	return hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m"), ID: "c1", Tool: tool, Args: args})
}

// child is a call by an agent that a turn of the conversation runs.
func (p *place) child(agent string, tool message.Tool, args message.JSON) *hook.ToolCall {
	parent, _ := hook.NewTurn(hook.TurnData{Conversation: p.conv, ID: "turn"})
	conv := hook.NewConversation(hook.ConversationData{ID: p.id + "/1", Agent: &hook.AgentConfig{Name: agent}, Host: &p.host})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: "child", Depth: 1, Parent: parent})
	return hook.NewToolCall(hook.ToolCallData{Step: hook.NewStep(turn, 1, "m"), ID: "c1", Tool: tool, Args: args})
}

// The tools of the tests.
var (
	bash    = message.Tool{Name: "bash", Input: `{"type":"object","properties":{"command":{}}}`, Annotations: message.Annotations{Destructive: true, OpenWorld: true}}
	write   = message.Tool{Name: "write", Input: `{"type":"object"}`, Annotations: message.Annotations{Destructive: true}}
	lookup  = message.Tool{Name: "lookup", Input: `{"type":"object"}`, Annotations: message.Annotations{OpenWorld: true}}
	because = hook.AskTool("it may change things")
)

func file(path string) message.JSON {
	return message.JSON(`{"content":"x","file_path":"` + path + `"}`)
}

// verdict is what an ask of the call comes to.
func verdict(t *testing.T, a *approval.Approval, call *hook.ToolCall) hook.Verdict {
	t.Helper()
	d, err := a.Approve(t.Context(), call, because)
	if err != nil {
		t.Fatal(err)
	}
	return d.Verdict()
}
