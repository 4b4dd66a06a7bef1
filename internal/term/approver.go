package term

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// Approver asks the person at the terminal: approvals of calls, questions of agents, and
// confirmations for the program. If no person can answer it refuses, with a sentence that
// says how to allow the call. It is safe for concurrent use: one question is on the screen
// at a time.
type Approver struct {
	opts   ApproverOptions
	person Answers
	out    *screen.Output
	turn   chan struct{} // has one token; its holder may ask
}

// Request is a request to a person: questions of an agent, or a tool call to approve.
type Request struct {
	hook.Inquiry
	// Agent asks, or calls the tool. Depth is 0 for the agent that the person talks
	// to, and more for one that another agent runs.
	Agent string
	Depth int
	// Expires is the end of the time for an answer; zero is never.
	Expires time.Time
}

// Answers reads a person's answers.
type Answers interface {
	// Answer shows the question and returns the line typed after that; earlier input is
	// dropped. The error is ErrDeclined if the person does not answer this question,
	// io.EOF at the end of the input, or that of ctx. One goroutine at a time.
	Answer(ctx context.Context, question string) (string, error)
	// Edit is Answer with a text that the person changes. It returns the whole new text;
	// "" for none.
	Edit(ctx context.Context, question, text string) (string, error)
}

// ApproverOptions say who answers.
type ApproverOptions struct {
	// In is the person's input; nil is none.
	In io.Reader
	// Answers, if not nil, reads answers instead of In. Out still shows the details of
	// the request.
	Answers Answers
	// Root is the directory of the file tools, to show the changes of a call in a file
	// there; "" shows the arguments only.
	Root string
	// Out shows the question; nil is nowhere.
	Out io.Writer
	// Gate is closed while a question is on the screen; nil is none.
	Gate *Gate
	// Yes approves every ask without a question.
	Yes bool
	// Color the preview.
	Color bool
}

// NewApprover returns an approver. With nil options it refuses every request.
func NewApprover(o *ApproverOptions) *Approver {
	a := &Approver{turn: make(chan struct{}, 1)}
	if o != nil {
		a.opts = *o
	}
	if a.opts.Out == nil {
		a.opts.Out = io.Discard
	}
	a.out = screen.New(a.opts.Out)
	switch {
	case a.opts.Answers != nil:
		a.person = a.opts.Answers
	case a.opts.In != nil:
		a.person = &typist{lines: newLineReader(a.opts.In), out: a.out}
	}
	return a
}

// preview shows what a call would change, or else its arguments.
func (a *Approver) preview(r *hook.ApprovalRequest, lines int) (text screen.Text, cut bool) {
	call := hook.NewToolCall(hook.ToolCallData{ID: r.CallID, Tool: message.Tool{Name: r.Tool}, Args: r.Args})
	if a.opts.Root != "" {
		if text, cut, ok := Diff(a.opts.Root, call, lines, a.opts.Color); ok {
			return text, cut
		}
	}
	text, cut = Preview(call, r.Part, lines, a.opts.Color)
	if replaces(a.opts.Root, call) {
		text = screen.Format("  replaces the file that is there\n%s", text)
	}
	return text, cut
}

// replaces reports whether the call overwrites a file whose difference cannot be shown.
func replaces(root string, call *hook.ToolCall) bool {
	var in struct {
		FilePath string `json:"file_path"`
	}
	if root == "" || call.Name() != "write" || json.Unmarshal([]byte(call.Args()), &in) != nil {
		return false
	}
	_, err := readBelow(root, in.FilePath)
	return errors.Is(err, errNotShown)
}

// Attended reports whether a person can answer.
func (a *Approver) Attended() bool { return a.person != nil }

// Confirm shows the text and asks a yes-or-no question. Without a person, and at the end of
// the input, the answer is no; Options.Yes does not count.
func (a *Approver) Confirm(ctx context.Context, text, question string) (bool, error) {
	if a.person == nil {
		return false, nil
	}
	free, err := a.take(ctx)
	if err != nil {
		return false, err
	}
	defer free()
	a.show(screen.Format("%s\n", screen.Lines(text)))
	for {
		answer, err := a.person.Answer(ctx, question+" [y]es, [n]o: ")
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, ErrDeclined) {
				err = nil
			}
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
	}
}

// show drops the error: without the question there is no answer.
func (a *Approver) show(text screen.Text) { _ = a.out.Print(text) }
