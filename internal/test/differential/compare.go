package differential

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// Facade is common to generated and dynamic composites; tests assert the other points.
type Facade interface {
	hook.Hook
	Points() hook.PointSet
	Ready() error
	Members() iter.Seq2[string, hook.Hook]
	DispatchAll(context.Context, []composite.Call, *composite.DispatchOptions, func(int, composite.Completion)) []composite.Completion
}

// World is one composite with its own members, log and host.
type World struct {
	F    Facade
	Log  *Log
	Host *Recorder
}

// Recorder is a host that keeps events, also from hooks that return late. Read it after they
// have returned.
type Recorder struct {
	hook.NoHost
	mu    sync.Mutex
	Lines []string
	Runs  []hook.Run
}

// Emit keeps the event. It keeps hook runs apart, because only composites that record emit
// them.
func (r *Recorder) Emit(_ context.Context, ev hook.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run, ok := ev.Run(); ok {
		r.Runs = append(r.Runs, run)
		return
	}
	d := ev.Detail()
	r.Lines = append(r.Lines, fmt.Sprintf("%s %s %s", ev.Kind, d.Subsystem, d.Point))
}

// chain is the innermost call of wraps.
type chain struct{ log *Log }

func (c chain) Run(context.Context) message.ToolResult {
	c.log.Add("run")
	return message.TextResult("result")
}

func (chain) Stream(context.Context) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		_ = yield(message.Chunk{Text: "1"}, nil) && yield(message.Chunk{Text: "2"}, nil)
	}
}

// Op is one call of a program.
type Op struct {
	// Name is the name of the facade's method or of the point.
	Name string
	// Run returns a text to compare.
	Run func(w World, arg string) string
}

// In reports whether a composite with these points has the method.
func (o Op) In(points hook.PointSet) bool {
	for p := range point.All() {
		if p.String() == o.Name {
			return points.Has(p) || point.InfoOf(p).Kind == "facade"
		}
	}
	return true
}

func (w World) places() (*hook.AgentConfig, *hook.Turn, *hook.Step) {
	cfg := hook.AgentConfig{Name: "agent"}.WithHost(w.Host)
	conv := hook.NewConversation(hook.ConversationData{ID: "c", Agent: &cfg, Host: w.Host})
	session, _ := hook.NewSession(hook.SessionData{Conversation: conv, ID: "s"})
	turn, _ := hook.NewTurn(hook.TurnData{Conversation: conv, Session: session, ID: "t"})
	return &cfg, turn, hook.NewStep(turn, 1, "m")
}

func (w World) call(tool string) *hook.ToolCall {
	_, _, step := w.places()
	return hook.NewToolCall(hook.ToolCallData{Step: step, ID: "1", Tool: message.Tool{Name: tool}, Args: `{"path":"p"}`})
}

// show returns everything of an answer that hooks and runtime can see.
func show(v hook.Verdict, err error, more ...any) string {
	s := fmt.Sprintf("%s %q by %s, err %v, %v", v.Kind, v.Reason, v.By, err, more)
	if v.Failure != nil {
		s += fmt.Sprintf(", failure %v panic=%t", v.Failure, v.Failure.Panic)
	}
	return s + failure(err)
}

func failure(err error) string {
	var f *hook.Failure
	if errors.As(err, &f) {
		return fmt.Sprintf(" [%s at %s, panic=%t]", f.Subsystem, f.Point, f.Panic)
	}
	return ""
}

// guarded runs f; the Facade methods without an error panic with a *hook.Failure.
func guarded(f func() string) (out string) {
	defer func() {
		if v := recover(); v != nil {
			err, ok := v.(error)
			if !ok {
				out = fmt.Sprintf("panic %v", v)
				return
			}
			out = "panic " + err.Error() + failure(err)
		}
	}()
	return f()
}

// Differ runs one call on several composites and returns the first difference from the first
// one: in the answer, the members' log, or the host's events; "" for none.
func Differ(o Op, arg string, first World, others ...World) string {
	want := o.Run(first, arg)
	for i, w := range others {
		got := o.Run(w, arg)
		switch {
		case want != got:
			return fmt.Sprintf("%d: %s(%s) answers\n\t%s\n\t%s", i, o.Name, arg, want, got)
		case !slices.Equal(first.Log.Lines(), w.Log.Lines()):
			return fmt.Sprintf("%d: %s(%s) calls\n\t%s\n\t%s", i, o.Name, arg, first.Log.Lines(), w.Log.Lines())
		case !slices.Equal(first.Host.Lines, w.Host.Lines):
			return fmt.Sprintf("%d: %s(%s) tells\n\t%s\n\t%s", i, o.Name, arg, first.Host.Lines, w.Host.Lines)
		}
	}
	return ""
}
