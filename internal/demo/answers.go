package demo

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

// answers answers requests instead of a person: yes to the script of the skill, to writing
// the summary and to its own MCP server, no to everything else.
type answers struct {
	mu      sync.Mutex
	yes, no int
}

// distance is the approved command.
const distance = "sleep 0.4 && sh .agents/skills/logbook/scripts/distance.sh log"

// inquire answers every question with its first option. It approves by the call itself,
// never by the model's words about it.
func (a *answers) inquire(_ context.Context, r term.Request) (answer hook.Response, by string, err error) {
	if r.Approval != nil {
		reply, err := a.approve(*r.Approval)
		return hook.Response{Approval: &reply}, "demo", err
	}
	var given []hook.Given
	for _, question := range r.Questions.All() {
		given = append(given, hook.Given{Chosen: message.ListOf(question.Options.At(0).Label)})
	}
	return hook.Response{Given: message.Freeze(given)}, "demo", nil
}

func (a *answers) approve(r hook.ApprovalRequest) (hook.ApprovalReply, error) {
	var args struct {
		Command string   `json:"command"`
		Needs   []string `json:"needs"`
		File    string   `json:"file_path"`
		Name    string   `json:"name"`
	}
	if err := json.Unmarshal([]byte(r.Args), &args); err != nil {
		return hook.ApprovalReply{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.Tool == "bash" && args.Command == distance && len(args.Needs) == 0,
		r.Tool == "write" && args.File == "summary.md",
		r.Tool == "remember" && args.Name == memoryName, // replacing a memory asks
		strings.HasPrefix(r.Tool, "mcp__chartroom__"):
		a.yes++
		return hook.ApprovalReply{Answer: hook.AnswerApprove}, nil
	}
	a.no++
	return hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "The demo says no to this."}, nil
}

func (a *answers) counts() (yes, no int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.yes, a.no
}
