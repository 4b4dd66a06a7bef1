package approval_test

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// careful is a channel whose person allows what lists, in this conversation, and
// nothing else. A program shows the request to somebody instead.
type careful struct{}

func (careful) Ask(_ context.Context, r approval.Request) (approval.Reply, error) {
	fmt.Printf("asked: %s %s (%s)\n", r.Tool, r.Args, r.Reason)
	if r.Args != `{"command":"ls"}` {
		return approval.Reply{Answer: hook.AnswerRefuse, Reason: "Only look, please."}, nil
	}
	fmt.Println("allowed:", r.Offers.At(0).Text)
	return approval.Reply{Answer: hook.AnswerApprove, Remember: r.Offers.At(0).ID}, nil
}

func Example() {
	a := approval.New(&approval.Options{Channel: careful{}})
	step := hooktest.Step(hooktest.Turn(nil, "Clean up."))
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
