package term

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// approve shows a call and reads the answer.
func (a *Approver) approve(ctx context.Context, r Request) (reply hook.ApprovalReply, by string, err error) {
	switch {
	case a.opts.Yes:
		return hook.ApprovalReply{Answer: hook.AnswerApprove}, ByYes, nil
	case a.person == nil:
		return refuse(r, "standard input is not a terminal"), ByNobody, nil
	}
	free, err := a.take(ctx)
	if err != nil {
		return hook.ApprovalReply{}, "", err
	}
	defer free()
	reply, err = a.ask(ctx, r)
	switch {
	case err == nil:
		return reply, ByTerminal, nil
	case errors.Is(err, io.EOF):
		return refuse(r, "standard input has ended"), ByNobody, nil
	case errors.Is(err, ErrDeclined):
		return hook.ApprovalReply{Answer: hook.AnswerRefuse}, ByTerminal, nil
	}
	return hook.ApprovalReply{}, "", err
}

// refuse returns the refusal of a call that no person can answer.
func refuse(r Request, why string) hook.ApprovalReply {
	return hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: fmt.Sprintf(
		"%s needs a person's approval and nobody can answer here: %s. To allow such calls, run the command again with --yes, or in a terminal.",
		r.Approval.Tool, why)}
}

// ask asks until there is an answer.
func (a *Approver) ask(ctx context.Context, r Request) (hook.ApprovalReply, error) {
	shown, cut := a.preview(r.Approval, previewLines)
	a.show(screen.Format("\n%s wants to run: %s\n%s", who(r), screen.Rows(r.Approval.Reason), shown))
	a.list("Careful", r.Approval.Remarks)
	a.list("It reaches", r.Approval.Reaches)
	if limits := r.Approval.Grant.String(); limits != "" {
		a.show(screen.Format("  Limited to: %s\n", limits))
	}
	if r.Approval.ApprovedOnTimeout {
		a.show(screen.Format("  Without an answer it is allowed at %s.\n", r.Expires.Local().Format("15:04:05")))
	}
	for {
		answer, err := a.person.Answer(ctx, allow(r.Approval, cut))
		if err != nil {
			return hook.ApprovalReply{}, err
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(answer), " ")
		reply, done := hook.ApprovalReply{}, false
		switch strings.ToLower(strings.TrimSuffix(word, ",")) {
		case "y", "yes":
			reply, done = hook.ApprovalReply{Answer: hook.AnswerApprove}, rest == ""
		case "n", "no":
			reply, done = hook.ApprovalReply{Answer: hook.AnswerRefuse}, true
			if rest = strings.TrimSpace(rest); rest != "" {
				reply.Reason = "The user said no: " + rest
			}
		case "a", "always":
			reply, done, err = a.choose(ctx, r.Approval, cut, hook.AnswerApprove, "allowed")
		case "v", "never":
			reply, done, err = a.choose(ctx, r.Approval, cut, hook.AnswerRefuse, "refused")
		case "e", "edit":
			reply, done, err = a.edit(ctx, r.Approval)
		case "s", "show":
			shown, cut = a.preview(r.Approval, 0)
			a.show(shown)
		}
		if err != nil {
			return hook.ApprovalReply{}, err
		}
		if !done {
			continue
		}
		problem := r.Approval.Check(reply)
		if problem == nil {
			return reply, nil
		}
		a.show(screen.Format("  %s\n", screen.Rows(problem.Error())))
	}
}

func allow(r *hook.ApprovalRequest, cut bool) string {
	question := "Allow it? [y]es, [n]o, "
	if r.Offers.Len() > 0 && !cut {
		question += "[a]lways, ne[v]er, "
	}
	question += "[e]dit"
	if cut {
		question += ", [s]how all"
	}
	return question + ": "
}

// who names the tool, and the calling agent if it is not the person's own.
func who(r Request) screen.Text {
	if r.Depth > 0 {
		return screen.Format("%s: %s", r.Agent, r.Approval.Tool)
	}
	return screen.Exact(r.Approval.Tool)
}

// list shows sentences under a title; none shows nothing.
func (a *Approver) list(title string, sentences message.List[string]) {
	for i, s := range sentences.All() {
		if i == 0 {
			a.show(screen.Format("  %s:\n", title))
		}
		a.show(screen.Format("    %s\n", s))
	}
}

// choose lets the person choose an offer to remember the answer for; done is false if they
// choose none, and then there is no answer. What was not shown whole is not remembered.
func (a *Approver) choose(ctx context.Context, r *hook.ApprovalRequest, cut bool, answer hook.Answer, so string) (reply hook.ApprovalReply, done bool, err error) {
	n := r.Offers.Len()
	if n == 0 || cut {
		if cut {
			a.show(screen.Lit("  Show all of it first, with s: only a call that was shown whole is remembered.\n"))
		}
		return hook.ApprovalReply{}, false, nil
	}
	for i, o := range r.Offers.All() {
		a.show(screen.Format("  %d  %s\n", i+1, o.Text))
	}
	question := "What is " + so + " from now on? 1-" + strconv.Itoa(n) + " (Enter for nothing): "
	for {
		chosen, err := a.person.Answer(ctx, question)
		if chosen = strings.TrimSpace(chosen); err != nil || chosen == "" {
			return hook.ApprovalReply{}, false, err
		}
		if i, err := strconv.Atoi(chosen); err == nil && 1 <= i && i <= n {
			return hook.ApprovalReply{Answer: answer, Remember: r.Offers.At(i - 1).ID}, true, nil
		}
	}
}

// edit lets the person change the arguments; done is false if they cancel. The arguments are
// edited as a command if they have only a command, else as JSON.
func (a *Approver) edit(ctx context.Context, r *hook.ApprovalRequest) (reply hook.ApprovalReply, done bool, err error) {
	command, alone := onlyCommand(r.Args)
	question, text := "Arguments, as JSON (Enter on an empty line leaves it): ", screen.JSON(string(r.Args)).String()
	if alone {
		question, text = "Command (Enter on an empty line leaves it): ", command
	}
	for {
		changed, err := a.person.Edit(ctx, question, text)
		if changed = strings.TrimSpace(changed); err != nil || changed == "" {
			return hook.ApprovalReply{}, false, err
		}
		if changed == text {
			return hook.ApprovalReply{Answer: hook.AnswerApprove}, true, nil
		}
		args := message.JSON(changed)
		if alone {
			data, err := json.Marshal(map[string]string{"command": changed})
			if err != nil {
				return hook.ApprovalReply{}, false, err
			}
			args = message.JSON(data)
		}
		reply := hook.ApprovalReply{Answer: hook.AnswerModify, Args: args}
		problem := r.Check(reply)
		if problem == nil {
			return reply, true, nil
		}
		a.show(screen.Format("  %s\n", screen.Rows(problem.Error())))
		text = changed
	}
}

// onlyCommand returns the command of arguments that have only a command that can be edited.
func onlyCommand(args message.JSON) (string, bool) {
	var in map[string]json.RawMessage
	var command string
	if json.Unmarshal([]byte(args), &in) != nil || len(in) != 1 || json.Unmarshal(in["command"], &command) != nil {
		return "", false
	}
	return command, command == strings.TrimSpace(screen.Exact(command).String()) && !strings.Contains(command, "\t")
}
