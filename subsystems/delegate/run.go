package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/spell"
)

// DelegateInput are the arguments of delegate.
type DelegateInput struct {
	// Tasks are run at the same time; none sees what the others do.
	Tasks []Task `json:"tasks" hook:"minitems=1,maxitems=8"`
	// Background returns at once, with a number for each task. They run while you go on; delegate_tasks has their results. They end with your turn.
	Background bool `json:"background,omitzero"`
}

// Task is the task of one agent.
type Task struct {
	// Agent is the name of the agent.
	Agent string `json:"agent" hook:"minlen=1,maxlen=64"`
	// Message is the whole task: what to do, all that the agent has to know, and what to answer.
	Message string `json:"message" hook:"minlen=1,maxlen=100000"`
	// Instructions are added to the agent's own, for this task.
	Instructions string `json:"instructions,omitzero" hook:"maxlen=20000"`
	// Tools are the names of the tools that the agent may use, of those that it and you have. Leave it out for all, [] is none.
	Tools []string `json:"tools,omitempty" hook:"maxitems=128,maxlen=64"`
}

// TaskResult is the result of one task.
type TaskResult struct {
	Agent string `json:"agent"`
	// Result is the agent's final answer, "" if there is none.
	Result string `json:"result"`
	// Stop is why the agent stopped; "completed" is the regular end.
	Stop hook.StopReason `json:"stop,omitzero"`
	// Error is what went wrong, "" if nothing did.
	Error string `json:"error,omitzero"`
	// Task is the number of a task in the background, and State how it stands: running, ended, or given,
	// whose result was given before. Others have neither.
	Task  int    `json:"task,omitzero"`
	State string `json:"state,omitzero"`
	// trust is the weakest label of what the agent has read; "" is external.
	trust message.Trust
}

// Delegate hands tasks to other agents, which work on them at the same time, and
// returns what they answer, in the order of the tasks. A task that fails says why
// in error; the others are not affected.
//
//hook:tool trust=trusted waits
func (d *Delegate) Delegate(ctx context.Context, env *hook.Env, in DelegateInput) (message.ToolResult, error) {
	return labelled(d.delegate(ctx, env, in))
}

// labelled is the result of a tool: its label is the weakest of what the agents have read, and what they say is at best like a file.
func labelled(results []TaskResult, err error) (message.ToolResult, error) {
	if err != nil {
		return message.ToolResult{}, err
	}
	data, err := json.Marshal(results)
	if err != nil {
		return message.ToolResult{}, err
	}
	out := message.TextResult(string(data))
	out.Trust = message.TrustTrusted
	for _, r := range results {
		if r.Result != "" || r.Error != "" {
			out.Trust = message.Weakest(out.Trust, r.trust, message.TrustWorkspace)
		}
	}
	return out, nil
}

func (d *Delegate) delegate(ctx context.Context, env *hook.Env, in DelegateInput) ([]TaskResult, error) {
	if g := env.Grant; g.ReadOnly || g.NoNetwork || g.Root != "" || g.Void {
		return nil, &hook.ToolError{Kind: message.FailDenied, Text: "this call may run with limits only, which cannot be kept for the agents that it would start; do the tasks yourself"}
	}
	for i, t := range in.Tasks {
		if strings.TrimSpace(t.Message) == "" {
			return nil, &hook.ToolError{Kind: message.FailArguments, Text: fmt.Sprintf("tasks[%d].message is blank: write what the agent is to do", i)}
		}
	}
	if in.Background {
		return d.begin(ctx, env, in.Tasks)
	}
	out := make([]TaskResult, len(in.Tasks))
	slots := make(chan struct{}, d.o.Parallel)
	var wg sync.WaitGroup
	for i, t := range in.Tasks {
		wg.Go(func() { out[i] = d.task(ctx, slots, env, i, t) })
	}
	wg.Wait()
	shorten(out, d.o.MaxResult, d.total(env))
	return out, nil
}

// total is how many bytes the results of one call may have together.
func (d *Delegate) total(env *hook.Env) int {
	if most := env.Grant.MaxOutput; most > 0 {
		return min(d.o.MaxTotal, most)
	}
	return d.o.MaxTotal
}

// task runs one task as soon as there is a slot.
func (d *Delegate) task(ctx context.Context, slots chan struct{}, env *hook.Env, index int, t Task) TaskResult {
	if err := d.check(agentOf(env.Call), t.Agent); err != nil {
		return TaskResult{Agent: t.Agent, Stop: hook.StopError, Error: err.Error(), trust: message.TrustTrusted}
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return TaskResult{Agent: t.Agent, Stop: hook.StopCancelled, Error: "not begun: the turn was cancelled", trust: message.TrustTrusted}
	}
	out, err := run(ctx, env, index, t)
	r := TaskResult{Agent: t.Agent, Result: out.Text(), Stop: out.Stop, Error: reason(out, err), trust: out.Trust}
	if r.Stop == "" {
		r.Stop = hook.StopError
	}
	return r
}

// run runs the agent. It turns a panic of the host into an error that does not quote it.
func run(ctx context.Context, env *hook.Env, index int, t Task) (out hook.TurnOutcome, err error) {
	defer func() {
		if recover() != nil {
			out, err = hook.TurnOutcome{Stop: hook.StopError}, errors.New("running the agent failed inside the program")
		}
	}()
	return env.Call.Host().RunAgent(ctx, hook.AgentRun{
		Agent: t.Agent, Input: message.TextInput(t.Message), Instructions: t.Instructions, Tools: t.Tools, Call: env.Call, Index: index,
	})
}

// reason says why a task has no complete answer; "" if it has one. It leaves out the cause
// of a hook's failure, which may quote secrets.
func reason(out hook.TurnOutcome, err error) string {
	var failure *hook.Failure
	if err == nil {
		err = out.Err
	}
	switch {
	case errors.Is(err, hook.ErrDepth):
		return "agents may not run agents any deeper; do this task yourself"
	case errors.Is(err, hook.ErrChildren):
		return "no more agents can be run for this request; do this task yourself"
	case errors.Is(err, hook.ErrNoTurn):
		return "no agent can be run here; do this task yourself"
	case errors.As(err, &failure):
		return failure.Public()
	case out.Stop == hook.StopCancelled:
		return "cancelled before it had finished"
	case err != nil:
		return err.Error()
	case out.Stop == hook.StopCompleted:
		return ""
	}
	for _, s := range out.Signals.All() {
		if s.Reason == out.Stop && s.Text != "" {
			return "stopped before it had finished: " + s.Text
		}
	}
	return "stopped before it had finished: " + string(out.Stop)
}

func notThere(name string, agents []AgentInfo) string {
	text := fmt.Sprintf("there is no agent %q to delegate to; %s", name, known(agents))
	if near := spell.Closest(name, names(agents)); near != "" {
		text += fmt.Sprintf("; do you mean %s?", near)
	}
	return text
}

// agentOf returns the agent whose list of agents applies to the call. Without a turn it
// returns an agent without sections.
func agentOf(call *hook.ToolCall) *hook.AgentConfig {
	if call.Step() == nil || call.Step().Turn() == nil {
		return &hook.AgentConfig{}
	}
	return listOf(call.Step().Turn())
}

// listOf returns the agent whose list of agents applies to the turn: its own, or the nearest
// one above it with a list.
func listOf(own *hook.Turn) *hook.AgentConfig {
	for t := own; t != nil; t = t.Parent() {
		if s, _, err := hook.SectionOf[Section](t.Agent(), "delegate"); err != nil || s.Agents != nil {
			return t.Agent()
		}
	}
	return own.Agent()
}
