package approval_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// careful is a host whose person allows what lists, in this conversation, and
// nothing else. A runtime shows the request to somebody instead.
type careful struct{ hook.NoHost }

func (careful) Ask(_ context.Context, q hook.Inquiry) (hook.Response, error) {
	r := q.Approval
	fmt.Printf("asked: %s %s (%s)\n", r.Tool, r.Args, r.Reason)
	if r.Args != `{"command":"ls"}` {
		return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "Only look, please."}}, nil
	}
	fmt.Println("allowed:", r.Offers.At(0).Text)
	return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: r.Offers.At(0).ID}}, nil
}

func Example() {
	a := approval.New(nil)
	step := hooktest.Step(hooktest.Turn(hooktest.Conversation(nil, careful{}), "Clean up."))
	for _, args := range []message.JSON{`{"command":"ls"}`, `{"command":"ls"}`, `{"command":"rm -rf ."}`} {
		call := hooktest.Call(step, "bash", args)
		d, err := a.Approve(context.Background(), call, hook.AskTool("it may change or delete things"))
		fmt.Println(d.Verdict().Kind, d.Verdict().Reason, err)
	}
	// Output:
	// asked: bash {"command":"ls"} (it may change or delete things)
	// allowed: exactly this call of bash, in this conversation and the tasks that it hands out
	// approve  <nil>
	// approve  <nil>
	// asked: bash {"command":"rm -rf ."} (it may change or delete things)
	// refuse Only look, please. <nil>
}
