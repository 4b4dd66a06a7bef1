package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/term"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/subsystems/approval"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// playChief opens the project; what it returns runs a turn of the agent chief.
func playChief(t *testing.T, o app.Options) (*app.App, func(ctx context.Context, text string) (hook.TurnOutcome, []hook.Event)) {
	t.Helper()
	opened, err := app.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) })
	_, err = opened.Register(t.Context(), "chief", hook.AgentConfig{})
	require.NoError(t, err)
	conv, err := opened.Conversation(t.Context(), "chief", "ann")
	require.NoError(t, err)
	return opened, func(ctx context.Context, text string) (hook.TurnOutcome, []hook.Event) {
		var events []hook.Event
		out, _ := send(ctx, opened, conv, text, &runtime.TurnOptions{Observe: func(ev hook.Event) { events = append(events, ev) }})
		return out, events
	}
}

// resultOf is the result of the turn's call of a tool.
func resultOf(t *testing.T, events []hook.Event, tool string) message.ToolResult {
	t.Helper()
	for _, ev := range events {
		if d := ev.Detail(); ev.Kind == event.CallResult && ev.Depth == 0 && d.Tool == tool {
			return d.Result
		}
	}
	require.Fail(t, "there is no result of "+tool)
	return message.ToolResult{}
}

// crewFiles are agents that are handed tasks: one of another program's format, one
// whose model fails, one that waits for ever.
func crewFiles() map[string]string {
	return map[string]string{
		"chief.yaml": `rules:
  - when: {step: 1, system: "- reviewer: Reads changes.\n- sleeper: Waits."}
    calls: [{tool: delegate, args: {tasks: [
      {agent: reviewer, message: Read it., instructions: Be kind., tools: [read]},
      {agent: broken, message: Fail.},
      {agent: sleeper, message: Wait.}]}}]
  - {when: {result: delegate}, say: All is back.}
`,
		"reviewer.yaml": `rules:
  - when: {step: 1, tools: [read], no_tools: [grep, bash, delegate], system: Be kind.}
    calls: [{tool: read, args: {file_path: note.txt}}]
  - {when: {result: {tool: read, contains: grapnel}}, say: It is about a grapnel.}
`,
		"broken.yaml":                `rules: [{when: always, error: The line is dead.}]`,
		"sleeper.yaml":               `rules: [{when: {step: 1}, calls: [{tool: ask_user, args: {questions: [{question: 'Now?', header: Now, options: [{label: a}, {label: b}]}]}}]}]`,
		"note.txt":                   "a grapnel\n",
		".grapnel/agents/chief.md":   "---\ndescription: Hands out.\nmodel: script:chief.yaml\n---\nYou hand out.",
		".claude/agents/reviewer.md": "---\nname: reviewer\ndescription: Reads changes.\ntools: Read, Grep\nmodel: script:reviewer.yaml\n---\nYou review.",
		".grapnel/agents/broken.md":  "---\nmodel: script:broken.yaml\n---\nYou fail.",
		".grapnel/agents/sleeper.md": "---\ndescription: Waits.\nmodel: script:sleeper.yaml\n---\nYou wait.",
	}
}

// TestDelegation: three tasks, of which one fails and one is cancelled.
func TestDelegation(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	var cancelled sync.WaitGroup
	opened, turn := playChief(t, app.Options{
		Paths: project(t, crewFiles()),
		Inquire: func(ctx context.Context, r term.Request) (hook.Response, string, error) {
			assert.Equal(t, "sleeper", r.Agent)
			assert.Equal(t, 1, r.Depth)
			close(asked)
			<-ctx.Done()
			return hook.Response{}, "", ctx.Err()
		},
	})
	cancelled.Go(func() {
		<-asked
		now, cancel := context.WithCancel(context.Background())
		cancel()
		assert.NoError(t, opened.Runtime.Unregister(now, "sleeper"), "it ends the turns that are in flight")
	})
	out, events := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	assert.Equal(t, "All is back.", out.Text())
	cancelled.Wait()
	var got []delegate.TaskResult
	require.NoError(t, json.Unmarshal([]byte(resultOf(t, events, "delegate").Text()), &got))
	require.Len(t, got, 3)
	assert.Equal(t, delegate.TaskResult{Agent: "reviewer", Result: "It is about a grapnel.", Stop: hook.StopCompleted}, got[0])
	assert.Equal(t, hook.StopError, got[1].Stop)
	assert.Contains(t, got[1].Error, "The line is dead.")
	assert.Equal(t, delegate.TaskResult{Agent: "sleeper", Stop: hook.StopCancelled, Error: "cancelled before it had finished"}, got[2])

	begun, ended := map[string]hook.Event{}, map[string]hook.Event{}
	for i, ev := range events {
		assert.Equal(t, events[0].Seq+uint64(i), ev.Seq, "one stream without gaps")
		assert.Equal(t, events[0].Conversation, ev.Conversation)
		switch ev.Kind {
		case event.SubagentStart:
			begun[ev.Agent] = ev
		case event.SubagentEnd:
			ended[ev.Agent] = ev
		}
	}
	require.Len(t, begun, 3)
	require.Len(t, ended, 3)
	assert.Equal(t, 1, begun["reviewer"].Depth)
	assert.Equal(t, "Read it.", begun["reviewer"].Text)
	assert.Equal(t, "It is about a grapnel.", ended["reviewer"].Text)
	assert.Equal(t, hook.StopError, ended["broken"].Detail().Stop)
}

// TestAFileSaysToWhomItsAgentDelegates: in the prompt, at the call, and where the
// file is wrong.
func TestAFileSaysToWhomItsAgentDelegates(t *testing.T) {
	t.Parallel()
	files := crewFiles()
	files[".grapnel/agents/chief.md"] = "---\nmodel: script:chief.yaml\ndelegate: {agents: [reviewer]}\n---\nYou hand out."
	files["chief.yaml"] = `rules:
  - {when: {step: 1, system: {matches: "The agents:\n- reviewer: Reads changes\\.\n\n"}}, calls: [{tool: delegate, args: {tasks: [{agent: sleeper, message: x}]}}]}
  - {when: {result: delegate}, say: "${result:delegate}"}
`
	p := project(t, files)
	_, turn := playChief(t, app.Options{Paths: p})
	out, _ := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	assert.Contains(t, out.Text(), `there is no agent \"sleeper\" to delegate to; there are reviewer`)

	files[".grapnel/agents/chief.md"] = "---\nmodel: script:chief.yaml\ndelegate: {agents: [cook]}\n---\nYou hand out."
	opened, err := app.Open(t.Context(), app.Options{Paths: project(t, files)})
	require.NoError(t, err)
	defer func() { assert.NoError(t, opened.Close(context.WithoutCancel(t.Context()))) }()
	_, err = opened.Register(t.Context(), "chief", hook.AgentConfig{})
	assert.ErrorContains(t, err, `chief.md:3:11: agent "chief": section delegate: agents: there is no agent "cook"; there are broken, chief, grapnel, reviewer, sleeper`)
}

func TestDelegationStaysInItsBounds(t *testing.T) {
	t.Parallel()
	files := crewFiles()
	// chief runs itself, until that is too deep.
	files["chief.yaml"] = `rules:
  - {when: {step: 1}, calls: [{tool: delegate, args: {tasks: [{agent: chief, message: Deeper.}]}}]}
  - {when: {result: delegate}, say: "${result:delegate}"}
`
	_, turn := playChief(t, app.Options{Paths: project(t, files)})
	out, events := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	assert.Contains(t, out.Text(), "agents may not run agents any deeper; do this task yourself")
	deepest := 0
	for _, ev := range events {
		deepest = max(deepest, ev.Depth)
	}
	assert.Equal(t, 3, deepest)
}

// TestAnAgentWithoutAModelHasTheOneOfTheProgram: an agent that was not registered
// before another one runs it.
func TestAnAgentWithoutAModelHasTheOneOfTheProgram(t *testing.T) {
	t.Parallel()
	files := crewFiles()
	files["chief.yaml"] = `rules:
  - {when: {step: 1}, calls: [{tool: delegate, args: {tasks: [{agent: plain, message: Hello.}]}}]}
  - {when: {result: delegate}, say: "${result:delegate}"}
`
	files[".grapnel/agents/plain.md"] = "---\ndescription: Plain.\n---\nYou are plain.\n"
	files["plain.yaml"] = `rules: [{when: {user: Hello.}, say: Plainly.}]`
	_, turn := playChief(t, app.Options{Paths: project(t, files), Model: "script:plain.yaml"})
	out, _ := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	assert.Contains(t, out.Text(), `"result":"Plainly."`)
}

const asks = `rules:
  - when: {step: 1}
    calls:
      - {tool: ask_user, args: {questions: [{question: 'Which way?', header: Way, options: [{label: left}, {label: right}]}]}}
      - {tool: ask_user, args: {questions: [{question: 'How far?', header: Far, options: [{label: near}, {label: far}]}]}}
  - {when: {result: ask_user}, say: Understood.}
`

func asking() map[string]string {
	return map[string]string{"chief.yaml": asks, ".grapnel/agents/chief.md": "---\nmodel: script:chief.yaml\n---\nYou ask."}
}

// TestQuestionsReachPeople: two at once, each gets its own answer.
func TestQuestionsReachPeople(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	_, turn := playChief(t, app.Options{
		Paths: project(t, asking()),
		Inquire: func(_ context.Context, r term.Request) (hook.Response, string, error) {
			assert.Equal(t, "chief", r.Agent)
			both.Done()
			both.Wait() // nobody waits for the other's answer
			last := r.Questions.At(0).Options.At(1).Label
			return hook.Response{Given: message.ListOf(hook.Given{Chosen: message.ListOf(last)})}, "test", nil
		},
	})
	out, events := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	var answers []string
	for _, ev := range events {
		if ev.Kind == event.CallResult {
			answers = append(answers, ev.Detail().Result.Text())
		}
		if ev.Kind == event.QuestionGiven {
			assert.Equal(t, "test", ev.Detail().By)
		}
	}
	assert.ElementsMatch(t, []string{"Which way? → right", "How far? → far"}, answers)
}

func TestQuestionsThatCannotBePut(t *testing.T) {
	t.Parallel()
	_, turn := playChief(t, app.Options{
		Paths: project(t, asking()),
		Inquire: func(context.Context, term.Request) (hook.Response, string, error) {
			return hook.Response{}, "", errors.New("the terminal is on fire")
		},
	})
	out, events := turn(t.Context(), "Go.")
	require.NoError(t, out.Err)
	assert.Contains(t, resultOf(t, events, "ask_user").Text(), "The user put the questions aside without an answer.")
	var said []string
	for _, ev := range events {
		if ev.Kind == event.Diagnostic {
			said = append(said, ev.Text)
		}
	}
	assert.Equal(t, []string{"the question could not be asked: the terminal is on fire", "the question could not be asked: the terminal is on fire"}, said)
}

func TestACancelledTurnAsksNobodyAnyMore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var both, ended sync.WaitGroup
	both.Add(2)
	ended.Add(2)
	_, turn := playChief(t, app.Options{
		Paths: project(t, asking()),
		Inquire: func(ctx context.Context, _ term.Request) (hook.Response, string, error) {
			defer ended.Done()
			both.Done()
			<-ctx.Done()
			return hook.Response{}, "", ctx.Err()
		},
	})
	go func() {
		both.Wait()
		cancel()
	}()
	out, events := turn(ctx, "Go.")
	require.Equal(t, hook.StopCancelled, out.Stop, "%v", out.Err)
	ended.Wait()
	for _, ev := range events {
		if ev.Kind == event.QuestionGiven {
			assert.Equal(t, "the agent stopped waiting before anybody answered", ev.Text)
		}
	}
	assert.True(t, strings.Contains(resultOf(t, events, "ask_user").Text(), "cancel"), "%s", resultOf(t, events, "ask_user").Text())
}

const writes = `rules:
  - {when: {step: 1}, calls: [{tool: write, args: {file_path: new.txt, content: new}}]}
  - {when: {result: write}, say: Understood.}
`

// TestApprovalsReachPeople: as questions do. What cannot be asked is refused.
func TestApprovalsReachPeople(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		inquire app.Inquire
		by      string
		result  string
		said    []string
	}{
		"approved": {
			func(_ context.Context, r term.Request) (hook.Response, string, error) {
				assert.Equal(t, "write", r.Approval.Tool)
				assert.Equal(t, []any{"chief", 0, true}, []any{r.Agent, r.Depth, r.Expires.IsZero()})
				return hook.Response{Approval: &hook.ApprovalReply{Answer: hook.AnswerApprove}}, "test", nil
			}, "Approval.test", "new.txt", nil,
		},
		"an error": {
			func(context.Context, term.Request) (hook.Response, string, error) {
				return hook.Response{}, "", errors.New("the terminal is on fire")
			}, "Approval.nobody", "The user could not be asked.", []string{"the question could not be asked: the terminal is on fire"},
		},
		"a panic": {
			func(context.Context, term.Request) (hook.Response, string, error) { panic("on fire") },
			"Approval.nobody", "The user could not be asked.", []string{"the question could not be asked: asking panicked: on fire"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := asking()
			files["chief.yaml"] = writes
			_, turn := playChief(t, app.Options{Paths: project(t, files), Approval: approval.Options{Timeout: -1}, Inquire: tt.inquire})
			out, events := turn(t.Context(), "Go.")
			require.NoError(t, out.Err)
			assert.Contains(t, resultOf(t, events, "write").Text(), tt.result)
			var by, said []string
			for _, ev := range events {
				switch ev.Kind {
				case event.ApprovalGiven:
					by = append(by, ev.Detail().By)
				case event.Diagnostic:
					said = append(said, ev.Text)
				}
			}
			assert.Equal(t, []string{tt.by}, by)
			assert.Equal(t, tt.said, said)
		})
	}
}

// TestAnApprovalIsTakenBack: when its time is over, and when its turn is cancelled.
func TestAnApprovalIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"in time": 50 * time.Millisecond, "with the turn": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			files := asking()
			files["chief.yaml"] = writes
			opened, turn := playChief(t, app.Options{
				Paths: project(t, files), Approval: approval.Options{Timeout: timeout},
				Inquire: func(ctx context.Context, _ term.Request) (hook.Response, string, error) {
					if timeout < 0 {
						cancel()
					}
					<-ctx.Done()
					ended <- ctx.Err()
					return hook.Response{}, "", ctx.Err()
				},
			})
			out, events := turn(ctx, "Go.")
			require.ErrorIs(t, <-ended, context.Canceled)
			assert.Equal(t, timeout < 0, out.Stop == hook.StopCancelled)
			assert.Empty(t, opened.Runtime.Pending())
			for _, ev := range events {
				assert.NotEqual(t, event.Diagnostic, ev.Kind, ev.Text)
			}
		})
	}
}
