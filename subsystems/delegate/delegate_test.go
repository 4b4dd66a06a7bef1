package delegate_test

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
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func crew() []delegate.AgentInfo {
	return []delegate.AgentInfo{
		{Name: "writer", Description: "Writes\n  texts."},
		{Name: "reviewer", Description: "Reads what others wrote."},
		{Name: "plain"},
	}
}

func withCrew() *delegate.Delegate { return delegate.New(&delegate.Options{Agents: crew}) }

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	narrowed := hook.AgentConfig{}.WithSection("delegate", `{"agents":["writer"]}`)
	t.Run("all", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook { return withCrew() }, &hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
	})
	t.Run("narrowed", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook { return withCrew() }, &hooktest.Options{Agent: narrowed})
	})
	t.Run("without a list", func(t *testing.T) {
		hooktest.Run(t, func(*testing.T) hook.Hook { return delegate.New(nil) }, nil)
	})
}

// shop runs agents as it is told to.
type shop struct {
	hook.NoHost
	run func(ctx context.Context, r hook.AgentRun) (hook.TurnOutcome, error)

	mu   sync.Mutex
	runs []hook.AgentRun
}

func (s *shop) RunAgent(ctx context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
	s.mu.Lock()
	s.runs = append(s.runs, r)
	s.mu.Unlock()
	return s.run(ctx, r)
}

func said(text string) message.Message {
	return message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(text))}
}

// answer is the outcome of a turn that has ended well.
func answer(text string) hook.TurnOutcome {
	return hook.TurnOutcome{Stop: hook.StopCompleted, Message: said(text)}
}

func echo(_ context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
	return answer(r.Agent + " did: " + r.Input.Text()), nil
}

func call(host hook.Host, section, args message.JSON) *hook.ToolCall {
	cfg := hook.AgentConfig{Name: "chief"}
	if section != "" {
		cfg = cfg.WithSection("delegate", section)
	}
	turn := hooktest.Turn(hooktest.Conversation(&cfg, host), "hello")
	return hooktest.Call(hooktest.Step(turn), delegate.ToolDelegate, args)
}

func results(t *testing.T, r message.ToolResult) []delegate.TaskResult {
	t.Helper()
	require.False(t, r.IsError(), r.Text())
	var out []delegate.TaskResult
	require.NoError(t, json.Unmarshal([]byte(r.Text()), &out), r.Text())
	return out
}

func TestTasksAreRunAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	host := &shop{run: echo}
	c := call(host, "", `{"tasks":[
		{"agent":"writer","message":"a poem","instructions":"In rhymes.","tools":["read"]},
		{"agent":"reviewer","message":"the poem","tools":[]},
		{"agent":"writer","message":"a title"}]}`)
	got := results(t, hooktest.Invoke(t.Context(), withCrew(), c))
	assert.Equal(t, []delegate.TaskResult{
		{Agent: "writer", Result: "writer did: a poem", Stop: hook.StopCompleted},
		{Agent: "reviewer", Result: "reviewer did: the poem", Stop: hook.StopCompleted},
		{Agent: "writer", Result: "writer did: a title", Stop: hook.StopCompleted},
	}, got)
	byIndex := map[int]hook.AgentRun{}
	for _, r := range host.runs {
		assert.Equal(t, "call-1", r.Call.ID())
		r.Call = nil
		byIndex[r.Index] = r
	}
	assert.Equal(t, map[int]hook.AgentRun{
		0: {Agent: "writer", Input: message.TextInput("a poem"), Instructions: "In rhymes.", Tools: []string{"read"}},
		1: {Agent: "reviewer", Input: message.TextInput("the poem"), Tools: []string{}, Index: 1},
		2: {Agent: "writer", Input: message.TextInput("a title"), Index: 2},
	}, byIndex)
}

// TestOneTaskTakesNothingFromTheOthers: a task that fails, panics or is cancelled.
func TestOneTaskTakesNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	secret := &hook.Failure{Subsystem: "Guard", Point: point.Preprocess, Err: errors.New("password is x")}
	host := &shop{run: func(ctx context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
		switch text := r.Input.Text(); text {
		case "fail":
			err := errors.New("the model is gone")
			return hook.TurnOutcome{Stop: hook.StopError, Err: err}, err
		case "panic":
			panic("a secret")
		case "hook":
			return hook.TurnOutcome{Stop: hook.StopError, Err: secret}, fmt.Errorf("turn: %w", secret)
		case "cancel":
			return hook.TurnOutcome{Stop: hook.StopCancelled, Message: said("half"), Err: context.Canceled}, context.Canceled
		case "limit":
			return hook.TurnOutcome{Stop: hook.StopStepsLimit, Signals: message.ListOf(hook.StopSignal{Reason: hook.StopStepsLimit, Text: "20 steps"})}, nil
		case "tokens":
			return hook.TurnOutcome{Stop: hook.StopTokenLimit}, nil
		case "deep":
			return hook.TurnOutcome{}, hook.ErrDepth
		case "nowhere":
			return hook.NoHost{}.RunAgent(ctx, r)
		}
		return echo(ctx, r)
	}}
	tasks := func(texts ...string) message.JSON {
		var list []string
		for _, text := range texts {
			list = append(list, fmt.Sprintf(`{"agent":"plain","message":%q}`, text))
		}
		return message.JSON(`{"tasks":[` + strings.Join(list, ",") + `]}`)
	}
	d := withCrew()
	got := results(t, hooktest.Invoke(t.Context(), d, call(host, "", tasks("fail", "work", "panic", "hook", "cancel", "limit", "tokens", "more work"))))
	assert.Equal(t, []delegate.TaskResult{
		{Agent: "plain", Stop: hook.StopError, Error: "the model is gone"},
		{Agent: "plain", Stop: hook.StopCompleted, Result: "plain did: work"},
		{Agent: "plain", Stop: hook.StopError, Error: "running the agent failed inside the program"},
		{Agent: "plain", Stop: hook.StopError, Error: "Guard failed at Preprocess"},
		{Agent: "plain", Stop: hook.StopCancelled, Result: "half", Error: "cancelled before it had finished"},
		{Agent: "plain", Stop: hook.StopStepsLimit, Error: "stopped before it had finished: 20 steps"},
		{Agent: "plain", Stop: hook.StopTokenLimit, Error: "stopped before it had finished: token_limit"},
		{Agent: "plain", Stop: hook.StopCompleted, Result: "plain did: more work"},
	}, got)
	got = results(t, hooktest.Invoke(t.Context(), d, call(host, "", tasks("deep", "nowhere"))))
	assert.Equal(t, []delegate.TaskResult{
		{Agent: "plain", Stop: hook.StopError, Error: "agents may not run agents any deeper; do this task yourself"},
		{Agent: "plain", Stop: hook.StopError, Error: "no agent can be run here; do this task yourself"},
	}, got)
}

func TestTasksRunAtTheSameTimeWithinABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		host := &shop{run: func(ctx context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Duration(8-r.Index) * time.Second) // of the bubble's clock: the last ends first
			mu.Lock()
			running--
			mu.Unlock()
			return answer(fmt.Sprint(r.Index)), nil
		}}
		d := delegate.New(&delegate.Options{Parallel: 3})
		task := `{"agent":"a","message":"x"}`
		began := time.Now()
		got := results(t, hooktest.Invoke(t.Context(), d, call(host, "", message.JSON(`{"tasks":[`+strings.Repeat(task+",", 7)+task+`]}`))))
		for i, r := range got {
			assert.Equal(t, fmt.Sprint(i), r.Result, "the order is that of the tasks")
		}
		assert.Equal(t, 3, most)
		assert.Less(t, time.Since(began), 36*time.Second, "one after the other")
	})
}

func TestACancelEndsWhatRunsAndBeginsNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		host := &shop{run: func(ctx context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
			if r.Index == 0 {
				return answer("quick"), nil
			}
			<-ctx.Done()
			return hook.TurnOutcome{Stop: hook.StopCancelled, Err: ctx.Err()}, ctx.Err()
		}}
		d := delegate.New(&delegate.Options{Parallel: 1})
		task := `{"agent":"a","message":"x"}`
		done := make(chan message.ToolResult, 1)
		// Any of them may have the one slot first, so nothing is said about the first task.
		go func() {
			done <- hooktest.Invoke(ctx, d, call(host, "", message.JSON(`{"tasks":[`+task+`,`+task+`,`+task+`]}`)))
		}()
		synctest.Wait()
		cancel()
		got := results(t, <-done)
		var stopped, never int
		for _, r := range got[1:] {
			assert.Equal(t, hook.StopCancelled, r.Stop)
			switch r.Error {
			case "cancelled before it had finished":
				stopped++
			case "not begun: the turn was cancelled":
				never++
			}
		}
		assert.Equal(t, []int{1, 1}, []int{stopped, never})
	})
}

func TestUnknownAgents(t *testing.T) {
	t.Parallel()
	one := func(name string) message.JSON {
		return message.JSON(fmt.Sprintf(`{"tasks":[{"agent":%q,"message":"x"},{"agent":"writer","message":"y"}]}`, name))
	}
	for _, tc := range []struct{ name, agent, section, want string }{
		{"unknown", "cook", ``, `there is no agent "cook" to delegate to; there are plain, reviewer, writer`},
		{"almost", "reviwer", ``, `there is no agent "reviwer" to delegate to; there are plain, reviewer, writer; do you mean reviewer?`},
		{"out of scope", "plain", `{"agents":["writer"]}`, `there is no agent "plain" to delegate to; there are writer`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := &shop{run: echo}
			got := results(t, hooktest.Invoke(t.Context(), withCrew(), call(host, message.JSON(tc.section), one(tc.agent))))
			assert.Equal(t, []delegate.TaskResult{
				{Agent: tc.agent, Stop: hook.StopError, Error: tc.want},
				{Agent: "writer", Stop: hook.StopCompleted, Result: "writer did: y"},
			}, got)
			assert.Len(t, host.runs, 1)
		})
	}
	t.Run("without a list any name is tried", func(t *testing.T) {
		got := results(t, hooktest.Invoke(t.Context(), delegate.New(nil), call(&shop{run: echo}, "", one("cook"))))
		assert.Equal(t, "cook did: x", got[0].Result)
	})
	t.Run("but for a section", func(t *testing.T) {
		got := results(t, hooktest.Invoke(t.Context(), delegate.New(nil), call(&shop{run: echo}, `{"agents":["writer"]}`, one("cook"))))
		assert.Equal(t, `there is no agent "cook" to delegate to; there are writer`, got[0].Error)
	})
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	host := &shop{run: func(_ context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
		if r.Index == 1 {
			return hook.TurnOutcome{Stop: hook.StopError}, errors.New(strings.Repeat("e", 100))
		}
		return answer("12345678" + strings.Repeat("ü", 50)), nil
	}}
	d := delegate.New(&delegate.Options{MaxResult: 31})
	got := results(t, hooktest.Invoke(t.Context(), d, call(host, "", `{"tasks":[{"agent":"a","message":"x"},{"agent":"a","message":"y"}]}`)))
	assert.Equal(t, "12345678ü… [98 bytes more]", got[0].Result)
	assert.True(t, utf8.ValidString(got[0].Result))
	assert.Equal(t, "eeeeeeeeeee… [89 bytes more]", got[1].Error)
}

func TestArguments(t *testing.T) {
	t.Parallel()
	task := `{"agent":"writer","message":"x"}`
	for _, tc := range []struct {
		name, want string
		args       message.JSON
	}{
		{"no task", "tasks: must have at least 1", `{"tasks":[]}`},
		{"nine tasks", "tasks: must have at most 8", message.JSON(`{"tasks":[` + strings.Repeat(task+",", 8) + task + `]}`)},
		{"no message", "tasks[0].message: is required", `{"tasks":[{"agent":"writer"}]}`},
		{"a blank message", "tasks[1].message is blank: write what the agent is to do", message.JSON(`{"tasks":[` + task + `,{"agent":"writer","message":" "}]}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			host := &shop{run: echo}
			r := hooktest.Invoke(t.Context(), withCrew(), call(host, "", tc.args))
			assert.Equal(t, message.FailArguments, r.Failure)
			assert.Contains(t, r.Text(), tc.want)
			assert.Empty(t, host.runs)
		})
	}
}

// TestALimitedCallStartsNobody: an agent that is run could not be held to the
// grant of the call that runs it.
func TestALimitedCallStartsNobody(t *testing.T) {
	t.Parallel()
	in := delegate.DelegateInput{Tasks: []delegate.Task{{Agent: "writer", Message: "x"}}}
	for _, g := range []hook.Grant{{ReadOnly: true}, {NoNetwork: true}, {Root: "/tmp"}, {Void: true}} {
		host := &shop{run: echo}
		_, err := withCrew().Delegate(t.Context(), &hook.Env{Call: call(host, "", ""), Grant: g}, in)
		var failure *hook.ToolError
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, message.FailDenied, failure.Kind)
		assert.Empty(t, host.runs)
	}
	_, err := withCrew().Delegate(t.Context(), &hook.Env{Call: call(&shop{run: echo}, "", ""), Grant: hook.Grant{Timeout: time.Minute, MaxOutput: 1}}, in)
	assert.NoError(t, err, "the runtime keeps these two itself")
}

func TestSections(t *testing.T) {
	t.Parallel()
	with := func(section message.JSON) hook.AgentConfig {
		return hook.AgentConfig{Name: "x"}.WithSection("delegate", section)
	}
	for _, tc := range []struct{ section, want string }{
		{``, ""}, {`{}`, ""}, {`{"agents":[]}`, ""}, {`{"agents":["writer"]}`, ""},
		{`{"agents":["cook"]}`, `agent "x": section delegate: agents: there is no agent "cook"; there are plain, reviewer, writer`},
		{`{"agent":[]}`, `agent "x": section delegate: agent: unknown key; known are agents`},
	} {
		_, err := withCrew().OnBuildAgent(t.Context(), with(message.JSON(tc.section)))
		if tc.want == "" {
			assert.NoError(t, err, tc.section)
			continue
		}
		assert.EqualError(t, err, tc.want)
	}
	_, err := delegate.New(nil).OnBuildAgent(t.Context(), with(`{"agents":["cook"]}`))
	require.NoError(t, err, "nobody knows which there are")
	nobody := delegate.New(&delegate.Options{Agents: func() []delegate.AgentInfo { return nil }})
	_, err = nobody.OnBuildAgent(t.Context(), with(`{"agents":["cook"]}`))
	require.EqualError(t, err, `agent "x": section delegate: agents: there is no agent "cook"; there is none to delegate to`)

	scope := func(d *delegate.Delegate, section message.JSON) hook.Scope {
		cfg := with(section)
		return d.ScopedTools(&cfg)
	}
	assert.Equal(t, hook.Scope{}, scope(withCrew(), ``))
	assert.Equal(t, hook.Scope{}, scope(withCrew(), `{}`))
	assert.Equal(t, hook.Scope{Line: "Agents to delegate to: reviewer, writer."}, scope(withCrew(), `{"agents":["writer","reviewer","writer"]}`))
	assert.Equal(t, hook.Scope{Tools: []string{}}, scope(withCrew(), `{"agents":[]}`))
	assert.Equal(t, hook.Scope{Tools: []string{}}, scope(withCrew(), `{"agents":7}`))
	assert.Equal(t, hook.Scope{Tools: []string{}}, scope(nobody, ``))
	assert.Equal(t, hook.Scope{}, scope(delegate.New(nil), ``))
	assert.Equal(t, hook.Scope{Tools: []string{}}, scope(delegate.New(nil), `{"agents":[]}`))
}

func TestThePromptListsTheAgentsThatThereAre(t *testing.T) {
	t.Parallel()
	prompt := func(d *delegate.Delegate, section message.JSON) string {
		cfg := hook.AgentConfig{Name: "x"}.WithSection("delegate", section)
		return d.SystemPrompt(&cfg)
	}
	all := prompt(withCrew(), ``)
	assert.True(t, strings.HasSuffix(all, " The agents:\n- plain\n- reviewer: Reads what others wrote.\n- writer: Writes texts."), all)
	assert.True(t, strings.HasSuffix(prompt(withCrew(), `{"agents":["writer"]}`), " The agents:\n- writer: Writes texts."))
	assert.Empty(t, prompt(withCrew(), `{"agents":[]}`))
	assert.NotContains(t, prompt(delegate.New(nil), ``), "The agents:")
	cfg := hook.AgentConfig{}
	assert.True(t, strings.HasPrefix(withCrew().SystemPrompt(cfg.Prefixed("u_")), "With u_delegate you"))

	many := make([]delegate.AgentInfo, 5000)
	for i := range many {
		many[i] = delegate.AgentInfo{Name: fmt.Sprintf("a%04d", i), Description: strings.Repeat("text ", 30)}
	}
	crowd := delegate.New(&delegate.Options{Agents: func() []delegate.AgentInfo { return many }})
	assert.Contains(t, prompt(crowd, `{"agents":["a0001"]}`), "a0001: text")
	text := prompt(crowd, ``)
	assert.Less(t, len(text), 17<<10)
	assert.Regexp(t, `\n[0-9]{4} more agents are not listed\.$`, text)

	talker := delegate.New(&delegate.Options{Agents: func() []delegate.AgentInfo {
		return []delegate.AgentInfo{{Name: "a", Description: strings.Repeat("ü", 400)}, {Name: "a", Description: "a second one"}}
	}})
	assert.True(t, strings.HasSuffix(prompt(talker, ``), "\n- a: "+strings.Repeat("ü", 299)+"…"))
}

func TestTheToolWaits(t *testing.T) {
	t.Parallel()
	tools := withCrew().Schema()
	require.Len(t, tools, 2)
	for _, tool := range tools {
		assert.True(t, tool.Waits, tool.Name)
		assert.Equal(t, message.Annotations{ReadOnly: tool.Name == delegate.ToolDelegateTasks}, tool.Annotations)
	}
}

// TestAListHoldsBelow: an agent without a list of its own may run those that the
// agent above it may, through all levels.
func TestAListHoldsBelow(t *testing.T) {
	t.Parallel()
	host := &shop{run: echo}
	chain := func(sections ...message.JSON) *hook.ToolCall {
		var turn *hook.Turn
		for i, s := range sections {
			cfg := hook.AgentConfig{Name: fmt.Sprint("a", i)}.WithSection("delegate", s)
			turn, _ = hook.NewTurn(hook.TurnData{Conversation: hooktest.Conversation(&cfg, host), Parent: turn, Depth: i})
		}
		return hooktest.Call(hooktest.Step(turn), delegate.ToolDelegate, `{"tasks":[{"agent":"writer","message":"x"}]}`)
	}
	const reviewer, writer = `{"agents":["reviewer"]}`, `{"agents":["writer"]}`
	for _, c := range []struct {
		sections []message.JSON
		runs     bool
	}{
		{[]message.JSON{reviewer, ""}, false},
		{[]message.JSON{reviewer, "", ""}, false},
		{[]message.JSON{"", reviewer, "", `{}`}, false},
		{[]message.JSON{`{"agents":[]}`, ""}, false},
		{[]message.JSON{writer, "", ""}, true},
		{[]message.JSON{reviewer, writer}, true},
		{[]message.JSON{reviewer, writer, ""}, true},
		{[]message.JSON{"", ""}, true},
	} {
		for _, d := range []*delegate.Delegate{withCrew(), delegate.New(nil)} {
			got := results(t, hooktest.Invoke(t.Context(), d, chain(c.sections...)))
			assert.Equal(t, c.runs, got[0].Error == "", "%v: %s", c.sections, got[0].Error)
		}
	}
}

// TestAllAnswersFitTogether: eight long answers, also of characters with escapes, come
// back as JSON within the bound; short ones stay whole, and each that is cut says how
// much is missing.
func TestAllAnswersFitTogether(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"letters": strings.Repeat("x", 40_000), "escapes": strings.Repeat("\x01\"\n", 14_000), "umlauts": strings.Repeat("ü", 20_000), "emoji": strings.Repeat("🪝", 10_000),
		"no UTF-8": strings.Repeat("\xff", 40_000),
	} {
		for _, long := range []int{1, 2, 7, 8} {
			for _, most := range []int{0, 5_000} {
				host := &shop{run: func(_ context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
					if r.Index >= long {
						return answer("short"), nil
					}
					return answer(text), nil
				}}
				tasks := strings.Repeat(`{"agent":"a","message":"x"},`, 8)
				r := hooktest.Invoke(t.Context(), delegate.New(&delegate.Options{MaxTotal: most}), call(host, "", message.JSON(`{"tasks":[`+tasks[:len(tasks)-1]+`]}`)))
				whole := r.Text()
				if most == 0 {
					most = delegate.DefaultMaxTotal
				}
				assert.LessOrEqual(t, len(whole), most, "%s, %d long ones", name, long)
				got := results(t, r)
				require.Len(t, got, 8)
				for i, one := range got {
					if i >= long {
						assert.Equal(t, "short", one.Result)
						continue
					}
					kept, missing, ok := strings.Cut(one.Result, "… [")
					require.True(t, ok, "%s: %.50q", name, one.Result)
					if utf8.ValidString(text) {
						assert.Equal(t, fmt.Sprintf("%d bytes more]", len(text)-len(kept)), missing)
					}
					assert.Greater(t, len(kept), 40, "%s, %d long ones", name, long)
				}
				if most == delegate.DefaultMaxTotal && long == 8 {
					assert.Greater(t, len(whole), most*9/10, "%s: nearly all of the bound is used", name)
				}
			}
		}
	}
}
