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

// callLog records the calls of several members in order.
type callLog struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	point hook.Point
	name  string
}

func (l *callLog) note(p hook.Point, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry{p, name})
}

// at returns the names of the members called at the point, in order.
func (l *callLog) at(p hook.Point) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.point == p {
			names = append(names, e.name)
		}
	}
	return names
}

// behaviour says what a member does at its points.
type behaviour int

const (
	silent  behaviour = iota
	severe            // it gives its point's most severe answer
	failing           // it returns an error, or panics at a point without one
	panics
)

// reason is the reason in a member's answer.
const reason = "the kit's member says so"

// member is a hook with every point. The kit makes composites of members.
type member struct {
	hook.Nop
	name string
	does behaviour
	// only restricts does to one point; 0 is all.
	only hook.Point
	log  *callLog
}

// called logs the call, and panics or returns an error as m.does says.
func (m *member) called(p hook.Point) error {
	m.log.note(p, m.name)
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

// decided is called at a point that decides; answers has all answers of its decision. A severe member gives the most severe one, the
// first of several.
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

// part returns an argument for the constructor of an answer.
func part[T any]() (t T) {
	switch p := any(&t).(type) {
	case *string:
		*p = reason
	case *hook.StopReason:
		*p = hook.StopStepsLimit
	}
	return t
}

// contributions returns the member's contributions of one type.
func contributions[T any](m *member) []T { return []T{oneOf[T](kinds(m.name))} }

// oneOf returns the value of type T. A new type of contribution belongs in the list of kinds.
func oneOf[T any](all []any) T {
	for _, v := range all {
		if t, ok := v.(T); ok {
			return t
		}
	}
	panic(fmt.Sprintf("hooktest: %T is in no list of member.go", *new(T)))
}

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

// composeEvent is the event that the kit passes to a composite.
const composeEvent hook.EventKind = "hooktest_compose"

// WrapTool implements hook.WrapTool. A wrap returns no error, so a failing one panics.
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
