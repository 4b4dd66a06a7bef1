package demo

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/approval"
)

// answers says yes or no in the place of a person: yes to the script of the
// skill, to writing the summary and to its own MCP server, no to everything
// else.
type answers struct {
	mu      sync.Mutex
	yes, no int
}

var _ approval.Channel = (*answers)(nil)

// distance is the command that may run.
const distance = "sleep 0.4 && sh .agents/skills/logbook/scripts/distance.sh log"

// Ask answers by what would run, never by what the model says about it.
func (a *answers) Ask(_ context.Context, r approval.Request) (approval.Reply, error) {
	var args struct {
		Command string `json:"command"`
		File    string `json:"file_path"`
	}
	if err := json.Unmarshal([]byte(r.Args), &args); err != nil {
		return approval.Reply{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case r.Tool == "bash" && args.Command == distance,
		r.Tool == "write" && args.File == "summary.md",
		strings.HasPrefix(r.Tool, "mcp__chartroom__"):
		a.yes++
		return approval.Reply{Answer: hook.AnswerApprove, By: "demo"}, nil
	}
	a.no++
	return approval.Reply{Answer: hook.AnswerRefuse, Reason: "The demo says no to this.", By: "demo"}, nil
}

// inquire answers every question with its first option.
func (a *answers) inquire(_ context.Context, _ string, q hook.Inquiry) (r hook.Response, by string, err error) {
	var given []hook.Given
	for _, question := range q.Questions.All() {
		given = append(given, hook.Given{Chosen: message.ListOf(question.Options.At(0).Label)})
	}
	return hook.Response{Given: message.Freeze(given)}, "demo", nil
}

func (a *answers) counts() (yes, no int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.yes, a.no
}
