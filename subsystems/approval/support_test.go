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

// people answer with what answer says, and remember what they were asked.
type people struct {
	answer func(ctx context.Context, r hook.ApprovalRequest) (hook.ApprovalReply, error)

	mu    sync.Mutex
	asked []hook.ApprovalRequest
	ids   []string
}

// ask asks as a host does: an answer that came counts, whatever has ended since.
func (p *people) ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	p.mu.Lock()
	p.asked, p.ids = append(p.asked, *q.Approval), append(p.ids, q.ID)
	p.mu.Unlock()
	if q.Timeout > 0 {
		late, cancel := context.WithTimeoutCause(ctx, q.Timeout, hook.ErrUnanswered)
		defer cancel()
		ctx = late
	}
	reply, err := p.answer(ctx, *q.Approval)
	return hook.Response{Approval: &reply}, err
}

func (p *people) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// says are people who always give the same answer.
func says(r hook.ApprovalReply) *people {
	return &people{answer: func(context.Context, hook.ApprovalRequest) (hook.ApprovalReply, error) { return r, nil }}
}

// silent are people who never answer.
func silent() *people {
	return &people{answer: func(ctx context.Context, _ hook.ApprovalRequest) (hook.ApprovalReply, error) {
		<-ctx.Done()
		return hook.ApprovalReply{}, context.Cause(ctx)
	}}
}

var (
	yes = hook.ApprovalReply{Answer: hook.AnswerApprove, By: "ann"}
	no  = hook.ApprovalReply{Answer: hook.AnswerRefuse, By: "ann"}
)

// remembering is the reply with what is to be remembered.
func remembering(r hook.ApprovalReply, offer string) hook.ApprovalReply {
	r.Remember = offer
	return r
}

// host is one whose people answer. Without people nobody can be asked.
type host struct {
	hooktest.Recorder
	people *people
}

func (h *host) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	if h.people == nil {
		return h.Recorder.Ask(ctx, q)
	}
	return h.people.ask(ctx, q)
}

// place is where calls are made.
type place struct {
	host  host
	agent string
	id    string
	conv  *hook.Conversation
	// t and project are set where a call needs the project's files.
	t       *testing.T
	project string
}

func newPlace(who *people, agent, conversation string) *place {
	p := &place{host: host{people: who}, agent: agent, id: conversation}
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
