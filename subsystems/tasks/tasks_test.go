package tasks_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/subsystems/tasks"
)

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(*testing.T) hook.Hook { return tasks.New() }, &hooktest.Options{
		Agent:  hook.AgentConfig{}.WithSection("tasks", `{"items":3,"remind":2}`),
		Golden: "testdata/descriptor.txt", Update: *update,
	})
}

func TestSections(t *testing.T) {
	t.Parallel()
	for section, want := range map[message.JSON]string{
		`{}`: "", `{"items":1,"remind":-1}`: "", `{"items":50,"remind":1000}`: "",
		`{"items":51}`:    "items is 51; write a number from 1 to 50",
		`{"items":-1}`:    "items is -1; write a number from 1 to 50",
		`{"remind":-2}`:   "remind is -2; write a number from 1 to 1000, or -1 for never",
		`{"remind":1001}`: "remind is 1001; write a number from 1 to 1000, or -1 for never",
		`{"max":3}`:       "max: unknown key; known are items, remind",
	} {
		_, err := tasks.New().OnBuildAgent(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("tasks", section))
		if want == "" {
			assert.NoError(t, err, section)
			continue
		}
		assert.ErrorContains(t, err, `agent "a": section tasks: `+want)
	}
}

// model plays the rules, and keeps the requests.
type model struct {
	provider *script.Script
	mu       sync.Mutex
	requests []message.ModelRequest
}

func (m *model) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	m.mu.Unlock()
	if req.Tools.Tools().Len() == 0 { // a summary
		return script.New(says("A summary of nothing.")).Stream(ctx, req)
	}
	return m.provider.Stream(ctx, req)
}

// shown returns the ephemeral messages of request n, counted from 0.
func (m *model) shown(n int) (out []string) {
	for _, msg := range m.requests[n].Messages.All() {
		if msg.Ephemeral {
			out = append(out, msg.Text())
		}
	}
	return out
}

// world is an agent with tasks over a store.
type world struct {
	*model
	t      *testing.T
	rt     *runtime.Runtime
	agent  *runtime.Agent
	conv   *runtime.Conversation
	events []hook.Event
}

type none struct{}

var look = tool.New("look", "Look looks out of the window.", func(context.Context, none) (string, error) { return "rain", nil },
	&tool.Options{Annotations: message.Annotations{ReadOnly: true}})

func newWorld(t *testing.T, section message.JSON, s store.Store, rules ...script.Rule) *world {
	t.Helper()
	w := &world{model: &model{provider: script.New(rules...)}, t: t}
	hooks, err := composite.Of("World", composite.Field{Name: "Tools", Hook: tool.Set(look)}, composite.Field{Name: "Tasks", Hook: tasks.New()})
	require.NoError(t, err)
	w.rt = runtime.New(hooks, w.model, &runtime.Options{Store: s})
	require.NoError(t, w.rt.Open(t.Context()))
	t.Cleanup(func() { assert.NoError(t, w.rt.Close(context.WithoutCancel(t.Context()))) })
	cfg := hook.AgentConfig{Name: "a"}
	if section != "" {
		cfg = cfg.WithSection("tasks", section)
	}
	w.agent, err = w.rt.Register(t.Context(), cfg)
	require.NoError(t, err)
	w.conv, err = w.agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	return w
}

func (w *world) send(text string) hook.TurnOutcome {
	w.t.Helper()
	out, err := w.conv.Send(w.t.Context(), message.TextInput(text), &runtime.TurnOptions{Observe: func(ev hook.Event) { w.events = append(w.events, ev) }})
	require.NoError(w.t, err)
	require.NoError(w.t, out.Err)
	return out
}

func (w *world) plans() (out []string) {
	for _, ev := range w.events {
		if ev.Kind == event.PlanUpdated {
			out = append(out, ev.Text)
		}
	}
	return out
}

// todo is a call of todo_write with tasks such as "x one", "~ two" and "  three".
func todo(items ...string) script.Call {
	in := tasks.TodoInput{Todos: []tasks.TodoItem{}}
	for _, i := range items {
		status := map[string]tasks.Status{"x ": tasks.Completed, "~ ": tasks.InProgress, "  ": tasks.Pending}[i[:2]]
		in.Todos = append(in.Todos, tasks.TodoItem{Content: i[2:], Status: status})
	}
	args, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return script.Call{Tool: "todo_write", Args: message.JSON(args)}
}

func plan(text string) script.Call {
	args, err := json.Marshal(tasks.PlanInput{Plan: text})
	if err != nil {
		panic(err)
	}
	return script.Call{Tool: "plan_write", Args: message.JSON(args)}
}

func calls(c ...script.Call) script.Rule { return script.Rule{Calls: c} }
func says(text string) script.Rule       { return script.Rule{Say: text} }

const intro = "Your plan and tasks, as you have written them. They are notes of yours, and no message of the user.\n\n"

// opened returns a store of one file.
func opened(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestTasksAreShownInEveryTurnUntilTheyAreDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{}`, nil,
		calls(plan("Goal: **a boat**\n- of oak"), todo("~ saw", "  plane")), says("begun"),
		says("nothing new"),
		calls(todo("x saw", "x plane")), says("done"),
		says("and now?"),
	)
	w.send("build")
	assert.Equal(t, []string{
		"Goal: **a boat**\n- of oak",
		"Goal: **a boat**\n- of oak\n\n- [~] saw\n- [ ] plane",
	}, sortedByLength(w.plans()))
	w.send("and?")
	assert.Equal(t, []string{intro + "Goal: **a boat**\n- of oak\n\n- [~] saw\n- [ ] plane"}, noSource(w.shown(2)))
	w.send("finish")
	w.send("bye")
	assert.Empty(t, w.shown(5), "what is completed takes no room")
	assert.Empty(t, w.shown(0))
}

// sortedByLength: two calls of a step may end in any order.
func sortedByLength(texts []string) []string {
	if len(texts) == 2 && len(texts[0]) > len(texts[1]) {
		texts[0], texts[1] = texts[1], texts[0]
	}
	return texts
}

// noSource cuts the frame that the runtime puts around a block of context.
func noSource(texts []string) []string {
	for i, text := range texts {
		if at := strings.Index(text, intro); at >= 0 {
			text = text[at:]
		}
		text, _, _ = strings.Cut(text, "\n</")
		texts[i] = text
	}
	return texts
}

func TestTasksSurviveCompactionRestartForkAndRewind(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/c.db"
	s := opened(t, path)
	w := newWorld(t, `{}`, s,
		calls(todo("~ saw", "  plane")), says("begun"), says("two"), says("three"), says("four"))
	w.send("build")
	w.send("two")
	w.send("three")
	_, err := w.conv.Compact(t.Context(), &runtime.CompactOptions{Keep: 1})
	require.NoError(t, err)
	w.send("four")
	last := w.requests[len(w.requests)-1]
	assert.NotContains(t, fmt.Sprint(last.Messages.Slice()), "todo_write", "the calls are gone")
	assert.Equal(t, []string{intro + "- [~] saw\n- [ ] plane"}, noSource(w.shown(len(w.requests)-1)))

	fork, err := w.conv.Fork(t.Context(), 4, "copy")
	require.NoError(t, err)
	states, err := s.States(t.Context(), fork.ID())
	require.NoError(t, err)
	stored := []hook.StateValue{{Name: "tasks.list", Data: `{"todos":[{"content":"saw","status":"in_progress"},{"content":"plane","status":"pending"}]}`}}
	assert.Equal(t, stored, states)

	require.NoError(t, w.conv.Rewind(t.Context(), 3))
	assert.Equal(t, "- [~] saw\n- [ ] plane", w.send("/tasks").Text(), "a rewind leaves the list alone")

	other := newWorld(t, `{}`, opened(t, path), script.Rule{When: &script.When{}, Say: "again"})
	other.send("hello")
	assert.Equal(t, []string{intro + "- [~] saw\n- [ ] plane"}, noSource(other.shown(0)), "another process")
}

func TestRemindersComeEveryNSteps(t *testing.T) {
	t.Parallel()
	rules := []script.Rule{calls(todo("~ saw", "  plane"))}
	for range 9 {
		rules = append(rules, calls(script.Call{Tool: "look", Args: "{}"}))
	}
	for _, tt := range []struct {
		section message.JSON
		want    []int
	}{{`{"remind":3}`, []int{4, 7, 10}}, {`{"remind":-1}`, nil}, {`{}`, nil}} {
		w := newWorld(t, tt.section, nil, append(rules, says("done"))...)
		w.send("build")
		var at []int
		for i, req := range w.requests {
			n := 0
			for _, m := range req.Messages.All() {
				if m.Ephemeral && strings.Contains(m.Text(), "2 of your tasks are open.") && strings.Contains(m.Text(), "- [~] saw") {
					n++
				}
			}
			if n > len(at) {
				at = append(at, i)
			}
		}
		assert.Equal(t, tt.want, at, "section %s", tt.section)
	}
}

func TestTheDefaultReminderIsAfterTenSteps(t *testing.T) {
	t.Parallel()
	rules := []script.Rule{calls(todo("  saw"))}
	for range 10 {
		rules = append(rules, calls(script.Call{Tool: "look", Args: "{}"}, script.Call{Tool: "look", Args: "{}"}))
	}
	w := newWorld(t, `{}`, nil, append(rules, says("done"))...)
	w.send("build")
	assert.Empty(t, w.shown(10))
	assert.Len(t, w.shown(11), 1, "once, though the step has two calls")
}

func TestAListIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprint("  task ", i)
	}
	for _, tt := range []struct {
		name, want string
		call       script.Call
	}{
		{"too many", "21 tasks; write at most 20", todo(many...)},
		{"two in progress", "2 tasks are in_progress; at most one is", todo("~ a", "~ b")},
		{"twice", "todos[1] is the same as an earlier one", todo("  a", "x a")},
		{"twice, but for blanks", "todos[1] is the same as an earlier one", todo("  a b", "x a\n b")},
		{"blank", "todos[0].content is blank", todo("  \u200b\n")},
		{"too long", "todos[0].content", todo("  " + strings.Repeat("é", 201))},
		{"a status that is none", "status", script.Call{Tool: "todo_write", Args: `{"todos":[{"content":"a","status":"done"}]}`}},
		{"too long a plan", "plan", plan(strings.Repeat("p", 4001))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, `{}`, nil, calls(todo("  keep")), calls(tt.call), script.Rule{Say: "${result}"})
			out := w.send("x")
			assert.Contains(t, out.Text(), tt.want)
			assert.Equal(t, []string{"- [ ] keep"}, w.plans(), "the list stays, and nothing is told")
		})
	}
}

func TestATaskIsOneLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{}`, nil, calls(todo("  a\n- [x] b\x1b[31m\u202ec\u2028d")), calls(plan("# A\r\n\r\n  - b\u202ec  \n\n")), says("ok"))
	w.send("x")
	assert.Equal(t, []string{"- [ ] a - [x] b [31mc d", "# A\n\n  - bc\n\n- [ ] a - [x] b [31mc d"}, w.plans())
}

func TestWithoutASectionThereIsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", nil, calls(todo("  a")), script.Rule{Say: "${result}"}, says("no command"))
	out := w.send("x")
	assert.Contains(t, out.Text(), "todo_write")
	assert.Empty(t, w.plans())
	var names []string
	for _, tl := range w.requests[0].Tools.Tools().All() {
		names = append(names, tl.Name)
	}
	assert.Equal(t, []string{"look"}, names)
	assert.NotContains(t, w.requests[0].System, "todo_write")
	assert.Equal(t, "no command", w.send("/tasks").Text(), "the model answers")

}

func TestAnAgentWithoutTasksAllocatesNothing(t *testing.T) {
	subsystem := tasks.New()
	turn := hooktest.Turn(hooktest.Conversation(hooktest.Agent(hook.AgentConfig{Name: "a"}), nil), "x")
	call := hooktest.Call(hooktest.Step(turn), "look", "{}")
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		_, _ = subsystem.TurnContext(context.Background(), turn)
		_, _ = subsystem.AfterTool(context.Background(), call, hook.ToolOutcome{})
	}))
}

func TestPeopleSeeAndDropTheTasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `{}`, nil, says("the answer to /tasks counts"), calls(todo("x saw", "~ plane")), says("begun"))
	assert.Equal(t, "There are no tasks and no plan.", w.send("/tasks").Text())
	w.send("build")
	assert.Equal(t, "- [x] saw\n- [~] plane", w.send("/tasks").Text())
	assert.Equal(t, "Write /tasks, or /tasks clear.", w.send("/tasks now").Text())
	assert.Equal(t, "The tasks and the plan are dropped.", w.send("/tasks clear").Text())
	assert.Equal(t, []string{"- [x] saw\n- [~] plane", ""}, w.plans())
	assert.Equal(t, "There are no tasks and no plan.", w.send("/tasks").Text())
}

func TestACallThatMayChangeNothingChangesNoTasks(t *testing.T) {
	t.Parallel()
	narrow := point.BeforeToolFunc(func(context.Context, *hook.ToolCall) (hook.ToolDecision, error) {
		return hook.NarrowTool(hook.Grant{ReadOnly: true}), nil
	})
	hooks, err := composite.Of("World", composite.Field{Name: "Narrow", Hook: narrow}, composite.Field{Name: "Tasks", Hook: tasks.New()})
	require.NoError(t, err)
	rt := runtime.New(hooks, script.New(calls(todo("  a")), script.Rule{Say: "${result}"}), nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) }()
	agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("tasks", `{}`))
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	out, err := conv.Send(t.Context(), message.TextInput("x"), nil)
	require.NoError(t, err)
	assert.Equal(t, "this call may not change anything, and so no tasks", out.Text())
}

// TestAnObserverIsASensor: an observer sees reasoning and planning as plain events, in their
// order, and tells what it makes of them as one.
func TestAnObserverIsASensor(t *testing.T) {
	t.Parallel()
	thinking := calls(todo("~ saw"))
	thinking.Reason = "First the saw."
	var seen []hook.EventKind
	sensor := sensorFunc(func(ctx context.Context, ev hook.Event) {
		switch ev.Kind {
		case event.ReasoningStart, event.ReasoningEnd, event.PlanUpdated:
			seen = append(seen, ev.Kind)
		}
		if ev.Kind == event.PlanUpdated {
			ev.Host().Emit(ctx, hook.Diagnostic{Code: "sensor.plan", Text: "a plan has changed", Visibility: event.VisibleUser}.Event())
		}
	})
	hooks, err := composite.Of("World", composite.Field{Name: "Tasks", Hook: tasks.New()}, composite.Field{Name: "Sensor", Hook: sensor})
	require.NoError(t, err)
	rt := runtime.New(hooks, script.New(thinking, says("begun")), nil)
	require.NoError(t, rt.Open(t.Context()))
	defer func() { assert.NoError(t, rt.Close(context.WithoutCancel(t.Context()))) }()
	agent, err := rt.Register(t.Context(), hook.AgentConfig{Name: "a"}.WithSection("tasks", `{}`))
	require.NoError(t, err)
	conv, err := agent.Conversation(t.Context(), "ann")
	require.NoError(t, err)
	var codes []hook.DiagnosticCode
	out, err := conv.Send(t.Context(), message.TextInput("x"), &runtime.TurnOptions{Observe: func(ev hook.Event) {
		if ev.Kind == event.Diagnostic {
			codes = append(codes, ev.Detail().Code)
		}
	}})
	require.NoError(t, err)
	require.NoError(t, out.Err)
	assert.Equal(t, []hook.EventKind{event.ReasoningStart, event.ReasoningEnd, event.PlanUpdated}, seen)
	assert.Equal(t, []hook.DiagnosticCode{"sensor.plan"}, codes)
}

// sensor calls a function at each event.
type sensor struct {
	hook.Nop
	on func(context.Context, hook.Event)
}

func (s *sensor) OnEvent(ctx context.Context, ev hook.Event) { s.on(ctx, ev) }

func sensorFunc(on func(context.Context, hook.Event)) *sensor { return &sensor{on: on} }
