package faults_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// registrar counts the agents that come and go, and the turns between.
type registrar struct {
	hook.Nop
	mu sync.Mutex
	// in are the agents that are registered; turns run of each.
	in    map[*hook.AgentConfig]int
	came  int
	went  int
	ended int
	wrong []string
	// refuse makes some registrations fail behind the first hook.
	refuse bool
}

func (g *registrar) wrongly(format string, args ...any) {
	g.wrong = append(g.wrong, fmt.Sprintf(format, args...))
}

// OnRegisterAgent implements hook.Hook.
func (g *registrar) OnRegisterAgent(_ context.Context, cfg *hook.AgentConfig) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse {
		g.refuse = false
		return errHook
	}
	if _, twice := g.in[cfg]; twice {
		g.wrongly("%s is registered twice", cfg.Name)
	}
	g.in[cfg] = 0
	g.came++
	return nil
}

// OnUnregisterAgent implements hook.Hook.
func (g *registrar) OnUnregisterAgent(_ context.Context, cfg *hook.AgentConfig) {
	g.mu.Lock()
	defer g.mu.Unlock()
	turns, there := g.in[cfg]
	if !there || turns != 0 {
		g.wrongly("%s is unregistered: there %t, with %d turns", cfg.Name, there, turns)
	}
	delete(g.in, cfg)
	g.went++
}

// Preprocess implements hook.Hook.
func (g *registrar) Preprocess(_ context.Context, t *hook.Turn, in message.Input) (message.Input, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, there := g.in[t.Agent()]; !there {
		g.wrongly("a turn of %s begins outside of its registration", t.Agent().Name)
	}
	g.in[t.Agent()]++
	return in, nil
}

// AfterTurn implements hook.AfterTurn.
func (g *registrar) AfterTurn(_ context.Context, t *hook.Turn, _ hook.TurnOutcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, there := g.in[t.Agent()]; !there {
		g.wrongly("a turn of %s ends outside of its registration", t.Agent().Name)
	}
	g.in[t.Agent()]--
	g.ended++
}

// TestAgentsComeAndGoDuringTurns registers and unregisters agents while turns of
// theirs run: each is unregistered as often as registered, never within a turn,
// and nothing is left behind.
func TestAgentsComeAndGoDuringTurns(t *testing.T) {
	needs.Proof(t)
	const names = 4
	g := &registrar{in: map[*hook.AgentConfig]int{}}
	rt := runtime.New(g, provider.Func(answers), nil)
	ctx := context.Background()
	require.NoError(t, rt.Open(ctx))
	before := goruntime.NumGoroutine()
	var done atomic.Bool
	var turns, refused atomic.Int64
	var talkers, cyclers sync.WaitGroup
	for i := range 2 * names {
		talkers.Go(func() {
			for n := 0; !done.Load(); n++ {
				conv, err := dialog.Conversation(ctx, rt, fmt.Sprint("a", (i+n)%names), fmt.Sprint(i))
				if err == nil {
					_, err = dialog.Send(ctx, conv, message.TextInput("go#answer"), nil)
				}
				switch {
				case err == nil:
					turns.Add(1)
				case errors.Is(err, runtime.ErrAgentUnknown), errors.Is(err, runtime.ErrAgentClosing):
					refused.Add(1)
					goruntime.Gosched()
				default:
					t.Errorf("send: %v", err)
					return
				}
			}
		})
	}
	for i := range names {
		cyclers.Go(func() {
			name := fmt.Sprint("a", i)
			for n := range *agentsFlag / names {
				if n%50 == 1 {
					g.mu.Lock()
					g.refuse = true
					g.mu.Unlock()
				}
				_, err := rt.Register(ctx, hook.AgentConfig{Name: name})
				if errors.Is(err, errHook) {
					_, err = rt.Register(ctx, hook.AgentConfig{Name: name})
				}
				if err == nil {
					goruntime.Gosched()
					err = rt.Unregister(ctx, name)
				}
				if err != nil && !errors.Is(err, errHook) {
					t.Errorf("cycle %d of %s: %v", n, name, err)
					return
				}
			}
		})
	}
	cyclers.Wait()
	done.Store(true)
	talkers.Wait()
	assert.Empty(t, rt.Agents())
	require.NoError(t, rt.Close(ctx))
	assert.Eventually(t, func() bool { return goruntime.NumGoroutine() <= before+1 }, time.Minute, time.Millisecond, "goroutines") // one is Eventually's
	assert.Empty(t, g.wrong)
	assert.Empty(t, g.in)
	assert.Equal(t, g.came, g.went)
	assert.EqualValues(t, turns.Load(), g.ended)
	assert.Positive(t, turns.Load())
	figure(t, "cycles", g.came, "agents registered and unregistered")
	figure(t, "turns", turns.Load(), "meanwhile")
	figure(t, "refused", refused.Load(), "turns of agents that were not there")
}
