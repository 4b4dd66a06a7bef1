package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
)

// Asker wants a person's approval for every call of a tool that is destructive
// or reaches beyond this machine, by the annotations of its owner. Who answers
// is another hook's business: [Approver], where there is a terminal. The zero
// Asker works.
type Asker struct{ hook.Nop }

var _ hook.BeforeTool = (*Asker)(nil)

// BeforeTool asks where the annotations say destructive or open-world.
func (*Asker) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	switch notes := call.Tool().Annotations; {
	case notes.Destructive:
		return hook.AskTool("it may change or delete things"), nil
	case notes.OpenWorld:
		return hook.AskTool("it reaches beyond this machine or runs what others wrote"), nil
	}
	return hook.ToolDecision{}, nil
}

// Approver answers every ask by asking the person at the terminal, and remembers
// "always" for the conversation and the tool until the process ends. Where nobody
// can answer, it refuses with a sentence that says how to allow the call. Safe
// for concurrent use: of several asks, one is on the screen at a time.
type Approver struct {
	hook.Nop
	opts   ApproverOptions
	lines  *lineReader
	screen chan struct{} // holds one token: who has it may ask

	mu     sync.Mutex
	always map[remembered]bool
}

var _ hook.Approve = (*Approver)(nil)

type remembered struct{ conversation, tool string }

// ApproverOptions say who answers.
type ApproverOptions struct {
	// In is what the person types into; nil is nobody.
	In io.Reader
	// Out is where the question is shown; nil is nowhere.
	Out io.Writer
	// Yes approves every ask without a question.
	Yes bool
	// Color the preview.
	Color bool
}

// NewApprover returns an approver; nil options are one that refuses every ask.
func NewApprover(o *ApproverOptions) *Approver {
	a := &Approver{screen: make(chan struct{}, 1), always: map[remembered]bool{}}
	if o != nil {
		a.opts = *o
	}
	if a.opts.Out == nil {
		a.opts.Out = io.Discard
	}
	if a.opts.In != nil {
		a.lines = newLineReader(a.opts.In)
	}
	return a
}

// Approve shows the call and reads the answer. It blocks until the person has
// answered or ctx ends, which refuses the call.
func (a *Approver) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	key := remembered{conversation: conversationOf(call), tool: call.Name()}
	switch {
	case a.opts.Yes || a.remembers(key):
		return hook.ApproveCall(), nil
	case a.lines == nil:
		return refuse(call, "standard input is not a terminal"), nil
	}
	select {
	case a.screen <- struct{}{}:
		defer func() { <-a.screen }()
	case <-ctx.Done():
		return interrupted(), nil
	}
	return a.ask(ctx, call, asked.Verdict().Reason, key)
}

func (a *Approver) ask(ctx context.Context, call *hook.ToolCall, reason string, key remembered) (hook.ApprovalDecision, error) {
	shown, cut := Preview(call, previewLines, a.opts.Color)
	a.show(fmt.Sprintf("\n%s wants to run: %s\n%s", Clean(call.Name()), Clean(reason), shown))
	a.lines.drop()
	for {
		question := "Allow it? [y]es, [n]o, [a]lways in this conversation"
		if cut {
			question += ", [s]how all"
		}
		a.show(question + ": ")
		answer, err := a.lines.read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			a.show("\n")
			return refuse(call, "standard input has ended"), nil
		case ctx.Err() != nil:
			a.show("\n")
			return interrupted(), nil
		case err != nil:
			a.show("\n")
			return hook.ApprovalDecision{}, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return hook.ApproveCall(), nil
		case "n", "no":
			return hook.RefuseCall("The user said no."), nil
		case "a", "always":
			a.remember(key)
			return hook.ApproveCall(), nil
		case "s", "show":
			shown, cut = Preview(call, 0, a.opts.Color)
			a.show(shown)
		}
	}
}

// Confirm shows the text and asks a question that yes or no answers. Where nobody
// can answer, and at the end of the input, the answer is no; Yes does not count.
func (a *Approver) Confirm(ctx context.Context, text, question string) (bool, error) {
	if a.lines == nil {
		return false, nil
	}
	select {
	case a.screen <- struct{}{}:
		defer func() { <-a.screen }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	a.show(Clean(text) + "\n")
	a.lines.drop()
	for {
		a.show(Clean(question) + " [y]es, [n]o: ")
		answer, err := a.lines.read(ctx)
		if err != nil {
			a.show("\n")
			if errors.Is(err, io.EOF) {
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

// interrupted is no failure of the approver: the turn is over.
func interrupted() hook.ApprovalDecision {
	return hook.RefuseCall("The turn ended before the user answered.")
}

func refuse(call *hook.ToolCall, why string) hook.ApprovalDecision {
	return hook.RefuseCall(fmt.Sprintf(
		"%s needs a person's approval and nobody can answer here: %s. To allow such calls, run the command again with --yes, or in a terminal.",
		call.Name(), why))
}

func conversationOf(call *hook.ToolCall) string {
	if call.Step() == nil || call.Step().Turn() == nil {
		return ""
	}
	return call.Step().Turn().Conversation().ID()
}

func (a *Approver) remembers(key remembered) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.always[key]
}

func (a *Approver) remember(key remembered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.always[key] = true
}

// show drops the error: if the question cannot be shown, the answer does not come.
func (a *Approver) show(text string) { _, _ = io.WriteString(a.opts.Out, text) }
