package agents_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/points"
	"github.com/grapnel-go/grapnel/internal/test/rig"
)

// witness is a hook at every point that there is. It answers nothing and keeps
// account of what it was shown: for every point the parts of its views, and whether
// they ever said anything.
type witness struct {
	points.Hook
	*rig.Toolbox
	mu sync.Mutex
	// fired counts the calls of each point, and spoke has every part that was seen,
	// true if it was not zero once.
	fired map[hook.Point]int
	spoke map[string]bool
}

func newWitness() *witness {
	w := &witness{fired: map[hook.Point]int{}, spoke: map[string]bool{}}
	w.Do = func(_ context.Context, p hook.Point, shown ...any) (any, error) {
		w.saw(p, shown...)
		return nil, nil
	}
	return w
}

// saw takes down a call of the point and what it was shown.
func (w *witness) saw(p hook.Point, views ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fired[p]++
	for _, v := range views {
		w.look(p.String(), reflect.ValueOf(v))
	}
}

// shown takes down a view that is no point's.
func (w *witness) shown(where string, view any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(where, reflect.ValueOf(view))
}

// moving are the parts of places that say how far something is: they are zero at
// many points by their nature, and have to say something at one of them.
var moving = []string{"Turn.Standing", "Turn.Contributed", "Turn.Depth", "Turn.Parent", "Session.Totals", "ToolCall.Index"}

// look takes down the parts of a view: the exported fields of a value, and the
// accessors of a place.
func (w *witness) look(where string, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if place := v.Type().Elem().Name(); slices.Contains([]string{"Session", "Conversation", "Turn", "Step", "ToolCall"}, place) {
			w.lookAt(where, place, v)
			return
		}
		v = v.Elem()
	}
	name := where + " " + v.Type().Name()
	if v.Kind() != reflect.Struct {
		w.note(name, v)
		return
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.IsExported() && len(f.Index) == 1 {
			w.part(name+"."+f.Name, v.FieldByIndex(f.Index))
		}
	}
}

// lookAt records the value of a place, and of the places around it.
func (w *witness) lookAt(where, place string, v reflect.Value) {
	for i := range v.NumMethod() {
		m := v.Type().Method(i)
		if m.Type.NumIn() != 1 || m.Type.NumOut() != 1 {
			continue
		}
		name := place + "." + m.Name
		at := where + " " + name
		if slices.Contains(moving, name) {
			at = name
		}
		out := v.Method(i).Call(nil)[0]
		w.part(at, out)
		if name == "Step.Turn" || name == "ToolCall.Step" || name == "Turn.Session" || name == "Turn.Conversation" || name == "Session.Conversation" {
			w.look(where, out)
		}
	}
}

// composed are values whose parts count one by one.
var composed = []string{"Standing", "Contributed", "Totals", "TokenBudget", "EventDetail"}

func (w *witness) part(name string, v reflect.Value) {
	if !slices.Contains(composed, v.Type().Name()) {
		w.note(name, v)
		return
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		w.note(name+"."+f.Name, v.FieldByIndex(f.Index))
	}
}

func (w *witness) note(name string, v reflect.Value) { w.spoke[name] = w.spoke[name] || !speechless(v) }

// speechless reports whether the value says nothing.
func speechless(v reflect.Value) bool {
	if n := v.MethodByName("Len"); n.IsValid() && v.Kind() == reflect.Struct {
		return n.Call(nil)[0].Int() == 0
	}
	if v.Kind() == reflect.Interface && !v.IsNil() {
		_, none := v.Interface().(hook.NoHost)
		return none
	}
	return v.IsZero()
}

// silent returns the points that were never called, and the parts that never said
// anything but for those that are excused; and the excuses that nobody needs.
func (w *witness) silent(excused map[string]string) (out []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, info := range point.All() {
		if w.fired[p] == 0 {
			out = append(out, "point "+info.Name+" was never called")
		}
	}
	for name, spoke := range w.spoke {
		reason, ok := excused[name]
		switch {
		case !spoke && strings.HasSuffix(name, ".Ephemeral"): // TestSpecAnEphemeralTurnReadsTheHistoryAndStoresNothing shows both
		case !spoke && strings.HasSuffix(name, ".IsCompaction") && !strings.Contains("RewriteRequest BeforeModel WrapModel RewriteReply AfterModel", strings.Fields(name)[0]): // only points about models get summaries
		case ok && spoke:
			out = append(out, fmt.Sprintf("%s is excused (%s), and says something", name, reason))
		case !ok && !spoke:
			out = append(out, name+" never said anything")
		}
	}
	for name := range excused {
		if _, seen := w.spoke[name]; !seen {
			out = append(out, "the excuse for "+name+" is about nothing that was shown")
		}
	}
	slices.Sort(out)
	return out
}

func (w *witness) Schema() []message.Tool { w.saw(point.Schema); return w.Toolbox.Schema() }
func (w *witness) SystemPrompt(cfg *hook.AgentConfig) string {
	w.saw(point.SystemPrompt, cfg)
	return ""
}
func (w *witness) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	w.saw(point.OnBuildAgent, cfg)
	return cfg, nil
}
func (w *witness) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	w.saw(point.OnRegisterAgent, cfg)
	return nil
}
func (w *witness) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	w.saw(point.OnUnregisterAgent, cfg)
}
func (w *witness) Preprocess(_ context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	w.saw(point.Preprocess, t, in)
	return in, nil
}
func (w *witness) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	w.saw(point.ScopedTools, cfg)
	return hook.Scope{}
}
func (w *witness) Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	w.saw(point.Dispatch, call)
	return w.Toolbox.Dispatch(ctx, call)
}
func (w *witness) OnEvent(_ context.Context, ev hook.Event) {
	w.saw(point.OnEvent, ev, ev.Detail())
	if f := ev.Failure(); f != nil {
		w.shown("OnEvent", f)
	}
}
func (w *witness) OnOpen(_ context.Context, h hook.Host) error {
	w.saw(point.OnOpen, struct{ Host hook.Host }{h})
	return nil
}
func (w *witness) RewriteReply(_ context.Context, s *hook.Step, r message.ModelReply) (message.ModelReply, error) {
	w.saw(point.RewriteReply, s, r)
	w.shown("RewriteReply", struct{ Text, Reasoning string }{r.Text(), r.Reasoning()})
	return r, nil
}
func (w *witness) OnInvalidTool(_ context.Context, s *hook.Step, in hook.InvalidCall) (d hook.RepairDecision, err error) {
	w.saw(point.OnInvalidTool, s, in, in.Call)
	return
}
func (w *witness) Approve(_ context.Context, c *hook.ToolCall, asked hook.ToolDecision) (d hook.ApprovalDecision, err error) {
	v := asked.Verdict()
	w.saw(point.Approve, c, struct {
		Kind       hook.Answer
		Reason, By string
		Grant      hook.Grant
	}{v.Kind, v.Reason, v.By, asked.Grant()})
	return
}
func (w *witness) AfterStep(_ context.Context, s *hook.Step, o hook.StepOutcome) (d hook.StepDecision, err error) {
	w.saw(point.AfterStep, s, o)
	for _, end := range o.Calls.All() {
		w.shown("AfterStep", end)
	}
	return
}
func (w *witness) AfterTurn(_ context.Context, t *hook.Turn, o hook.TurnOutcome) {
	w.saw(point.AfterTurn, t, o)
	for _, s := range o.Signals.All() {
		w.shown("AfterTurn", s)
	}
}
