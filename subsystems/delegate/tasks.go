package delegate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// maxBackground is how many tasks one turn may run in the background, ended ones included.
const maxBackground = 32

// reminders is how often a turn that would end is told of tasks whose results it has not read.
const reminders = 3

// The states of a task that runs in the background.
const (
	stateRunning = "running"
	stateEnded   = "ended" // its result waits for delegate_tasks
	stateGiven   = "given" // its result was given before
)

// crew are the tasks that a turn runs in the background. It is safe for concurrent use.
type crew struct {
	slots chan struct{}
	all   sync.WaitGroup

	mu    sync.Mutex
	tasks []*background // by number, from 1
	// reminded is how often the turn was told of tasks whose results it has not read.
	reminded int
}

// background is one task.
type background struct {
	number int
	agent  string
	stop   context.CancelFunc
	done   chan struct{}
	result TaskResult // set before done is closed
	given  bool       // under crew.mu: the model has the result
}

// begin starts the tasks, and returns at once. They last as long as the turn.
func (d *Delegate) begin(ctx context.Context, env *hook.Env, tasks []Task) ([]TaskResult, error) {
	if env.Call.Step() == nil || env.Call.Step().Turn() == nil {
		return nil, &hook.ToolError{Kind: message.FailDenied, Text: "no agent can be run in the background here; leave background out"}
	}
	c := d.crews.Update(env.Call.Step().Turn(), func(c *crew) *crew {
		if c == nil {
			c = &crew{slots: make(chan struct{}, d.o.Parallel)}
		}
		return c
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.tasks); n+len(tasks) > maxBackground {
		return nil, &hook.ToolError{Kind: message.FailDenied, Text: fmt.Sprintf("a turn runs at most %d tasks in the background, and this one has begun %d", maxBackground, n)}
	}
	out := make([]TaskResult, len(tasks))
	for i, t := range tasks {
		own, stop := context.WithCancel(context.WithoutCancel(ctx)) // the call ends at once; the host ends the task with the turn
		b := &background{number: len(c.tasks) + 1, agent: t.Agent, stop: stop, done: make(chan struct{})}
		c.tasks = append(c.tasks, b)
		c.all.Go(func() {
			defer close(b.done)
			defer stop()
			b.result = d.task(own, c.slots, env, i, t)
			b.result.Task, b.result.State = b.number, stateEnded
		})
		out[i] = b.standing()
	}
	return out, nil
}

// standing is the task without its result.
func (b *background) standing() TaskResult {
	r := TaskResult{Task: b.number, Agent: b.agent, State: stateRunning}
	switch {
	case b.given:
		r.State = stateGiven
	case b.over():
		r.State = stateEnded
	}
	return r
}

func (b *background) over() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// find returns the tasks of those numbers; none is all.
func (c *crew) find(numbers []int) ([]*background, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(numbers) == 0 {
		return slices.Clone(c.tasks), nil
	}
	out := make([]*background, len(numbers))
	for i, n := range numbers {
		if n < 1 || n > len(c.tasks) {
			return nil, fmt.Errorf("there is no task %d; this turn has begun %d", n, len(c.tasks))
		}
		out[i] = c.tasks[n-1]
	}
	return out, nil
}

// entrySize is what a result takes beside its text, in bytes.
const entrySize = 256

// take returns the tasks: those that have ended with their results, which are given once. Of results that are together longer than
// total bytes it leaves the later ones for another call, but gives one.
func (c *crew) take(tasks []*background, each, total int) []TaskResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	out, first := make([]TaskResult, len(tasks)), true
	for i, b := range tasks {
		out[i] = b.standing()
		if out[i].State != stateEnded {
			continue
		}
		if n := min(jsonSize(b.result.Result)+jsonSize(b.result.Error), each) + entrySize; first || n <= total {
			out[i], b.given, first = b.result, true, false
			total -= n
		}
	}
	return out
}

// open returns a word about each task that runs or whose result was not given; "" for none.
func (c *crew) open() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, b := range c.tasks {
		switch b.standing().State {
		case stateRunning:
			out = append(out, fmt.Sprintf("%d (%s) still runs", b.number, b.agent))
		case stateEnded:
			out = append(out, fmt.Sprintf("%d (%s) has ended, and you have not read its result", b.number, b.agent))
		}
	}
	return strings.Join(out, "; ")
}

// end cancels all tasks and waits for them until ctx ends.
func (c *crew) end(ctx context.Context) {
	c.mu.Lock()
	for _, b := range c.tasks {
		b.stop()
	}
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() { c.all.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// What delegate_tasks does.
const (
	actionList = "list"
	actionWait = "wait"
	actionStop = "stop"
)

// TasksInput are the arguments of delegate_tasks.
type TasksInput struct {
	// Action is what to do: wait returns the results, stop cancels the tasks and returns what they have, list only says how they stand.
	Action string `json:"action" hook:"enum=list|wait|stop"`
	// Tasks are the numbers of tasks; leave it out for all.
	Tasks []int `json:"tasks,omitempty" hook:"maxitems=32"`
	// Seconds is how long to wait at most; leave it out to wait until the tasks have ended.
	Seconds int `json:"seconds,omitzero" hook:"min=0,max=86400"`
}

// DelegateTasks lists, waits for or stops the tasks that this turn has begun with background. The result of each is given once; a task that
// has not ended is running, and the result of one that has ended without it comes with the next call.
//
//hook:tool trust=trusted readonly waits
func (d *Delegate) DelegateTasks(ctx context.Context, env *hook.Env, in TasksInput) (message.ToolResult, error) {
	return labelled(d.manage(ctx, env, in))
}

func (d *Delegate) manage(ctx context.Context, env *hook.Env, in TasksInput) ([]TaskResult, error) {
	switch {
	case env.Grant.Void:
		return nil, &hook.ToolError{Kind: message.FailDenied, Text: "tasks cannot be seen here"}
	case env.Grant.ReadOnly && in.Action == actionStop:
		return nil, &hook.ToolError{Kind: message.FailDenied, Text: "this agent may only read, and stop no task"}
	}
	var c *crew
	if s := env.Call.Step(); s != nil && s.Turn() != nil {
		c = d.crews.Get(s.Turn())
	}
	if c == nil { // also after the program has died and the turn was resumed
		return nil, &hook.ToolError{Kind: message.FailArguments, Text: "no task runs in the background: begin one with background, or begin it again if the program was restarted meanwhile"}
	}
	tasks, err := c.find(in.Tasks)
	if err != nil {
		return nil, &hook.ToolError{Kind: message.FailArguments, Text: err.Error()}
	}
	switch in.Action {
	case actionList:
		out := make([]TaskResult, len(tasks))
		c.mu.Lock()
		defer c.mu.Unlock()
		for i, b := range tasks {
			out[i] = b.standing()
		}
		return out, nil
	case actionStop:
		for _, b := range tasks {
			b.stop()
		}
		in.Seconds = 0 // a stop is waited for
	}
	await(ctx, tasks, time.Duration(in.Seconds)*time.Second)
	if ctx.Err() != nil {
		return nil, ctx.Err() // nobody reads what it would give
	}
	out := c.take(tasks, d.o.MaxResult, d.total(env))
	shorten(out, d.o.MaxResult, d.total(env))
	return out, nil
}

// await waits until the tasks have ended, ctx ends, or that time is over; 0 is no bound.
func await(ctx context.Context, tasks []*background, most time.Duration) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	for _, b := range tasks {
		select {
		case <-b.done:
		case <-ctx.Done():
			return
		}
	}
}

// OnStop continues a turn that would end without the results of its tasks, a few times. Then it ends
// the tasks.
func (d *Delegate) OnStop(ctx context.Context, t *hook.Turn, s hook.Stopping) (hook.StopDecision, error) {
	c := d.crews.Get(t)
	if c == nil {
		return hook.StopDecision{}, nil
	}
	open := c.open()
	if open == "" {
		return hook.StopDecision{}, nil
	}
	if s.Stop != hook.StopCompleted || !c.remind() {
		c.end(ctx)
		return hook.StopDecision{}, nil
	}
	return hook.ContinueTurn("Your tasks in the background: " + open + ". Read the results with " + t.Agent().ToolName(ToolDelegateTasks) +
		", or stop the tasks with it, and then answer."), nil
}

// remind reports whether the turn may be told once more.
func (c *crew) remind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reminded++
	return c.reminded <= reminders
}

// AfterTurn ends the tasks of a turn that was cancelled or has failed.
func (d *Delegate) AfterTurn(ctx context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	if c := d.crews.Get(t); c != nil {
		c.end(ctx)
	}
}
