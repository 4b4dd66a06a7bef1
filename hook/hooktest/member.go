package hooktest

//go:generate go run ../../gen/internal/pointgen hooktest ..

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
)

// diary is what several members note in common: who was called where, in order.
type diary struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	point hook.Point
	name  string
}

func (d *diary) note(p hook.Point, name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry{p, name})
}

// at returns who was called at the point, in order.
func (d *diary) at(p hook.Point) (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.entries {
		if e.point == p {
			names = append(names, e.name)
		}
	}
	return names
}

// behaviour is what a member does at its points.
type behaviour int

const (
	silent  behaviour = iota
	severe            // it gives the answer that holds back most
	failing           // it returns an error, where it can
	panics
)

// reason is what a member says with its answer.
const reason = "the kit's member says so"

// member is a hook at every point, of which the kit makes composites.
type member struct {
	hook.Nop
	name string
	does behaviour
	// only, if set, is the point at which it does that.
	only  hook.Point
	diary *diary
}

// called notes the call. It panics or returns an error if the member is to.
func (m *member) called(p hook.Point) error {
	m.diary.note(p, m.name)
	if m.only != 0 && m.only != p {
		return nil
	}
	switch m.does {
	case panics:
		panic(marker)
	case failing:
		return errors.New(marker)
	}
	return nil
}

// decided is called at a point that decides; answers are those that its decision has. The severe one is the first of those that
// hold back most.
func decided[D verdict](m *member, p hook.Point, answers ...D) (severest D, err error) {
	if err := m.called(p); err != nil || m.does != severe || m.only != 0 && m.only != p {
		return severest, err
	}
	for _, d := range answers {
		if d.Verdict().Kind.Outweighs(severest.Verdict().Kind) {
			severest = d
		}
	}
	return severest, nil
}

// part is what an answer of the member has in it.
func part[T any]() (t T) {
	switch p := any(&t).(type) {
	case *string:
		*p = reason
	case *hook.StopReason:
		*p = hook.StopStepsLimit
	}
	return t
}

// contributions are what the member contributes.
func contributions[T any](m *member) []T { return []T{oneOf[T](kinds(m.name))} }

// oneOf is the value of the type. A contribution that is new belongs into the list below.
func oneOf[T any](all []any) T {
	for _, v := range all {
		if t, ok := v.(T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("hooktest: %T is in no list of member.go", *new(T)))
}

// kinds has one contribution of each kind.
func kinds(of string) []any {
	return []any{
		hook.Policy{Domain: "hooktest", Key: of, Value: "on"}, hook.ContextBlock{Domain: "hooktest", ID: of, Text: "a block"},
		hook.ToolChange{ID: of, Hide: message.ListOf(foreignTool)}, hook.PromptSection{ID: of, Text: "a section"},
	}
}

// OnOpen implements hook.OnOpen.
func (m *member) OnOpen(context.Context, hook.Host) error { return m.called(point.OnOpen) }

// OnClose implements hook.OnClose.
func (m *member) OnClose(context.Context) error { return m.called(point.OnClose) }

// OnRegisterAgent implements hook.Hook.
func (m *member) OnRegisterAgent(context.Context, *hook.AgentConfig) error {
	return m.called(point.OnRegisterAgent)
}

// OnUnregisterAgent implements hook.Hook.
func (m *member) OnUnregisterAgent(context.Context, *hook.AgentConfig) {
	_ = m.called(point.OnUnregisterAgent)
}

// OnBuildAgent implements hook.Hook.
func (m *member) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	return cfg, m.called(point.OnBuildAgent)
}

// Preprocess implements hook.Hook.
func (m *member) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	return in, m.called(point.Preprocess)
}

// OnEvent implements hook.Hook.
func (m *member) OnEvent(_ context.Context, ev hook.Event) {
	if ev.Kind == composeEvent {
		_ = m.called(point.OnEvent)
	}
}

// composeEvent is what the kit tells a composite.
const composeEvent hook.EventKind = "hooktest_compose"

// WrapTool implements hook.WrapTool. A wrap has no error to return, so one that is to
// fail panics.
func (m *member) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	if err := m.called(point.WrapTool); err != nil {
		panic(err)
	}
	return next.Run(ctx)
}

// WrapModel implements hook.WrapModel.
func (m *member) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	if err := m.called(point.WrapModel); err != nil {
		panic(err)
	}
	return next.Stream(ctx)
}
