package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/screen"
)

// ErrDeclined is the error of [Answers] if the person does not want to answer: then a call
// is refused, and a question has no answer.
var ErrDeclined = errors.New("terminal: the person declines to answer")

// ByTerminal, ByNobody and ByYes are names of who answered. ByYes: no person was asked,
// because an option allows every call.
const (
	ByTerminal = "terminal"
	ByNobody   = "nobody"
	ByYes      = "yes"
)

// Inquire asks the person, and returns the answer and the name of who gave it. Without a
// person it refuses calls, and the answer says so. It blocks until the person has answered,
// or until ctx ends, and then returns the error of ctx.
func (a *Approver) Inquire(ctx context.Context, r Request) (answer hook.Response, by string, err error) {
	if r.Approval == nil {
		return a.question(ctx, r)
	}
	reply, by, err := a.approve(ctx, r)
	if err != nil {
		return hook.Response{}, "", err
	}
	return hook.Response{Approval: &reply}, by, nil
}

// question asks the questions one after another, and returns an answer for each of them.
func (a *Approver) question(ctx context.Context, r Request) (answer hook.Response, by string, err error) {
	if a.person == nil {
		return absent(r.Inquiry, "standard input is not a terminal"), ByNobody, nil
	}
	free, err := a.take(ctx)
	if err != nil {
		return hook.Response{}, "", err
	}
	defer free()
	given := make([]hook.Given, r.Questions.Len())
	a.show(screen.Format("\n%s asks:\n", r.Agent))
	for i, question := range r.Questions.All() {
		g, err := a.inquire(ctx, question)
		switch {
		case errors.Is(err, io.EOF):
			return absent(r.Inquiry, "standard input has ended"), ByNobody, nil
		case errors.Is(err, ErrDeclined):
			return hook.Response{Given: message.Freeze(given)}, ByTerminal, nil
		case err != nil:
			return hook.Response{}, "", err
		}
		given[i] = g
	}
	return hook.Response{Given: message.Freeze(given)}, ByTerminal, nil
}

// take waits for the screen, on which nothing else appears until free is called.
func (a *Approver) take(ctx context.Context) (free func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ctx.Err() != nil { // select may choose either
		<-a.turn
		return nil, ctx.Err()
	}
	a.opts.Gate.Close()
	return func() {
		a.opts.Gate.Open()
		<-a.turn
	}, nil
}

// absent returns the answer if no person can give one.
func absent(q hook.Inquiry, why string) hook.Response {
	given := make([]hook.Given, q.Questions.Len())
	if len(given) > 0 {
		given[0].Text = fmt.Sprintf("(This is no answer of the user's. Nobody can answer here: %s. "+
			"To be asked, the user can run the command again in a terminal.)", why)
	}
	return hook.Response{Given: message.Freeze(given)}
}

// inquire asks one question until it understands the answer.
func (a *Approver) inquire(ctx context.Context, q hook.Question) (hook.Given, error) {
	a.show(choices(q))
	for {
		answer, err := a.person.Answer(ctx, ask(q))
		if err != nil {
			return hook.Given{}, err
		}
		read := understand(q, answer)
		if read.problem == "" && read.doubt {
			if err := a.makeSure(ctx, q, &read); err != nil {
				return hook.Given{}, err
			}
		}
		if read.problem == "" {
			return read.given, nil
		}
		a.show(screen.Format("  %s\n", read.problem))
	}
}

// makeSure shows the options with these numbers, and asks whether the person means them.
// Without a yes the answer becomes a problem, and the question is asked again.
func (a *Approver) makeSure(ctx context.Context, q hook.Question, r *reading) error {
	a.show(screen.Lit("  That is also the name of another option. By number it is:\n"))
	for i, o := range q.Options.All() {
		if slices.Contains(r.given.Chosen.Slice(), o.Label) {
			a.show(option(i, o))
		}
	}
	sure, err := a.person.Answer(ctx, "Is that meant? [y]es, [n]o: ")
	if err != nil {
		return err
	}
	if sure = strings.ToLower(strings.TrimSpace(sure)); sure != "y" && sure != "yes" {
		r.problem = "Nothing is chosen. Write the number that stands in front of the option."
	}
	return nil
}

func choices(q hook.Question) screen.Text {
	out := []screen.Text{screen.Format("%s\n", screen.Rows(q.Text))}
	if q.Header != "" {
		out = slices.Insert(out, 0, screen.Format("[%s] ", screen.Fold(q.Header)))
	}
	for i, o := range q.Options.All() {
		out = append(out, option(i, o))
	}
	return screen.Join(out...)
}

func option(i int, o hook.Choice) screen.Text {
	if o.Description == "" {
		return screen.Format("  %d  %s\n", i+1, screen.Fold(o.Label))
	}
	return screen.Format("  %d  %s: %s\n", i+1, screen.Fold(o.Label), screen.Exact(screen.Fold(o.Description)).Cut(failureWidth))
}

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

// reading is a parsed answer.
type reading struct {
	given hook.Given
	// problem says what to type instead; "" if the answer was understood.
	problem string
	// doubt: the answer is the number of one option and the name of another.
	doubt bool
}

// understand parses an answer: the numbers of options, the name of an option, or else the
// person's own words.
func understand(q hook.Question, answer string) reading {
	answer = strings.TrimSpace(answer)
	numbers, numeric := numbersIn(answer)
	names := named(q, answer)
	switch {
	case answer == "":
		return reading{}
	case q.Options.Len() == 0 || !numeric && len(names) == 0:
		return reading{given: hook.Given{Text: answer}}
	case !numeric && len(names) > 1:
		return reading{problem: "Several options have this name. Write the number that stands in front of the option."}
	case !numeric:
		return reading{given: hook.Given{Chosen: message.Freeze(names)}}
	}
	r := numbered(q, numbers)
	switch {
	case r.problem != "" && len(names) == 1: // no option has that number
		return reading{given: hook.Given{Chosen: message.Freeze(names)}}
	case r.problem == "" && len(names) > 0:
		r.doubt = !slices.Equal(names, r.given.Chosen.Slice())
	}
	return r
}

// named returns the option with exactly the name, or else all options that differ from it
// only in case and blanks.
func named(q hook.Question, name string) []string {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	var out []string
	for _, o := range q.Options.All() {
		if o.Label == name {
			return []string{name}
		}
		if fold(o.Label) == fold(name) {
			out = append(out, o.Label)
		}
	}
	return out
}

// numbered chooses the options with the numbers, the first of which is 1.
func numbered(q hook.Question, numbers []int) reading {
	var labels []string
	for _, n := range numbers {
		if n < 1 || n > q.Options.Len() {
			return reading{problem: fmt.Sprintf("There is no option %d. To answer with a number of your own, write a word with it.", n)}
		}
		if label := q.Options.At(n - 1).Label; !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	if len(labels) > 1 && !q.Multi {
		return reading{problem: "Only one option can be chosen."}
	}
	return reading{given: hook.Given{Chosen: message.Freeze(labels)}}
}

// numbersIn returns the numbers of an answer that has only numbers.
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

// Answered returns the answers to an inquiry, a line for each answered question:
// "Database: SQLite".
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

// Unasked returns the answer to a request that no person saw: it refuses a call, and leaves
// questions without an answer.
func Unasked(q hook.Inquiry) hook.Response {
	if q.Approval != nil {
		return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerRefuse, Reason: "The user could not be asked."}}
	}
	return hook.Response{Given: message.Freeze(make([]hook.Given, q.Questions.Len()))}
}
