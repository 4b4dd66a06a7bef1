package hook_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

func TestCheckOfAnApproval(t *testing.T) {
	t.Parallel()
	request := hook.ApprovalRequest{Tool: "bash", Offers: message.ListOf(hook.Offer{ID: "call"}, hook.Offer{ID: "tool"})}
	for _, tt := range []struct {
		reply hook.ApprovalReply
		wrong string // "" is nothing
	}{
		{hook.ApprovalReply{Answer: hook.AnswerApprove}, ""},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: "tool", By: "Ann Äse"}, ""},
		{hook.ApprovalReply{Answer: hook.AnswerRefuse, Remember: "call", Reason: strings.Repeat("x", 4096), By: strings.Repeat("x", 64)}, ""},
		{hook.ApprovalReply{Answer: hook.AnswerModify, Args: ` {"a":1}`}, ""},

		{hook.ApprovalReply{}, `answer is ""; it is approve, refuse or modify`},
		{hook.ApprovalReply{Answer: hook.AnswerStop}, `answer is "stop"`},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, Args: "{}"}, "args goes with the answer modify only"},
		{hook.ApprovalReply{Answer: hook.AnswerModify}, "args is no object"},
		{hook.ApprovalReply{Answer: hook.AnswerModify, Args: "[]"}, "args is no object"},
		{hook.ApprovalReply{Answer: hook.AnswerModify, Args: `{"a":`}, "args is no object"},
		{hook.ApprovalReply{Answer: hook.AnswerModify, Args: `{}`, Remember: "call"}, "a modification is for its one call"},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, Reason: "x"}, "reason goes with the answer refuse only"},
		{hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: strings.Repeat("x", 4097)}, "at most 4096 bytes"},
		{hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "\xff"}, "UTF-8"},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: "folder"}, `remember is "folder", which is none of the offers of this ask: call, tool`},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, By: hook.ByRule}, "by has to be a name"},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, By: hook.ByTimeout}, "by has to be a name"},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, By: "Core.Guard"}, "by has to be a name"},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, By: "\x1b[2J"}, "by has to be a name"},
		{hook.ApprovalReply{Answer: hook.AnswerApprove, By: strings.Repeat("x", 257)}, "at most 256 bytes"},
	} {
		err := request.Check(tt.reply)
		if tt.wrong == "" {
			assert.NoError(t, err, "%+v", tt.reply)
			continue
		}
		assert.ErrorContains(t, err, tt.wrong)
	}
	assert.ErrorContains(t, hook.ApprovalRequest{}.Check(hook.ApprovalReply{Answer: hook.AnswerApprove, Remember: "call"}), "there are none")
}
