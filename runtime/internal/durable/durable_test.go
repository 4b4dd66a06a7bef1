package durable_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hold = 15 * time.Second

var key = store.Key{Agent: "a", Sender: "ann"}

// process is one of several that share a store.
type process struct {
	t      *testing.T
	leases *durable.Leases
	lease  *durable.Lease
	log    *stream.Log
	// told are the texts of events about what was read, loaded the lengths of histories
	// that were, and lost counts lost leases.
	told   []string
	loaded []int
	lost   atomic.Int64
}

func newProcess(t *testing.T, s store.Store, owner string, gone ...string) *process {
	t.Helper()
	p := &process{t: t}
	p.leases = durable.NewLeases(durable.Options{Store: s, Owner: owner, Hold: hold, Now: time.Now, Gone: func(owner string) bool {
		return len(gone) > 0 && gone[0] == owner
	}})
	t.Cleanup(p.leases.Close)
	rec, err := s.Conversation(t.Context(), key)
	require.NoError(t, err)
	p.log = stream.NewLog(stream.LogOptions{Conversation: rec.ID, Keep: true, Owner: p, Hub: stream.NewHub(stream.Options{})})
	p.lease = p.leases.Lease(durable.LeaseOptions{Record: rec, Log: p.log, States: hook.NewStates(nil), Owner: p})
	return p
}

func (p *process) Listeners() (*composite.Composite, func()) {
	c, err := composite.From(hook.Nop{})
	require.NoError(p.t, err)
	return c, func() {}
}
func (p *process) EventHost() hook.Host { return hook.NoHost{} }
func (p *process) Now() time.Time       { return time.Now() }
func (p *process) WriteEvents(ctx context.Context, epoch int64, events []store.Event) error {
	return p.lease.NoteEvents(ctx, epoch, events)
}
func (p *process) Tell(_ context.Context, ev hook.Event) { p.told = append(p.told, ev.Text) }
func (p *process) Loaded(history message.Messages)       { p.loaded = append(p.loaded, history.Len()) }
func (p *process) WriteFailed(error)                     {}
func (p *process) LeaseLost()                            { p.lost.Add(1) }

// commit appends a message of the user.
func (p *process) commit(text string, ends bool) error {
	return p.lease.Commit(p.t.Context(), p.lease.History().Append(message.UserText(text)), store.Append{TurnEnds: ends})
}

func journaling() store.Store { return mem.New(&mem.Options{Journal: true}) }

func TestOneProcessAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := journaling()
		one, two := newProcess(t, s, "one"), newProcess(t, s, "two")
		require.NoError(t, one.lease.Open(t.Context(), false))
		require.NoError(t, one.commit("first", false))
		var held *store.LeasedError
		assert.ErrorAs(t, two.lease.Open(t.Context(), false), &held)
		assert.True(t, two.leases.HeldElsewhere(held.Lease))
		assert.False(t, one.leases.HeldElsewhere(held.Lease))
		go func() {
			time.Sleep(time.Minute) // the lease is renewed as long as the turn runs
			assert.NoError(t, one.commit("second", true))
			assert.NoError(t, one.lease.Release(t.Context()))
		}()
		began := time.Now()
		require.NoError(t, two.lease.Open(t.Context(), true))
		assert.GreaterOrEqual(t, time.Since(began), time.Minute)
		assert.Equal(t, []int{2}, two.loaded)
		assert.Equal(t, 1, two.lease.Turns())
		require.NoError(t, two.lease.Release(t.Context()))
		assert.Zero(t, one.lost.Load())
	})
}

func TestAWaitForALeaseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := journaling()
		one, two := newProcess(t, s, "one"), newProcess(t, s, "two")
		require.NoError(t, one.lease.Open(t.Context(), false))
		require.NoError(t, one.commit("first", false))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, two.lease.Open(ctx, true), context.DeadlineExceeded)
		require.NoError(t, one.lease.Release(t.Context()))
	})
}

func TestTheLeaseOfADeadProcessIsTakenAndItsWritesAreFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := journaling()
		one, two := newProcess(t, s, "one"), newProcess(t, s, "two", "one")
		require.NoError(t, one.lease.Open(t.Context(), false))
		_, err := one.lease.Note(t.Context(), store.Note{Entries: []store.Entry{durable.Turn{ID: "t", Number: 1}.Entry()}})
		require.NoError(t, err)
		require.NoError(t, two.lease.Open(t.Context(), false))
		assert.True(t, two.lease.Interrupted())
		assert.Equal(t, "t", two.lease.Journal().ID)
		err = one.commit("from the grave", true)
		assert.ErrorIs(t, err, store.ErrFenced)
		assert.True(t, one.lease.Failed(t.Context(), err))
		time.Sleep(hold) // and the renewal finds out as well
		assert.NotZero(t, one.lost.Load())
		_ = one.lease.Release(t.Context())
		require.NoError(t, two.lease.Release(t.Context()))
	})
}

func TestALeaseOfTheSameProcessIsNotClaimedAgain(t *testing.T) {
	p := newProcess(t, journaling(), "one")
	for range 3 {
		require.NoError(t, p.lease.Open(t.Context(), false))
		assert.NotEqual(t, int64(-1), p.lease.Running())
		require.NoError(t, p.commit("again", true))
		require.NoError(t, p.lease.Release(t.Context()))
		assert.Equal(t, int64(-1), p.lease.Running())
	}
	rec, err := p.lease.Record(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 1, rec.Lease.Epoch)
	assert.Empty(t, p.loaded, "what this process has written it does not read")
}

// failing is a store whose appends are made and seem to fail.
type failing struct {
	*mem.Store
	err error
}

func (f *failing) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	v, err := f.Store.Append(ctx, id, a)
	if f.err != nil {
		return 0, f.err
	}
	return v, err
}

// unanswered is a store whose first claim is made and seems to fail.
type unanswered struct {
	*mem.Store
	err error
}

func (u *unanswered) Claim(ctx context.Context, id string, c store.Claim) (store.Record, error) {
	rec, err := u.Store.Claim(ctx, id, c)
	if u.err != nil {
		err, u.err = u.err, nil
		return store.Record{}, err
	}
	return rec, err
}

func TestAClaimThatSeemedToFailDoesNotKeepItsOwnProcessOut(t *testing.T) {
	s := &unanswered{Store: mem.New(&mem.Options{Journal: true}), err: errors.New("connection reset")}
	one, two := newProcess(t, s, "one"), newProcess(t, s, "two")
	require.ErrorContains(t, one.lease.Open(t.Context(), false), "connection reset")
	require.ErrorIs(t, two.lease.Open(t.Context(), false), store.ErrLeased)
	require.NoError(t, one.lease.Open(t.Context(), false))
	require.NoError(t, one.commit("hi", true))
	require.NoError(t, one.lease.Release(t.Context()))
	require.NoError(t, two.lease.Open(t.Context(), false))
	require.ErrorIs(t, one.lease.Open(t.Context(), false), store.ErrLeased, "what another process has is its own")
	require.NoError(t, two.lease.Release(t.Context()))
}

// delayed is a store whose writes fail while delay is set, and are made when arrive is called: the
// connection broke while they were on their way.
type delayed struct {
	*mem.Store
	delay  bool
	arrive []func() error
}

var errReset = errors.New("connection reset")

func (d *delayed) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if !d.delay {
		return d.Store.Note(ctx, id, n)
	}
	d.arrive = append(d.arrive, func() error {
		_, err := d.Store.Note(context.WithoutCancel(ctx), id, n)
		return err
	})
	return 0, errReset
}

func (d *delayed) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	if !d.delay {
		return d.Store.Append(ctx, id, a)
	}
	d.arrive = append(d.arrive, func() error {
		_, err := d.Store.Append(context.WithoutCancel(ctx), id, a)
		return err
	})
	return 0, errReset
}

func TestAWriteThatArrivesAfterItsTurnHasEndedIsFenced(t *testing.T) {
	for name, write := range map[string]func(p *process) error{
		"journal": func(p *process) error {
			_, err := p.lease.Note(t.Context(), store.Note{Entries: []store.Entry{durable.End{}.Entry()}})
			return err
		},
		"from outside": func(p *process) error {
			_, err := p.lease.NoteFromOutside(t.Context(), []store.Entry{{Kind: store.EntrySteer, Message: message.UserText("and")}})
			return err
		},
		"messages": func(p *process) error { return p.commit("late", false) },
		"end":      func(p *process) error { return p.commit("late", true) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &delayed{Store: mem.New(&mem.Options{Journal: true})}
			p := newProcess(t, s, "one")
			require.NoError(t, p.lease.Open(t.Context(), false))
			s.delay = true
			require.ErrorIs(t, write(p), errReset)
			s.delay = false
			require.NoError(t, p.lease.Release(t.Context()))

			require.NoError(t, p.lease.Open(t.Context(), false))
			for _, arrive := range s.arrive {
				require.ErrorIs(t, arrive(), store.ErrFenced)
			}
			require.NoError(t, p.commit("hi", true))
			require.NoError(t, p.lease.Release(t.Context()))
			rec, err := p.lease.Record(t.Context())
			require.NoError(t, err)
			assert.False(t, rec.Journaled, "no turn is interrupted")
			assert.EqualValues(t, 1, rec.Version)
			assert.EqualValues(t, 2, rec.Lease.Epoch, "one claim more, after the write without an answer")

			require.NoError(t, p.lease.Open(t.Context(), false))
			require.NoError(t, p.lease.Release(t.Context()))
			rec, err = p.lease.Record(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, 2, rec.Lease.Epoch, "and no further one")
		})
	}
}

func TestAProcessDoesNotTakeALeaseThatItHasClaimedElsewhere(t *testing.T) {
	s := journaling()
	one, again := newProcess(t, s, "one"), newProcess(t, s, "one")
	require.NoError(t, one.lease.Open(t.Context(), false))
	require.ErrorIs(t, again.lease.Open(t.Context(), false), store.ErrLeased, "two turns of one process are two holders")
	require.NoError(t, one.lease.Release(t.Context()))
}

func TestEventsOfAWriteThatSeemedToFailAreNotWrittenAgain(t *testing.T) {
	s := &failing{Store: mem.New(&mem.Options{Journal: true}), err: errors.New("timeout")}
	p := newProcess(t, s, "one")
	require.NoError(t, p.lease.Open(t.Context(), false))
	p.log.Emit(t.Context(), &hook.Event{Kind: event.Diagnostic, Text: "once"}, stream.How{})
	_, err := p.lease.Write(func(u durable.Unstored) error {
		return p.lease.Commit(t.Context(), message.MessagesOf(message.UserText("hi")), store.Append{Events: u.Events})
	})
	require.ErrorIs(t, err, s.err)
	assert.False(t, p.lease.Failed(t.Context(), err))
	n := -1
	_, err = p.lease.Write(func(u durable.Unstored) error { n = len(u.Events); return nil })
	require.NoError(t, err)
	assert.Zero(t, n)
	_ = p.lease.Release(t.Context())
}

func TestAJournalIsReadAsItWasWritten(t *testing.T) {
	s := journaling()
	one := newProcess(t, s, "one")
	require.NoError(t, one.lease.Open(t.Context(), false))
	turn := durable.Turn{ID: "t", Number: 3, From: 0, Started: time.Unix(9, 0).UTC(), Resumed: 1, Event: 4, Project: "p"}
	in := message.Input{Messages: message.ListOf(message.UserText("a"), message.UserText("b"))}
	call := hook.NewToolCall(hook.ToolCallData{ID: "1", Tool: message.Tool{Name: "box"}, Args: `{}`})
	result := message.Message{Role: message.RoleTool, CallID: "1", Tool: "box", Result: message.TextResult("done")}
	reply := message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("hm"))}
	entries := append([]store.Entry{turn.Entry()}, durable.InputEntries(store.EntryInput, in)...)
	entries = append(entries,
		durable.Reply{Step: 2, Calls: 1}.Entry(reply), durable.StartEntry(call, "key"),
		durable.Result{Outcome: message.OutcomeExecuted, Duration: time.Second}.Entry("1", result),
	)
	entries = append(entries, durable.InputEntries(store.EntrySteer, in)...)
	entries = append(entries, durable.End{At: 5, Signals: []hook.StopSignal{{Reason: hook.StopCancelled}}, Errors: []string{"stop"}}.Entry())
	_, err := one.lease.Note(t.Context(), store.Note{Entries: entries})
	require.NoError(t, err)

	two := newProcess(t, s, "two", "one")
	require.NoError(t, two.lease.Open(t.Context(), false))
	was := two.lease.Journal()
	assert.Equal(t, turn, was.Turn)
	assert.Len(t, was.Input, 2)
	assert.Equal(t, durable.Reply{Step: 2, Calls: 1}, was.Reply)
	assert.Equal(t, "hm", was.Message.Text())
	assert.Equal(t, "key", was.Starts["1"].Key)
	assert.False(t, was.Starts["1"].Again)
	assert.Equal(t, "done", was.Results["1"].Message.Result.Text())
	require.Len(t, was.Steers, 1, "the parts of one input are one steer")
	assert.Equal(t, 2, was.Steers[0].Input.Messages.Len())
	assert.Len(t, was.Steers[0].Numbers(), 2)
	require.NotNil(t, was.End)
	was.DropEnd(9)
	assert.NotNil(t, was.End, "nothing overrules a cancellation")
	was.End.Signals[0].Reason = hook.StopCompleted
	was.DropEnd(9)
	assert.Nil(t, was.End)
	require.NoError(t, two.lease.Release(t.Context()))
}

func TestAChangeIsToldOnceItIsMade(t *testing.T) {
	s := mem.New(&mem.Options{Journal: true})
	p := newProcess(t, s, "one")
	require.NoError(t, p.lease.Open(t.Context(), false))
	require.NoError(t, p.commit("one", true))
	require.NoError(t, p.commit("two", true))
	tell := hook.Event{Kind: event.Compacted, Text: "done"}
	boom := errors.New("boom")
	assert.ErrorIs(t, p.lease.Change(t.Context(), tell, func(store.At) (int64, error) { return 0, boom }), boom)
	assert.Equal(t, 2, p.lease.History().Len())
	require.NoError(t, p.lease.Change(t.Context(), tell, func(at store.At) (int64, error) {
		v, err := s.Compact(t.Context(), p.log.Conversation(), at, 2, message.UserText("both"))
		require.NoError(t, err)
		return v, boom // it was made although it seems to have failed
	}))
	assert.Equal(t, 1, p.lease.History().Len())
	require.NoError(t, p.lease.Release(t.Context()))
}
