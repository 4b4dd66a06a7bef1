package askuser_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/askuser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return askuser.New(nil) }, &hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
}

// people answer what is asked of them.
type people struct {
	hook.NoHost
	answer func(ctx context.Context, q hook.Inquiry) (hook.Response, error)

	mu    sync.Mutex
	asked []hook.Inquiry
}

func (p *people) Ask(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	return p.answer(ctx, q)
}

// says are people who always give the same answer.
func says(given ...hook.Given) *people {
	return &people{answer: func(context.Context, hook.Inquiry) (hook.Response, error) {
		return hook.Response{Given: message.ListOf(given...)}, nil
	}}
}

func failing(err error) *people {
	return &people{answer: func(context.Context, hook.Inquiry) (hook.Response, error) { return hook.Response{}, err }}
}

func call(host hook.Host, args message.JSON) *hook.ToolCall {
	return hooktest.Call(hooktest.Step(hooktest.Turn(hooktest.Conversation(nil, host), "hello")), askuser.ToolAskUser, args)
}

func ask(t *testing.T, a *askuser.AskUser, host hook.Host, args message.JSON) message.ToolResult {
	t.Helper()
	return hooktest.Invoke(t.Context(), a, call(host, args))
}

const twoQuestions = `{"questions":[
	{"question":" Which database? ","header":"Database","options":[{"label":"SQLite","description":"one file"},{"label":" PostgreSQL "}]},
	{"question":"Which checks?","header":"Checks","multi_select":true,"options":[{"label":"vet"},{"label":"race"},{"label":"fuzz"}]}]}`

func TestAnswersComeBackByQuestion(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		given []hook.Given
		want  string
	}{
		{"chosen", []hook.Given{{Chosen: message.ListOf("SQLite")}, {Chosen: message.ListOf("vet", "race")}},
			"Which database? → SQLite\nWhich checks? → vet; race"},
		{"own words", []hook.Given{{Text: "none,\nfor now"}, {Chosen: message.ListOf("fuzz"), Text: "ten minutes"}},
			"Which database? → in their own words: none,\n  for now\nWhich checks? → fuzz; and in their own words: ten minutes"},
		{"one left out", []hook.Given{{}, {Chosen: message.ListOf("vet")}},
			"Which database? → (no answer)\nWhich checks? → vet"},
		{"too few", []hook.Given{{Chosen: message.ListOf("SQLite")}},
			"Which database? → SQLite\nWhich checks? → (no answer)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, askuser.New(nil), says(tc.given...), twoQuestions)
			assert.False(t, r.IsError(), r.Text())
			assert.Equal(t, tc.want, r.Text())
			var meta struct {
				Inquiry  hook.Inquiry
				Response hook.Response
			}
			require.NoError(t, json.Unmarshal([]byte(r.Meta), &meta))
			assert.Equal(t, "SQLite", meta.Inquiry.Questions.At(0).Options.At(0).Label)
			assert.Equal(t, message.ListOf(tc.given...), meta.Response.Given)
		})
	}
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		options *askuser.Options
		timeout time.Duration
	}{
		{"five minutes by default", nil, 5 * time.Minute},
		{"zero is the default", &askuser.Options{}, 5 * time.Minute},
		{"as told", &askuser.Options{Timeout: time.Hour}, time.Hour},
		{"without end", &askuser.Options{Timeout: -1}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := says(hook.Given{Text: "x"})
			ask(t, askuser.New(tc.options), host, twoQuestions)
			want := []hook.Inquiry{{
				ID: "call-1", Timeout: tc.timeout,
				Questions: message.ListOf(
					hook.Question{Header: "Database", Text: "Which database?", Options: message.ListOf(
						hook.Choice{Label: "SQLite", Description: "one file"}, hook.Choice{Label: "PostgreSQL"})},
					hook.Question{Header: "Checks", Text: "Which checks?", Multi: true, Options: message.ListOf(
						hook.Choice{Label: "vet"}, hook.Choice{Label: "race"}, hook.Choice{Label: "fuzz"})},
				),
			}}
			assert.Equal(t, want, host.asked)
		})
	}
}

func TestWithoutAnAnswerTheModelIsToldHowToGoOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		host hook.Host
		kind message.FailureKind
		want string
	}{
		{"in time", failing(fmt.Errorf("inquiry: %w", hook.ErrUnanswered)), message.FailTimeout, "Nobody answered within 5m0s. Go on without:"},
		{"no turn", hook.NoHost{}, message.FailOperation, "There is nobody here who could be asked. Go on without:"},
		{"put aside", says(hook.Given{}, hook.Given{Text: " "}), message.FailOperation, "The user put the questions aside without an answer. Go on without:"},
		{"not answered at all", says(), message.FailOperation, "The user put the questions aside without an answer. Go on without:"},
		{"a broken host", failing(errors.New("the line is dead")), message.FailOperation, "the line is dead"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, askuser.New(nil), tc.host, twoQuestions)
			assert.Equal(t, tc.kind, r.Failure)
			assert.Contains(t, r.Text(), tc.want)
		})
	}
	r := ask(t, askuser.New(&askuser.Options{Timeout: -1}), failing(hook.ErrUnanswered), twoQuestions)
	assert.Contains(t, r.Text(), "Nobody answered. Go on without:")
}

func TestWrongQuestionsAreRefusedBeforeAnybodyIsAsked(t *testing.T) {
	t.Parallel()
	one := func(q string) message.JSON { return message.JSON(`{"questions":[` + q + `]}`) }
	const options = `"options":[{"label":"a"},{"label":"b"}]`
	const question = `{"question":"Which?","header":"Which",` + options + `}`
	for _, tc := range []struct {
		name, want string
		args       message.JSON
	}{
		{"none", "questions: must have at least 1", `{"questions":[]}`},
		{"five", "questions: must have at most 4", one(strings.Repeat(question+",", 4) + question)},
		{"one option", "questions[0].options: must have at least 2", one(`{"question":"Which?","header":"W","options":[{"label":"a"}]}`)},
		{"five options", "questions[0].options: must have at most 4",
			one(`{"question":"Which?","header":"W","options":[{"label":"a"},{"label":"b"},{"label":"c"},{"label":"d"},{"label":"e"}]}`)},
		{"a long header", "questions[0].header: must have at most 12 characters", one(`{"question":"Which?","header":"Über zwölf Zeichen",` + options + `}`)},
		{"no header", "questions[0].header: is required", one(`{"question":"Which?",` + options + `}`)},
		{"a blank question", "questions[0].question and questions[0].header must have a text that is not blank.", one(`{"question":" ","header":"W",` + options + `}`)},
		{"a blank label", "questions[0].options[1].label is blank: write the option itself.",
			one(`{"question":"Which?","header":"W","options":[{"label":"a"},{"label":" \t"}]}`)},
		{"a label twice", "questions[0].options[2].label is the same as that of options[0]: options must differ in their labels, so that an answer says which is meant.",
			one(`{"question":"Which?","header":"W","options":[{"label":"Yes please"},{"label":"b"},{"label":" yes  PLEASE"}]}`)},
		{"a question twice", "questions[1].question is the same as that of questions[0]: ask it once, with multi_select if several answers may hold.", one(question + "," + question)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := says(hook.Given{Text: "x"})
			r := ask(t, askuser.New(nil), host, tc.args)
			assert.Equal(t, message.FailArguments, r.Failure)
			assert.Contains(t, r.Text(), tc.want)
			assert.Empty(t, host.asked)
		})
	}
	twelve := one(`{"question":"Which?","header":"zwölf Zeiche",` + options + `}`)
	assert.False(t, ask(t, askuser.New(nil), says(hook.Given{Text: "x"}), twelve).IsError(), "characters are counted, not bytes")
}

func TestSeveralAtOnceAndOneIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		host := &people{}
		host.answer = func(ctx context.Context, q hook.Inquiry) (hook.Response, error) {
			select {
			case <-time.After(time.Duration(len(q.ID)) * time.Second):
				return hook.Response{Given: message.ListOf(hook.Given{Text: q.ID})}, nil
			case <-ctx.Done():
				return hook.Response{}, ctx.Err()
			}
		}
		a := askuser.New(nil)
		run := func(ctx context.Context, key string) message.ToolResult {
			c := call(host, twoQuestions)
			inv, owned := a.Dispatch(ctx, c)
			assert.True(t, owned)
			return inv.Runner().Run(ctx, &hook.Env{Call: c, Key: key})
		}
		cancelled, cancel := context.WithCancel(t.Context())
		got := make([]message.ToolResult, 3)
		var wg sync.WaitGroup
		wg.Go(func() { got[0] = run(t.Context(), "k") })
		wg.Go(func() { got[1] = run(cancelled, "kkkkkk") })
		wg.Go(func() { got[2] = run(t.Context(), "kkk") })
		synctest.Wait()
		assert.Len(t, host.asked, 3, "nobody waits for another's answer")
		time.Sleep(2 * time.Second) // of the bubble's clock
		cancel()
		wg.Wait()
		assert.Equal(t, "Which database? → in their own words: k\nWhich checks? → (no answer)", got[0].Text())
		assert.Equal(t, message.FailCancelled, got[1].Failure)
		assert.Equal(t, "Which database? → in their own words: kkk\nWhich checks? → (no answer)", got[2].Text())
	})
}

func TestTheToolWaitsAndMayBeAskedAgain(t *testing.T) {
	t.Parallel()
	tool := askuser.New(nil).Schema()[0]
	assert.True(t, tool.Waits)
	assert.Equal(t, message.Annotations{ReadOnly: true, Idempotent: true}, tool.Annotations)
	assert.Zero(t, tool.Timeout, "the time for the answer is the inquiry's")
}

func TestThePromptNamesTheToolAsTheAgentHasIt(t *testing.T) {
	t.Parallel()
	cfg := hooktest.Agent(hook.AgentConfig{})
	assert.Contains(t, askuser.New(nil).SystemPrompt(cfg.Prefixed("u_")), "with u_ask_user when")
}
