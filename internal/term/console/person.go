package console

import (
	"context"
	"fmt"
	"os"

	"github.com/grapnel-go/grapnel/internal/screen"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/internal/term/edit"
)

// person answers at the terminal, a line at a time.
type person struct {
	ed  *edit.Editor
	out *screen.Output
}

var _ term.Answers = person{}

// NewPerson returns the person who types into in and sees out, both terminals.
func NewPerson(in, out *os.File) (term.Answers, error) {
	ed, err := edit.New(in, out, &edit.Options{Dumb: true})
	if err != nil {
		return nil, fmt.Errorf("ask at the terminal: %w", err)
	}
	return person{ed, screen.New(out)}, nil
}

// Answer implements term.Answers. What was typed before the question is
// forgotten: it was meant for another one, or for none.
func (p person) Answer(ctx context.Context, question string) (string, error) {
	p.ed.Forget()
	answer, err := p.ed.Read(ctx, edit.Line{Prompt: question, Question: true})
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return answer, err
}

// Edit implements term.Answers: the terminal cannot change a text that is there
// already, so it is shown above.
func (p person) Edit(ctx context.Context, question, text string) (string, error) {
	_ = p.out.Print(screen.Format("  %s\n", text)) // who does not see it does not see the question
	return p.Answer(ctx, question)
}

// Close frees what asking took.
func (p person) Close() error { return p.ed.Close() }
