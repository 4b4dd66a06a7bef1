package monitor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
)

// Bounds of what is remembered. More turns than that run without their details.
const (
	maxTurns = 4096
	maxCalls = 32
)

// turns are the running turns by the id of the conversation that people see.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

// turn is what events have said of a running turn.
type turn struct {
	since time.Time
	step  int
	calls map[callKey]wire.ActiveCall
}

// callKey names a call. Two turns below one conversation may use one id.
type callKey struct{ turn, id string }

// OnEvent implements hook.Hook: it remembers which calls run.
func (m *Monitor) OnEvent(_ context.Context, ev hook.Event) {
	switch ev.Kind {
	case event.TurnStart, event.StepStart, event.CallStart, event.CallResult, event.TurnEnd:
		m.turns.note(&ev)
	}
}

func (t *turns) note(ev *hook.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*turn{}
	}
	one := t.of[ev.Conversation]
	if ev.Depth == 0 {
		switch ev.Kind {
		case event.TurnStart:
			if one == nil && len(t.of) >= maxTurns {
				return
			}
			t.of[ev.Conversation] = &turn{since: ev.Time, calls: map[callKey]wire.ActiveCall{}}
			return
		case event.TurnEnd:
			delete(t.of, ev.Conversation)
			return
		}
	}
	if one == nil {
		return
	}
	d := ev.Detail()
	switch key := (callKey{ev.Turn, d.CallID}); ev.Kind {
	case event.StepStart:
		if ev.Depth == 0 {
			one.step = ev.Step
		}
	case event.CallStart:
		if len(one.calls) < maxCalls {
			one.calls[key] = wire.ActiveCall{Tool: d.Tool, Agent: ev.Agent, Since: ev.Time.UTC()}
		}
	case event.CallResult:
		delete(one.calls, key)
	}
}

// Describe adds to a running turn what its events have said.
func (m *Monitor) Describe(a *wire.ActiveTurn) {
	m.turns.mu.Lock()
	defer m.turns.mu.Unlock()
	one := m.turns.of[a.Conversation]
	if one == nil {
		return
	}
	a.Since, a.Step, a.Calls = one.since.UTC(), one.step, make([]wire.ActiveCall, 0, len(one.calls))
	for _, c := range one.calls {
		a.Calls = append(a.Calls, c)
	}
	slices.SortFunc(a.Calls, func(x, y wire.ActiveCall) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Tool, y.Tool)) })
}
