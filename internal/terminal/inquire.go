package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// ErrDeclined is what [Answers] returns for a person who does not want to answer:
// a call is refused then, and a question left out.
var ErrDeclined = errors.New("terminal: the person declines to answer")

// ByTerminal and ByNobody say who has answered an inquiry.
const (
	ByTerminal = "terminal"
	ByNobody   = "nobody"
)

// Inquire puts the questions to the person, one after another, and returns an
// answer for each of them, and who has given it. Where nobody can answer, the
// answer says so. It blocks until the person has answered or ctx ends, whose error
// it then returns. agent is who asks.
func (a *Approver) Inquire(ctx context.Context, agent string, q hook.Inquiry) (r hook.Response, by string, err error) {
	if a.person == nil {
		return absent(q, "standard input is not a terminal"), ByNobody, nil
	}
	free, err := a.take(ctx)
	if err != nil {
		return hook.Response{}, "", err
	}
	defer free()
	given := make([]hook.Given, q.Questions.Len())
	a.show(screen.Format("\n%s asks:\n", agent))
	for i, question := range q.Questions.All() {
		g, err := a.inquire(ctx, question)
		switch {
		case errors.Is(err, io.EOF):
			return absent(q, "standard input has ended"), ByNobody, nil
		case errors.Is(err, ErrDeclined):
			return hook.Response{Given: hook.Freeze(given)}, ByTerminal, nil
		case err != nil:
			return hook.Response{}, "", err
		}
		given[i] = g
	}
	return hook.Response{Given: hook.Freeze(given)}, ByTerminal, nil
}

// take waits for the screen, on which nothing else appears until free is called.
func (a *Approver) take(ctx context.Context) (free func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ctx.Err() != nil { // both were possible
		<-a.turn
		return nil, ctx.Err()
	}
	a.opts.Gate.Close()
	return func() {
		a.opts.Gate.Open()
		<-a.turn
	}, nil
}

// absent is the answer where nobody can give one.
func absent(q hook.Inquiry, why string) hook.Response {
	given := make([]hook.Given, q.Questions.Len())
	if len(given) > 0 {
		given[0].Text = fmt.Sprintf("(This is no answer of the user's. Nobody can answer here: %s. "+
			"To be asked, the user can run the command again in a terminal.)", why)
	}
	return hook.Response{Given: hook.Freeze(given)}
}

// inquire puts one question until it has an answer that can be understood.
func (a *Approver) inquire(ctx context.Context, q hook.Question) (hook.Given, error) {
	a.show(choices(q))
	for {
		answer, err := a.person.Answer(ctx, ask(q))
		if err != nil {
			return hook.Given{}, err
		}
		given, problem := understand(q, answer)
		if problem == "" {
			return given, nil
		}
		a.show(screen.Format("  %s\n", problem))
	}
}

// choices is the question with its numbered options.
func choices(q hook.Question) screen.Text {
	out := []screen.Text{screen.Format("%s\n", screen.Rows(q.Text))}
	if q.Header != "" {
		out = slices.Insert(out, 0, screen.Format("[%s] ", screen.Fold(q.Header)))
	}
	for i, o := range q.Options.All() {
		out = append(out, screen.Format("  %d  %s", i+1, screen.Fold(o.Label)))
		if o.Description != "" {
			out = append(out, screen.Format(": %s", screen.Exact(screen.Fold(o.Description)).Cut(failureWidth)))
		}
		out = append(out, screen.Lit("\n"))
	}
	return screen.Join(out...)
}

// ask is what stands before the answer.
func ask(q hook.Question) string {
	n := q.Options.Len()
	switch {
	case n == 0:
		return "Your answer (Enter for none): "
	case q.Multi:
		return fmt.Sprintf("1-%d, several as 1,2, or your own words (Enter for none): ", n)
	}
	return fmt.Sprintf("1-%d, or your own words (Enter for none): ", n)
}

// understand reads an answer: numbers of options, a label, or else the person's
// own words. A number that stands beside an option means that option, also if
// another one has it as its label. The problem says what to do with an answer that
// is neither.
func understand(q hook.Question, answer string) (g hook.Given, problem string) {
	answer = strings.TrimSpace(answer)
	if answer == "" {
		return hook.Given{}, ""
	}
	if n, err := strconv.Atoi(answer); err == nil && 1 <= n && n <= q.Options.Len() {
		return hook.Given{Chosen: hook.ListOf(q.Options.At(n - 1).Label)}, ""
	}
	for _, o := range q.Options.All() {
		if strings.EqualFold(o.Label, answer) {
			return hook.Given{Chosen: hook.ListOf(o.Label)}, ""
		}
	}
	if answer == "0" {
		return hook.Given{}, ""
	}
	numbers, ok := numbersIn(answer)
	if !ok || q.Options.Len() == 0 {
		return hook.Given{Text: answer}, ""
	}
	var labels []string
	for _, n := range numbers {
		if n < 1 || n > q.Options.Len() {
			return hook.Given{}, fmt.Sprintf("There is no option %d. To answer with a number of your own, write a word with it.", n)
		}
		if label := q.Options.At(n - 1).Label; !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	if len(labels) > 1 && !q.Multi {
		return hook.Given{}, "Only one option can be chosen."
	}
	return hook.Given{Chosen: hook.Freeze(labels)}, ""
}

// numbersIn returns the numbers of an answer that consists of nothing else.
func numbersIn(answer string) ([]int, bool) {
	var out []int
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' || r == ';' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) > 0
}

// Answered returns what was answered to an inquiry, a line for each question that
// has an answer: "Database: SQLite".
func Answered(q hook.Inquiry, r hook.Response) []string {
	var out []string
	for i, question := range q.Questions.All() {
		var g hook.Given
		if i < r.Given.Len() {
			g = r.Given.At(i)
		}
		parts := g.Chosen.Slice()
		if g.Text != "" {
			parts = append(parts, `"`+g.Text+`"`)
		}
		if len(parts) > 0 {
			out = append(out, question.Text+" "+strings.Join(parts, ", "))
		}
	}
	return out
}
