package rig

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/redact"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// Process is a runtime over a database on disk that can die: from then on nothing
// that it does reaches the disk, as if it had been killed in that moment.
type Process struct {
	*World
	Dying *DyingStore
	// events are those that its turns have emitted, as they come.
	Events chan hook.Event
	end    context.CancelFunc
	Ended  chan Outcome
}

type Outcome struct {
	hook.TurnOutcome
	Returned error
}

type DyingStore struct {
	*sqlite.Store
	Dead atomic.Bool
}

var ErrDead = errors.New("the process is dead")

func (s *DyingStore) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if s.Dead.Load() {
		return 0, ErrDead
	}
	return s.Store.Append(ctx, id, a)
}

func (s *DyingStore) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if s.Dead.Load() {
		return 0, ErrDead
	}
	return s.Store.Note(ctx, id, n)
}

func (s *DyingStore) Claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	if s.Dead.Load() {
		return store.Record{}, ErrDead
	}
	return s.Store.Claim(ctx, id, c)
}

// Boot starts a process on the database in dir. It takes over what others have
// left at once, unless the options say otherwise.
func Boot(t *testing.T, dir string, m *Model, o runtime.Options, hooks ...hook.Hook) *Process {
	t.Helper()
	return BootAs(t, dir, m, hook.AgentConfig{Name: "a"}, o, hooks...)
}

// BootAs is boot with a configuration of the agent.
func BootAs(t *testing.T, dir string, m *Model, cfg hook.AgentConfig, o runtime.Options, hooks ...hook.Hook) *Process {
	t.Helper()
	p := &Process{Dying: &DyingStore{Store: OpenSQLite(t, dir)}, Events: make(chan hook.Event, 1_000), Ended: make(chan Outcome, 1)}
	if o.Gone == nil {
		o.Gone = func(string) bool { return true }
	}
	o.Store = p.Dying
	if r, ok := o.Events.Mask.(*redact.Redactor); ok {
		o.Store = r.Store(p.Dying)
	}
	p.World = StartWith(t, m, cfg, &o, hooks...)
	return p
}

// Sends begins a turn.
func (p *Process) Sends(line string) {
	p.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		return dialog.Send(ctx, p.Conv, message.TextInput(line), o)
	})
}

// Resumes resumes the interrupted turn.
func (p *Process) Resumes() {
	p.Runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		return dialog.Resume(ctx, p.Conv, o)
	})
}

func (p *Process) Runs(turn func(context.Context, *runtime.TurnOptions) (hook.TurnOutcome, error)) {
	ctx, cancel := context.WithCancel(p.T.Context())
	p.end = cancel
	p.T.Cleanup(cancel)
	go func() {
		out, err := turn(ctx, &runtime.TurnOptions{Observe: func(ev hook.Event) { p.Events <- ev }})
		p.Ended <- Outcome{out, err}
	}()
}

// Until waits for the n-th event of the kind.
func (p *Process) Until(kind hook.EventKind, n int) hook.Event {
	p.T.Helper()
	for {
		select {
		case ev := <-p.Events:
			if ev.Kind == kind {
				if n--; n == 0 {
					return ev
				}
			}
		case <-p.T.Context().Done():
			require.FailNow(p.T, "the event has not come", "%s", kind)
		}
	}
}

// Ends waits for the end of the turn.
func (p *Process) Ends() Outcome {
	p.T.Helper()
	select {
	case out := <-p.Ended:
		return out
	case <-p.T.Context().Done():
		require.FailNow(p.T, "the turn has not ended")
		return Outcome{}
	}
}

// Dies ends the process within its turn.
func (p *Process) Dies() {
	p.T.Helper()
	p.Dying.Dead.Store(true)
	p.end()
	require.Error(p.T, p.Ends().Returned)
}

// Gate is a tool that waits until it is let through, or for its context.
type Gate struct {
	Tool
	Reached chan struct{}
	Open    chan struct{}
}

func NewGate(name string) *Gate {
	g := &Gate{Reached: make(chan struct{}, 100), Open: make(chan struct{})}
	g.Tool = Does(name, func(ctx context.Context) message.ToolResult {
		g.Reached <- struct{}{}
		select {
		case <-g.Open:
			return message.TextResult("through")
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, "cancelled")
		}
	})
	return g
}
