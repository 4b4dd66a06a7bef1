package delegate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/delegate"
)

// office is a turn whose agents answer when their door is opened, or end with their context.
type office struct {
	*shop
	d     *delegate.Delegate
	turn  *hook.Turn
	doors map[string]chan struct{} // by message
}

func newOffice(o *delegate.Options, messages ...string) *office {
	f := &office{d: delegate.New(o), doors: map[string]chan struct{}{}}
	for _, m := range messages {
		f.doors[m] = make(chan struct{})
	}
	f.shop = &shop{run: func(ctx context.Context, r hook.AgentRun) (hook.TurnOutcome, error) {
		select {
		case <-f.doors[r.Input.Text()]:
			return answer("did " + r.Input.Text()), nil
		case <-ctx.Done():
			return hook.TurnOutcome{Stop: hook.StopCancelled, Err: ctx.Err()}, nil
		}
	}}
	f.turn = hooktest.Turn(hooktest.Conversation(&hook.AgentConfig{Name: "chief"}, f.shop), "hello")
	return f
}

func (f *office) call(ctx context.Context, tool string, args message.JSON) message.ToolResult {
	return hooktest.Invoke(ctx, f.d, hooktest.Call(hooktest.Step(f.turn), tool, args))
}

// begin begins a task for each message, in a call whose context ends with it.
func (f *office) begin(t *testing.T, messages ...string) []delegate.TaskResult {
	t.Helper()
	tasks := make([]string, len(messages))
	for i, m := range messages {
		tasks[i] = fmt.Sprintf(`{"agent":"writer","message":%q}`, m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return results(t, f.call(ctx, delegate.ToolDelegate, message.JSON(`{"background":true,"tasks":[`+strings.Join(tasks, ",")+`]}`)))
}

func (f *office) ask(t *testing.T, args message.JSON) []delegate.TaskResult {
	t.Helper()
	return results(t, f.call(t.Context(), delegate.ToolDelegateTasks, args))
}

func running(n int) delegate.TaskResult {
	return delegate.TaskResult{Task: n, Agent: "writer", State: "running"}
}

func done(n int, result string) delegate.TaskResult {
	return delegate.TaskResult{Task: n, Agent: "writer", State: "ended", Result: result, Stop: hook.StopCompleted}
}

// TestBackground: tasks go on behind their call, and every result is given once.
func TestBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newOffice(nil, "a", "b", "c")
		assert.Equal(t, []delegate.TaskResult{running(1), running(2)}, f.begin(t, "a", "b"))
		assert.Equal(t, []delegate.TaskResult{running(3)}, f.begin(t, "c"))
		assert.Equal(t, []delegate.TaskResult{running(1), running(2), running(3)}, f.ask(t, `{"action":"list"}`))

		close(f.doors["b"])
		assert.Equal(t, []delegate.TaskResult{done(2, "did b")}, f.ask(t, `{"action":"wait","tasks":[2]}`))
		given := delegate.TaskResult{Task: 2, Agent: "writer", State: "given"}
		assert.Equal(t, []delegate.TaskResult{given}, f.ask(t, `{"action":"wait","tasks":[2]}`))

		began := time.Now()
		assert.Equal(t, []delegate.TaskResult{running(1), given, running(3)}, f.ask(t, `{"action":"wait","seconds":90}`))
		assert.Equal(t, 90*time.Second, time.Since(began))

		stopped := f.ask(t, `{"action":"stop","tasks":[3]}`)
		require.Len(t, stopped, 1)
		assert.Equal(t, delegate.TaskResult{Task: 3, Agent: "writer", State: "ended", Stop: hook.StopCancelled, Error: "cancelled before it had finished"}, stopped[0])

		time.AfterFunc(time.Hour, func() { close(f.doors["a"]) })
		got := f.ask(t, `{"action":"wait"}`)
		assert.Equal(t, done(1, "did a"), got[0])
		given.Task = 3
		assert.Equal(t, given, got[2])
		f.d.AfterTurn(t.Context(), f.turn, hook.TurnOutcome{})
	})
}

// TestATurnEndsWithItsTasks: it is told of results that it has not read, three times; then, and when it fails, they end.
func TestATurnEndsWithItsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newOffice(nil, "a", "b")
		d, err := f.d.OnStop(t.Context(), f.turn, hook.Stopping{Stop: hook.StopCompleted})
		require.NoError(t, err)
		assert.Equal(t, hook.StopDecision{}, d, "without tasks it has no opinion")

		f.begin(t, "a", "b")
		close(f.doors["a"])
		synctest.Wait()
		for n := range 3 { // whatever other hooks have continued
			d, err = f.d.OnStop(t.Context(), f.turn, hook.Stopping{Stop: hook.StopCompleted, Continued: 3 + n})
			require.NoError(t, err)
			assert.Equal(t, hook.AnswerContinue, d.Verdict().Kind)
			assert.Contains(t, d.Verdict().Reason, "1 (writer) has ended, and you have not read its result; 2 (writer) still runs")
		}
		d, err = f.d.OnStop(t.Context(), f.turn, hook.Stopping{Stop: hook.StopCompleted, Continued: 3})
		require.NoError(t, err)
		assert.Equal(t, hook.StopDecision{}, d)
		assert.Equal(t, "ended", f.ask(t, `{"action":"list","tasks":[2]}`)[0].State)

		f = newOffice(nil, "a")
		f.begin(t, "a")
		_, err = f.d.OnStop(t.Context(), f.turn, hook.Stopping{Stop: hook.StopStepsLimit})
		require.NoError(t, err)
		assert.Equal(t, "ended", f.ask(t, `{"action":"list"}`)[0].State, "a turn at its limit is not continued")

		f = newOffice(nil, "a")
		f.begin(t, "a")
		f.d.AfterTurn(t.Context(), f.turn, hook.TurnOutcome{Stop: hook.StopError})
		assert.Equal(t, "ended", f.ask(t, `{"action":"list"}`)[0].State)

		f = newOffice(nil, "a")
		f.begin(t, "a")
		f.ask(t, `{"action":"stop"}`)
		d, err = f.d.OnStop(t.Context(), f.turn, hook.Stopping{Stop: hook.StopCompleted})
		require.NoError(t, err)
		assert.Equal(t, hook.StopDecision{}, d, "all results are read")
	})
}

// TestBackgroundIsBounded: in number, at the same time, in what may be asked, and in what a result may have.
func TestBackgroundIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newOffice(&delegate.Options{Parallel: 2, MaxResult: 5_000})
		most, now, closed := 0, 0, 0
		f.run = func(context.Context, hook.AgentRun) (hook.TurnOutcome, error) {
			f.mu.Lock()
			now++
			most = max(most, now)
			f.mu.Unlock()
			time.Sleep(time.Second)
			f.mu.Lock()
			now--
			closed++
			f.mu.Unlock()
			return answer(strings.Repeat("x", 10_000)), nil
		}
		for range 4 {
			f.begin(t, "a", "a", "a", "a", "a", "a", "a", "a")
		}
		r := f.call(t.Context(), delegate.ToolDelegate, `{"background":true,"tasks":[{"agent":"a","message":"x"}]}`)
		assert.True(t, r.IsError())
		assert.Contains(t, r.Text(), "at most 32 tasks")
		given := 0
		for range 3 { // all of them do not fit one answer
			for _, one := range f.ask(t, `{"action":"wait"}`) {
				if one.Result == "" {
					continue
				}
				given++
				assert.InDelta(t, 5_000, len(one.Result), 100)
				assert.Contains(t, one.Result, "bytes more]")
			}
		}
		assert.Equal(t, 32, given)
		assert.Equal(t, 32, closed)
		assert.Equal(t, 2, most)

		r = f.call(t.Context(), delegate.ToolDelegateTasks, `{"action":"wait","tasks":[33]}`)
		assert.Contains(t, r.Text(), "there is no task 33; this turn has begun 32")
		r = newOffice(nil).call(t.Context(), delegate.ToolDelegateTasks, `{"action":"wait"}`)
		assert.Contains(t, r.Text(), "no task runs in the background")
	})
}

// TestAWaitThatIsCancelledTakesNoResult: whoever waits again gets it.
func TestAWaitThatIsCancelledTakesNoResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newOffice(nil, "a", "b")
		f.begin(t, "a", "b")
		close(f.doors["a"])
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.True(t, f.call(ctx, delegate.ToolDelegateTasks, `{"action":"wait"}`).IsError())
		close(f.doors["b"])
		assert.Equal(t, []delegate.TaskResult{done(1, "did a"), done(2, "did b")}, f.ask(t, `{"action":"wait"}`))
	})
}

// TestTasksWithLimits: a call that may have no effect sees no task, and one that may only read stops none.
func TestTasksWithLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newOffice(nil, "a")
		f.begin(t, "a")
		env := &hook.Env{Call: hooktest.Call(hooktest.Step(f.turn), delegate.ToolDelegateTasks, ""), Grant: hook.Grant{ReadOnly: true}}
		_, err := f.d.DelegateTasks(t.Context(), env, delegate.TasksInput{Action: "stop"})
		assert.ErrorContains(t, err, "this agent may only read")
		got, err := f.d.DelegateTasks(t.Context(), env, delegate.TasksInput{Action: "list"})
		require.NoError(t, err)
		assert.Equal(t, []delegate.TaskResult{running(1)}, results(t, got))
		assert.Equal(t, message.TrustTrusted, got.Trust, "it has nothing that an agent has said")
		env.Grant = hook.Grant{Void: true}
		_, err = f.d.DelegateTasks(t.Context(), env, delegate.TasksInput{Action: "list"})
		assert.ErrorContains(t, err, "cannot be seen here")
		f.d.AfterTurn(t.Context(), f.turn, hook.TurnOutcome{})
	})
}
