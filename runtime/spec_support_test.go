package runtime_test

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

// process is a runtime over a database on disk that can die: from then on nothing
// that it does reaches the disk, as if it had been killed in that moment.
type process struct {
	*world
	dying *dyingStore
	// events are those that its turns have emitted, as they come.
	events chan hook.Event
	end    context.CancelFunc
	ended  chan outcome
}

type outcome struct {
	hook.TurnOutcome
	err error
}

type dyingStore struct {
	*sqlite.Store
	dead atomic.Bool
}

var errDead = errors.New("the process is dead")

func (s *dyingStore) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Store.Append(ctx, id, a)
}

func (s *dyingStore) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if s.dead.Load() {
		return 0, errDead
	}
	return s.Store.Note(ctx, id, n)
}

func (s *dyingStore) Claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	if s.dead.Load() {
		return store.Record{}, errDead
	}
	return s.Store.Claim(ctx, id, c)
}

// boot starts a process on the database in dir. It takes over what others have
// left at once, unless the options say otherwise.
func boot(t *testing.T, dir string, m *model, o runtime.Options, hooks ...hook.Hook) *process {
	t.Helper()
	return bootAs(t, dir, m, hook.AgentConfig{Name: "a"}, o, hooks...)
}

// bootAs is boot with a configuration of the agent.
func bootAs(t *testing.T, dir string, m *model, cfg hook.AgentConfig, o runtime.Options, hooks ...hook.Hook) *process {
	t.Helper()
	p := &process{dying: &dyingStore{Store: openSQLite(t, dir)}, events: make(chan hook.Event, 1_000), ended: make(chan outcome, 1)}
	if o.Gone == nil {
		o.Gone = func(string) bool { return true }
	}
	o.Store = p.dying
	if r, ok := o.Events.Mask.(*redact.Redactor); ok {
		o.Store = r.Store(p.dying)
	}
	p.world = startWith(t, m, cfg, &o, hooks...)
	return p
}

// sends begins a turn.
func (p *process) sends(line string) {
	p.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		return dialog.Send(ctx, p.conv, message.TextInput(line), o)
	})
}

// resumes resumes the interrupted turn.
func (p *process) resumes() {
	p.runs(func(ctx context.Context, o *runtime.TurnOptions) (hook.TurnOutcome, error) {
		return dialog.Resume(ctx, p.conv, o)
	})
}

func (p *process) runs(turn func(context.Context, *runtime.TurnOptions) (hook.TurnOutcome, error)) {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.end = cancel
	p.t.Cleanup(cancel)
	go func() {
		out, err := turn(ctx, &runtime.TurnOptions{Observe: func(ev hook.Event) { p.events <- ev }})
		p.ended <- outcome{out, err}
	}()
}

// until waits for the n-th event of the kind.
func (p *process) until(kind hook.EventKind, n int) hook.Event {
	p.t.Helper()
	for {
		select {
		case ev := <-p.events:
			if ev.Kind == kind {
				if n--; n == 0 {
					return ev
				}
			}
		case <-p.t.Context().Done():
			require.FailNow(p.t, "the event has not come", "%s", kind)
		}
	}
}

// ends waits for the end of the turn.
func (p *process) ends() outcome {
	p.t.Helper()
	select {
	case out := <-p.ended:
		return out
	case <-p.t.Context().Done():
		require.FailNow(p.t, "the turn has not ended")
		return outcome{}
	}
}

// dies ends the process within its turn.
func (p *process) dies() {
	p.t.Helper()
	p.dying.dead.Store(true)
	p.end()
	require.Error(p.t, p.ends().err)
}

// gate is a tool that waits until it is let through, or for its context.
type gate struct {
	tool
	reached chan struct{}
	open    chan struct{}
}

func newGate(name string) *gate {
	g := &gate{reached: make(chan struct{}, 100), open: make(chan struct{})}
	g.tool = does(name, func(ctx context.Context) message.ToolResult {
		g.reached <- struct{}{}
		select {
		case <-g.open:
			return message.TextResult("through")
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, "cancelled")
		}
	})
	return g
}
