package storage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/rig"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

type archives struct {
	Trail *trail `hook:"AfterTurn: background,timeout=1m,visibility=audit"`
}

// archived is a world whose only member is tagged background.
func archived(t *testing.T, a *trail, o *runtime.Options, replies ...message.ModelStream) *rig.World {
	t.Helper()
	c, err := composite.New(&archives{a})
	require.NoError(t, err)
	return rig.StartWith(t, rig.Plays(replies...), hook.AgentConfig{Name: "a", Instructions: "Help."}, o, c)
}

// jobsOf are the jobs of a store, "status attempts failure".
func jobsOf(t *testing.T, st store.Store) (out []string) {
	t.Helper()
	all, err := st.(store.Jobs).Jobs(context.Background(), store.JobFilter{})
	require.NoError(t, err)
	for _, j := range slices.Backward(all) {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %d %s", j.Status, j.Attempts, j.Failure)))
	}
	return out
}

func TestAJobCallsABackgroundObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen *hook.Turn
		a := new(trail)
		a.do = func(_ context.Context, turn *hook.Turn) { seen = turn }
		w := archived(t, a, nil, rig.Says("one"))
		out := w.Send("hi")
		time.Sleep(time.Second)
		assert.Equal(t, []string{"1 one <nil>"}, a.noted())
		assert.Equal(t, []string{"succeeded 1"}, jobsOf(t, w.Store))
		assert.Equal(t, []any{w.Conv.ID(), "ann", "Help.", "hi", 2, out.Usage},
			[]any{seen.Conversation().ID(), seen.Conversation().Sender(), seen.Agent().Instructions, seen.Input().Text(),
				seen.Standing().History.Len(), seen.Standing().Usage})
		_, err := seen.Host().CallModel(t.Context(), message.ModelRequest{})
		assert.ErrorIs(t, err, hook.ErrNoTurn, "the job has ended")
		err = seen.Host().Enqueue(t.Context(), hook.Job{Kind: runtime.KindBackground, Key: "1"})
		assert.ErrorContains(t, err, "use another kind")
	})
}

// A failed job is reported and retried, later each time; one that succeeded never runs again.
func TestAFailedBackgroundObserverIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64 // who is late is not waited for
		a := new(trail)
		a.do = func(ctx context.Context, _ *hook.Turn) {
			switch tries.Add(1) {
			case 1:
				panic("CANARY")
			case 2:
				<-ctx.Done() // its minute
			}
		}
		w := archived(t, a, &runtime.Options{Events: runtime.Events{RecordHooks: true}}, rig.Says("one"))
		w.Send("hi")
		turn := w.Events[0].Turn
		time.Sleep(time.Hour)
		assert.Equal(t, int64(3), tries.Load())
		assert.Equal(t, []string{"succeeded 3"}, jobsOf(t, w.Store))
		var runs []string
		for _, ev := range a.of(event.HookRun) {
			r, _ := ev.Run()
			if r.Point == point.AfterTurn {
				assert.Equal(t, "Trail audit "+turn, r.Subsystem+" "+string(r.Visibility)+" "+ev.Turn)
				runs = append(runs, fmt.Sprint(r.Status, " ", r.Attempt, " ", r.Duration))
			}
		}
		assert.Equal(t, []string{"queued 0 0s", "panicked 1 0s", "timed_out 2 1m0s", "succeeded 3 0s"}, runs)
		assert.Len(t, a.of(event.HookFailed), 2)
	})
}

// A job that a process has left is done by the next one, once.
func TestTheNextProcessCallsABackgroundObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mem.New(nil)
		first := &trail{do: func(ctx context.Context, _ *hook.Turn) { <-ctx.Done() }}
		w := archived(t, first, &runtime.Options{Store: st}, rig.Says("one"))
		w.Send("hi")
		synctest.Wait() // the job is being done
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, w.Runtime.Close(ctx))
		assert.Equal(t, []string{"queued 0 closed"}, jobsOf(t, st))
		second := new(trail)
		next := archived(t, second, &runtime.Options{Store: st})
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"1 one <nil>"}, second.noted())
		assert.Equal(t, []string{"succeeded 1"}, jobsOf(t, st))
		require.NoError(t, next.Runtime.Close(t.Context()))
	})
}

// Nested composites and groups, two of one type among them.
func TestBackgroundMembersAreFoundWhereverTheyAre(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			type all struct {
				One   *archives
				Two   archives
				Extra []hook.Hook `hook:"AfterTurn: background"`
			}
			a := &all{One: &archives{&trail{}}, Two: archives{&trail{}}, Extra: []hook.Hook{nil, new(trail)}}
			one, err := composite.New(a.One)
			require.NoError(t, err)
			two, err := composite.New(&a.Two)
			require.NoError(t, err)
			type outer struct {
				One   *composite.Composite
				Two   *composite.Composite
				Extra []hook.Hook `hook:"AfterTurn: background"`
			}
			c, err := composite.New(&outer{one, two, append(a.Extra, one)})
			require.NoError(t, err)
			w := rig.StartWith(t, rig.Plays(rig.Says("one")), hook.AgentConfig{Name: "a"}, &runtime.Options{Events: runtime.Events{RecordHooks: recorded}}, c)
			w.Send("hi")
			time.Sleep(time.Minute)
			var keys []string
			jobs, err := w.Runtime.Jobs(t.Context(), store.JobFilter{})
			require.NoError(t, err)
			for _, j := range jobs {
				assert.Equal(t, store.JobSucceeded, j.Status)
				keys = append(keys, strings.Fields(j.Key)[0])
			}
			assert.Subset(t, keys, []string{"One.Trail", "Two.Trail", "Extra[1]"})
			assert.Equal(t, []string{"1 one <nil>"}, a.Two.Trail.noted())
			assert.Equal(t, []string{"1 one <nil>"}, a.Extra[1].(*trail).noted())
		})
	}
}

// A job of a member that there is no more is given up, and says why.
func TestAJobOfAMemberThatIsGoneIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := mem.New(nil)
		_, err := st.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: runtime.KindBackground, Key: "1", Payload: `{"path":"Gone","point":"AfterTurn","view":{}}`}})
		require.NoError(t, err)
		_, err = st.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: runtime.KindBackground, Key: "2", Payload: `{"path":"Trail","point":"AfterTurn","view":[1]}`}})
		require.NoError(t, err)
		a := new(trail)
		w := archived(t, a, &runtime.Options{Store: st})
		time.Sleep(time.Minute)
		assert.Equal(t, []string{
			"failed 1 the composite has no member Gone with the mode background at AfterTurn", "failed 1 the stored arguments of the call cannot be read",
		}, jobsOf(t, st))
		assert.Len(t, a.of(event.Diagnostic), 2)
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}

// Arguments that are too long for a job are not lost: the member runs in the background.
func TestArgumentsTooLongForAJobRunInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := new(trail)
		w := archived(t, a, nil, rig.Says("one"))
		w.Send(strings.Repeat("long ", 20_000))
		require.NoError(t, w.Runtime.Close(t.Context()))
		assert.Equal(t, []string{"1 one <nil>", "closed"}, a.noted())
		assert.Empty(t, jobsOf(t, w.Store))
		told := a.of(event.Diagnostic)
		require.Len(t, told, 1)
		assert.Contains(t, told[0].Text, "no job could be queued for Trail at AfterTurn: it runs in the background now, and not at all if the process dies")
	})
}

// The kind is the runtime's alone.
func TestTheKindOfBackgroundJobsIsReserved(t *testing.T) {
	rt := runtime.New(nil, rig.Plays(), &runtime.Options{Jobs: runtime.JobOptions{Handlers: map[string]func(context.Context, runtime.JobRun) error{
		runtime.KindBackground: func(context.Context, runtime.JobRun) error { return nil },
	}}})
	assert.ErrorContains(t, rt.Open(t.Context()), "remove it from Options.Jobs.Handlers")
}

// A layer over the composite of an agent does not change which member runs.
func TestBackgroundMembersRunUnderLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type layered struct {
			Trail *trail `hook:"AfterTurn: background"`
			Other *trail
		}
		s := &layered{new(trail), new(trail)}
		c, err := composite.New(s)
		require.NoError(t, err)
		cfg := hook.AgentConfig{Name: "a"}.WithSection(runtime.LayerSection, `{"Other": "off"}`)
		w := rig.StartWith(t, rig.Plays(rig.Says("one")), cfg, nil, c)
		w.Send("hi")
		time.Sleep(time.Minute)
		assert.Equal(t, []string{"1 one <nil>"}, s.Trail.noted())
		assert.Empty(t, s.Other.noted())
		assert.Equal(t, []string{"succeeded 1"}, jobsOf(t, w.Store))
		require.NoError(t, w.Runtime.Close(t.Context()))
	})
}
