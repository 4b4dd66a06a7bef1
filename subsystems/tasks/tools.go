package tasks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
)

// TodoInput is the input of todo_write.
type TodoInput struct {
	// Todos is the whole list, in the order of the work; it replaces the one before. An empty list removes it.
	Todos []TodoItem `json:"todos" hook:"maxitems=50"`
}

// TodoItem is one task.
type TodoItem struct {
	// Content is the task in one line: Run the tests.
	Content string `json:"content" hook:"minlen=1,maxlen=200"`
	// Status of the task. At most one is in_progress.
	Status Status `json:"status"`
	// ActiveForm is the task as people see it while it is in progress: Running the tests.
	ActiveForm string `json:"active_form,omitempty" hook:"maxlen=200"`
}

// TodoWrite replaces your list of tasks. Write the whole list each time, with the tasks that are completed.
//
//hook:tool trust=trusted idempotent
func (t *Tasks) TodoWrite(ctx context.Context, env *hook.Env, in TodoInput) (string, error) {
	turn, s, err := t.writer(env)
	if err != nil {
		return "", err
	}
	todos, err := s.check(in.Todos)
	if err != nil {
		return "", err
	}
	return t.write(ctx, env, turn, func(l List) List { l.Todos = todos; return l })
}

// PlanInput is the input of plan_write.
type PlanInput struct {
	// Plan is the whole approach as short Markdown: the goal, the decisions and what they rest on. It replaces the one before; an empty text removes it.
	Plan string `json:"plan" hook:"maxlen=4000"`
}

// PlanWrite replaces your plan: the approach that the tasks follow. The tasks themselves belong into the list.
//
//hook:tool trust=trusted idempotent
func (t *Tasks) PlanWrite(ctx context.Context, env *hook.Env, in PlanInput) (string, error) {
	turn, _, err := t.writer(env)
	if err != nil {
		return "", err
	}
	plan := lines(in.Plan)
	return t.write(ctx, env, turn, func(l List) List { l.Plan = plan; return l })
}

// writer returns the turn of a call that may change the list, and the settings of its agent.
func (t *Tasks) writer(env *hook.Env) (*hook.Turn, settings, error) {
	denied := func(why string) error { return &hook.ToolError{Kind: message.FailDenied, Text: why} }
	if env == nil || env.Call == nil || env.Call.Step() == nil || env.Call.Step().Turn() == nil {
		return nil, settings{}, denied("tasks belong to a conversation, and there is none here")
	}
	turn := env.Call.Step().Turn()
	s, ok := t.of(turn.Agent())
	switch {
	case env.Grant.ReadOnly || env.Grant.Void:
		return nil, s, denied("this call may not change anything, and so no tasks")
	case !ok:
		return nil, s, denied("this agent keeps no tasks: it has no section tasks")
	}
	return turn, s, nil
}

// check returns the items as tasks, or why the list is refused as a whole.
func (s settings) check(items []TodoItem) ([]Todo, error) {
	if len(items) > s.items {
		return nil, arguments("%d tasks; write at most %d: join small ones, and leave out what was completed long ago", len(items), s.items)
	}
	out := make([]Todo, len(items))
	active := 0
	for i, in := range items {
		out[i] = Todo{Content: oneLine(in.Content), Status: in.Status, ActiveForm: oneLine(in.ActiveForm)}
		switch {
		case visible(out[i].Content) == "":
			return nil, arguments("todos[%d].content is blank", i)
		case slices.ContainsFunc(out[:i], func(t Todo) bool { return visible(t.Content) == visible(out[i].Content) }):
			return nil, arguments("todos[%d] is the same as an earlier one; each task stands once", i)
		case out[i].Status == InProgress:
			active++
		}
	}
	if active > 1 {
		return nil, arguments("%d tasks are in_progress; at most one is: the one that you work on now", active)
	}
	return out, nil
}

func arguments(format string, args ...any) error {
	return &hook.ToolError{Kind: message.FailArguments, Text: fmt.Sprintf(format, args...)}
}

// maxShown is how many characters plan and tasks have together: the model sees all of it in every turn, or would lose what it
// does not see with the next list that it writes.
const maxShown = 8000

// write changes the list in one step, tells it, and returns the new list for the model.
func (t *Tasks) write(ctx context.Context, env *hook.Env, turn *hook.Turn, change func(List) List) (string, error) {
	var size int
	now := t.list.Update(turn.Conversation(), func(l List) List {
		next := change(l)
		if size = utf8.RuneCountInString(next.Markdown()); size > maxShown {
			return l
		}
		return next
	})
	if size > maxShown {
		return "", arguments("plan and tasks have %d characters together, and %d is the most: shorten them, and leave out what was completed long ago", size, maxShown)
	}
	step := env.Call.Step().Number()
	t.turn.Update(turn, func(p progress) progress { p.shown = max(p.shown, step); return p })
	tell(ctx, env.Call.Host(), now)
	text := now.Markdown()
	if text == "" {
		return "There are no tasks and no plan now.", nil
	}
	return fmt.Sprintf("%d of %d tasks are open.\n%s", now.Open(), len(now.Todos), text), nil
}

// tell emits the event of a change.
func tell(ctx context.Context, host hook.Host, l List) {
	host.Emit(ctx, hook.Event{Kind: event.PlanUpdated, Text: strings.TrimSpace(l.Markdown())})
}
