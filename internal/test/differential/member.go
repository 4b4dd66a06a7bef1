package differential

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/points"
)

//go:generate go run ../../../gen/internal/pointgen differential ../../../hook

// Log has the actions of the members, in order. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Add adds a line.
func (l *Log) Add(line string) {
	l.mu.Lock()
	l.lines = append(l.lines, line)
	l.mu.Unlock()
}

// Lines returns the lines so far.
func (l *Log) Lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.lines)
}

// Mode is a member's behaviour at a point.
type Mode int

// The modes.
const (
	Silent Mode = iota
	Answers
	Fails
	Panics
	// Hangs answers after the time in Hang.
	Hangs
)

// Member is the mix-in of all members: every point, driven by a table.
type Member struct {
	hook.Nop
	Name string
	Log  *Log
	// Do has the mode at each point; Silent by default.
	Do map[hook.Point]Mode
	// Say selects one of a decider's answers.
	Say int
	// Hang is how long Hangs takes; 0 is two seconds.
	Hang time.Duration
}

// at logs the point, and fails or panics by the table; true means to answer.
func (m *Member) at(p hook.Point, detail any) (bool, error) {
	m.Log.Add(fmt.Sprintf("%s.%s(%v)", m.Name, p, detail))
	switch m.Do[p] {
	case Answers:
		return true, nil
	case Hangs:
		time.Sleep(cmp.Or(m.Hang, 2*time.Second))
		return true, nil
	case Fails:
		return false, errors.New(m.Name + " fails")
	case Panics:
		panic(m.Name + " panics")
	}
	return false, nil
}

func decided[D points.Decision](m *Member, p hook.Point, shown ...any) (none D, err error) {
	yes, err := m.at(p, detail(shown))
	if !yes {
		return none, err
	}
	all := points.Answers(p, m.Name, m.Say)
	return all[m.Say%len(all)].(D), nil
}

func contributed[T any](m *Member, p hook.Point) ([]T, error) {
	yes, err := m.at(p, "")
	if !yes {
		return nil, err
	}
	return []T{contribution[T](m.Name, m.Say), contribution[T](m.Name, 0)}[:1+m.Say%2], nil
}

// contribution returns one with the name as its texts and the weight.
func contribution[T any](name string, weight int) (out T) {
	v := reflect.ValueOf(&out).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Type() == reflect.TypeFor[string]() && v.Type().Field(i).Name != "By":
			f.SetString(name)
		case v.Type().Field(i).Name == "Weight":
			f.SetInt(int64(weight))
		}
	}
	return out
}

func rewritten[T any](m *Member, p hook.Point, v T) (T, error) {
	text, err := m.mark(p, points.Text(v))
	return points.SetText(v, text), err
}

func (m *Member) observed(p hook.Point, shown ...any) {
	if _, err := m.at(p, detail(shown)); err != nil {
		panic(err)
	}
}

// detail is the text of the last that has one.
func detail(shown []any) string {
	for _, v := range slices.Backward(shown) {
		if text := points.Text(v); text != "" {
			return text
		}
	}
	return ""
}

// mark appends the member's name if the table says so. The text of a failure must not be
// used.
func (m *Member) mark(p hook.Point, s string) (string, error) {
	yes, err := m.at(p, s)
	if err != nil {
		return "half of " + m.Name, err
	}
	if yes {
		s += "+" + m.Name
	}
	return s, nil
}

// SystemPrompt implements hook.Hook.
func (m *Member) SystemPrompt(cfg *hook.AgentConfig) string {
	yes, err := m.at(point.SystemPrompt, cfg.ToolName(""))
	if err != nil {
		panic(err)
	}
	if !yes {
		return ""
	}
	return m.Name + " of " + cfg.ToolName("x")
}

// OnBuildAgent implements hook.Hook.
func (m *Member) OnBuildAgent(_ context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	var err error
	cfg.Instructions, err = m.mark(point.OnBuildAgent, cfg.Instructions)
	return cfg, err
}

// OnRegisterAgent implements hook.Hook.
func (m *Member) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	_, err := m.at(point.OnRegisterAgent, cfg.Name)
	return err
}

// OnUnregisterAgent implements hook.Hook.
func (m *Member) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	if _, err := m.at(point.OnUnregisterAgent, cfg.Name); err != nil {
		panic(err)
	}
}

// Preprocess implements hook.Hook.
func (m *Member) Preprocess(_ context.Context, _ *hook.Turn, in message.Input) (message.Input, error) {
	text, err := m.mark(point.Preprocess, in.Text())
	return message.TextInput(text), err
}

// ScopedTools implements hook.Hook.
func (m *Member) ScopedTools(cfg *hook.AgentConfig) hook.Scope {
	yes, err := m.at(point.ScopedTools, cfg.ToolName(""))
	if err != nil {
		return hook.Scope{Tools: []string{}, Line: m.Name + " has none"}
	}
	if yes {
		return hook.Scope{Tools: []string{"read", "add", "echo", "read"}, Line: m.Name + " has some"}
	}
	return hook.Scope{}
}

// OnEvent implements hook.Hook.
func (m *Member) OnEvent(_ context.Context, ev hook.Event) {
	if _, err := m.at(point.OnEvent, ev.Text); err != nil {
		panic(err)
	}
}

// OnOpen implements hook.OnOpen.
func (m *Member) OnOpen(context.Context, hook.Host) error {
	_, err := m.at(point.OnOpen, "")
	return err
}

// OnClose implements hook.OnClose.
func (m *Member) OnClose(context.Context) error {
	_, err := m.at(point.OnClose, "")
	return err
}

// WrapTool implements hook.WrapTool. It panics before or after the rest.
func (m *Member) WrapTool(ctx context.Context, call *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	if m.Say%2 == 0 {
		if _, err := m.at(point.WrapTool, call.ID()); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
	}
	r := next.Run(ctx)
	if m.Say%2 == 1 {
		if _, err := m.at(point.WrapTool, call.ID()); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
	}
	return message.TextResult(r.Text() + "<" + m.Name)
}

// WrapModel implements hook.WrapModel. It panics when called or while it streams.
func (m *Member) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	if m.Say%2 == 0 {
		if _, err := m.at(point.WrapModel, "call"); err != nil {
			panic(err)
		}
	}
	return func(yield func(message.Chunk, error) bool) {
		for c, err := range next.Stream(ctx) {
			c.Text += "<" + m.Name
			if !yield(c, err) {
				return
			}
			if m.Say%2 == 1 {
				if _, err := m.at(point.WrapModel, "stream"); err != nil {
					yield(message.Chunk{}, err)
					return
				}
			}
		}
	}
}
