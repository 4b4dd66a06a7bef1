package term_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/term"
)

func inquiry() hook.Inquiry {
	return hook.Inquiry{ID: "i", Questions: message.ListOf(
		hook.Question{Header: "Database", Text: "Which database?", Options: message.ListOf(
			hook.Choice{Label: "SQLite", Description: "one\nfile\x1b[2J"}, hook.Choice{Label: "PostgreSQL"})},
		hook.Question{Text: "Which checks?", Multi: true, Options: message.ListOf(
			hook.Choice{Label: "vet"}, hook.Choice{Label: "race"}, hook.Choice{Label: "fuzz"})},
		hook.Question{Text: "What is it called?"},
	)}
}

// TestAnAnswerWithTwoMeaningsIsAskedAbout: a number chooses the option that it stands
// in front of. Where another option has that name, nothing is chosen without a yes.
func TestAnAnswerWithTwoMeaningsIsAskedAbout(t *testing.T) {
	t.Parallel()
	chosen := func(labels ...string) hook.Given { return hook.Given{Chosen: message.ListOf(labels...)} }
	const again = "That is also the name of another option. By number it is:\n"
	numbers := []string{"2", "1", "2026", "0"}
	for _, tc := range []struct {
		name   string
		labels []string
		multi  bool
		typed  string
		want   hook.Given
		asked  string // what is asked behind the question; "" is nothing
	}{
		{"the number, said to be meant", numbers, false, "1\ny\n", chosen("2"), again + "  1  2\nIs that meant? [y]es, [n]o: "},
		{"the name, found by its number", numbers, false, "1\nn\n2\nyes\n", chosen("1"), again + "  2  1\nIs that meant? [y]es, [n]o: "},
		{"neither yes nor no", numbers, false, "1\n2\n3\n", chosen("2026"), "Nothing is chosen."},
		{"Enter is no yes", numbers, false, "1\n\n3\n", chosen("2026"), "Nothing is chosen."},
		{"several", numbers, true, "3, 1\n", chosen("2026", "2"), ""},
		{"a number that only is a name", numbers, false, "2026\n", chosen("2026"), ""},
		{"none is a name here", numbers, false, "0\n", chosen("0"), ""},
		{"both are the same option", []string{"1", "two"}, false, "1\n", chosen("1"), ""},
		{"a list that is a name", []string{"a", "b", "1, 2"}, true, "1, 2\ny\n", chosen("a", "b"), again + "  1  a\n  2  b\nIs that meant?"},
		{"a list that only is a name", []string{"a", "b", "1,2"}, false, "1,2\n", chosen("1,2"), ""},
		{"names that differ in case", []string{"Go", "GO"}, false, "go\n2\n", chosen("GO"), "Several options have this name."},
		{"one of them exactly", []string{"Go", "GO"}, false, "GO\n", chosen("GO"), ""},
		{"no option is 0", []string{"a", "b"}, false, "0\n2\n", chosen("b"), "There is no option 0."},
		{"0 of one's own", nil, false, "0\n", hook.Given{Text: "0"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			options := make([]hook.Choice, len(tc.labels))
			for i, label := range tc.labels {
				options[i] = hook.Choice{Label: label}
			}
			var out bytes.Buffer
			a := term.NewApprover(&term.ApproverOptions{In: slowly(t, tc.typed), Out: &out})
			r, by, err := a.Inquire(t.Context(), term.Request{Agent: "helper", Inquiry: hook.Inquiry{ID: "q", Questions: message.ListOf(
				hook.Question{Text: "How many?", Multi: tc.multi, Options: message.Freeze(options)})}})
			require.NoError(t, err)
			assert.Equal(t, term.ByTerminal, by, "the input was used up")
			assert.Equal(t, []hook.Given{tc.want}, r.Given.Slice())
			_, asked, _ := strings.Cut(out.String(), "(Enter for none): ")
			assert.Contains(t, asked, tc.asked)
			if tc.asked == "" {
				assert.Empty(t, asked)
			}
		})
	}
}

func TestInquire(t *testing.T) {
	t.Parallel()
	chosen := func(labels ...string) hook.Given { return hook.Given{Chosen: message.ListOf(labels...)} }
	text := func(s string) hook.Given { return hook.Given{Text: s} }
	for _, tc := range []struct {
		name, typed string
		want        []hook.Given
		said        string
	}{
		{"numbers", "2\n1,3\nBoat\n", []hook.Given{chosen("PostgreSQL"), chosen("vet", "fuzz"), text("Boat")}, ""},
		{"labels", "sqlite\nRACE\nvet\n", []hook.Given{chosen("SQLite"), chosen("race"), text("vet")}, ""},
		{"left out", "\n\n\n", []hook.Given{{}, {}, {}}, ""},
		{"own words", "the one you like\nvet and race\n12\n", []hook.Given{text("the one you like"), text("vet and race"), text("12")}, ""},
		{"several, twice", "1\n3 1; 3\nx\n", []hook.Given{chosen("SQLite"), chosen("fuzz", "vet"), text("x")}, ""},
		{"no such number", "7\n1\n1,4\n2\nx\n", []hook.Given{chosen("SQLite"), chosen("race"), text("x")}, "There is no option 7."},
		{"one only", "1,2\n1\n1\nx\n", []hook.Given{chosen("SQLite"), chosen("vet"), text("x")}, "Only one option can be chosen."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := term.NewApprover(&term.ApproverOptions{In: slowly(t, tc.typed), Out: &out})
			r, by, err := a.Inquire(t.Context(), term.Request{Agent: "helper", Inquiry: inquiry()})
			require.NoError(t, err)
			assert.Equal(t, term.ByTerminal, by)
			assert.Equal(t, tc.want, r.Given.Slice())
			assert.Contains(t, out.String(), "\nhelper asks:\n[Database] Which database?\n  1  SQLite: one file\\x1b[2J\n  2  PostgreSQL\n1-2, or your own words (Enter for none): ")
			assert.Contains(t, out.String(), "Which checks?\n  1  vet\n  2  race\n  3  fuzz\n1-3, several as 1,2, or your own words (Enter for none): ")
			assert.Contains(t, out.String(), "What is it called?\nYour answer (Enter for none): ")
			assert.Contains(t, out.String(), tc.said)
		})
	}
}

func TestInquireWhereNobodyAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, want string
		options    *term.ApproverOptions
	}{
		{"no terminal", "Nobody can answer here: standard input is not a terminal. To be asked, the user can run the command again in a terminal.",
			&term.ApproverOptions{Yes: true}},
		{"the input ends", "Nobody can answer here: standard input has ended.", &term.ApproverOptions{In: strings.NewReader("1\n")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, by, err := term.NewApprover(tc.options).Inquire(t.Context(), term.Request{Agent: "helper", Inquiry: inquiry()})
			require.NoError(t, err)
			assert.Equal(t, term.ByNobody, by)
			require.Equal(t, 3, r.Given.Len())
			assert.Contains(t, r.Given.At(0).Text, tc.want)
			assert.Equal(t, []hook.Given{{}, {}}, r.Given.From(1).Slice())
		})
	}
}

// person answers by a function.
type person func(question string) (string, error)

func (p person) Answer(_ context.Context, question string) (string, error) { return p(question) }

func (p person) Edit(_ context.Context, question, _ string) (string, error) { return p(question) }

func TestWhoDeclinesLeavesTheRestOut(t *testing.T) {
	t.Parallel()
	asked := 0
	declines := person(func(string) (string, error) {
		asked++
		if asked == 1 {
			return "1", nil
		}
		return "", term.ErrDeclined
	})
	a := term.NewApprover(&term.ApproverOptions{Answers: declines})
	r, by, err := a.Inquire(t.Context(), term.Request{Agent: "helper", Inquiry: inquiry()})
	require.NoError(t, err)
	assert.Equal(t, term.ByTerminal, by)
	assert.Equal(t, []hook.Given{{Chosen: message.ListOf("SQLite")}, {}, {}}, r.Given.Slice())
	assert.Equal(t, 2, asked)

	reply, err := approves(t.Context(), a, listing())
	require.NoError(t, err)
	assert.Equal(t, hook.ApprovalReply{Answer: hook.AnswerRefuse, By: term.ByTerminal}, reply)
	ok, err := a.Confirm(t.Context(), "", "")
	require.NoError(t, err)
	assert.False(t, ok)
}

// TestOneQuestionAtATime: while one is on the screen, nothing else is.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, typing := io.Pipe()
		var screen bytes.Buffer
		gate := term.NewGate(&screen)
		a := term.NewApprover(&term.ApproverOptions{In: in, Out: &screen, Gate: gate})
		one := hook.Inquiry{ID: "1", Questions: message.ListOf(hook.Question{Text: "First?"})}
		two := hook.Inquiry{ID: "2", Questions: message.ListOf(hook.Question{Text: "Second?"})}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			r, _, err := a.Inquire(t.Context(), term.Request{Agent: "a", Inquiry: one})
			assert.NoError(t, err)
			assert.Equal(t, "yes", r.Given.At(0).Text)
		})
		synctest.Wait()
		wg.Go(func() {
			_, _, err := a.Inquire(ctx, term.Request{Agent: "b", Inquiry: two})
			assert.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		_, _ = gate.Write([]byte("meanwhile\n"))
		assert.Equal(t, "\na asks:\nFirst?\nYour answer (Enter for none): ", screen.String())
		_, _ = io.WriteString(typing, "yes\n")
		synctest.Wait()
		assert.Equal(t, "\na asks:\nFirst?\nYour answer (Enter for none): meanwhile\n\nb asks:\nSecond?\nYour answer (Enter for none): ", screen.String())
		cancel()
		wg.Wait()
		_ = typing.Close() // ends the read that is still under way
		synctest.Wait()
	})
}

func TestGate(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := term.NewGate(&out)
	write := func(s string) {
		n, err := g.Write([]byte(s))
		require.NoError(t, err)
		require.Equal(t, len(s), n)
	}
	write("a")
	g.Close()
	g.Close()
	write("b")
	g.Open()
	write("c")
	assert.Equal(t, "a", out.String())
	g.Open()
	write("d")
	assert.Equal(t, "abcd", out.String())

	broken := term.NewGate(brokenPipe{})
	broken.Close()
	_, err := broken.Write([]byte("x"))
	require.NoError(t, err, "it is kept")
	broken.Open()
	_, err = broken.Write([]byte("y"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	(*term.Gate)(nil).Close()
	(*term.Gate)(nil).Open()
}
