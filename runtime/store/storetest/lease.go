package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func leaseRules() []rule {
	return []rule{
		{"a claim gives the lease and a new epoch", claim},
		{"what no lease can be is an error", badClaims},
		{"a lease is refused while another has it", leased},
		{"a lease that has ended goes to the next", leaseEnds},
		{"a holder that is known to be gone is taken over from", takes},
		{"a write prolongs or frees the lease", holds},
		{"a conversation that was never leased has no lease to prolong", neverLeased},
		{"a holder whose lease has ended writes until the next claim", lateHolder},
		{"an epoch that is not the current one writes nothing", fenced},
		{"of concurrent claims one wins", claimRace},
	}
}

// take claims the lease for a minute.
func take(t *testing.T, s store.Store, id, owner string) store.Record {
	t.Helper()
	rec, err := s.Claim(t.Context(), id, store.Claim{Owner: owner, Hold: time.Minute})
	require.NoError(t, err)
	return rec
}

// refusal claims the lease, which must fail, and returns the current lease.
func refusal(t *testing.T, s store.Store, id string, takes int64) store.Lease {
	t.Helper()
	_, err := s.Claim(t.Context(), id, store.Claim{Owner: "another", Hold: time.Minute, Takes: takes})
	require.ErrorIs(t, err, store.ErrLeased)
	var l *store.LeasedError
	require.ErrorAs(t, err, &l)
	assert.ErrorContains(t, err, l.Lease.Owner)
	return l.Lease
}

func claim(t *testing.T, s *bench) {
	fresh := create(t, s, "a", "x")
	assert.Equal(t, store.Lease{}, fresh.Lease)
	v, err := s.Append(t.Context(), fresh.ID, store.Append{Messages: message.MessagesOf(user("hi")...)})
	require.NoError(t, err)
	rec := take(t, s, fresh.ID, "me")
	assert.Equal(t, "me", rec.Lease.Owner)
	assert.Equal(t, int64(1), rec.Lease.Epoch)
	assert.True(t, rec.Lease.Until.Equal(s.clock.Now().Add(time.Minute)), rec.Lease.Until)
	assert.Equal(t, fresh.Key, rec.Key)
	assert.Equal(t, v, rec.Version, "a claim changes no version")
	assert.Equal(t, look(t, s, rec), rec, "a claim returns the record as it is then")
}

func badClaims(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	for _, c := range []store.Claim{{Hold: time.Second}, {Owner: "me"}, {Owner: "me", Hold: -1}} {
		_, err := s.Claim(t.Context(), rec.ID, c)
		require.Error(t, err, "%+v", c)
	}
	assert.Equal(t, store.Lease{}, look(t, s, rec).Lease)
}

func leased(t *testing.T, s *bench) {
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	for _, takes := range []int64{0, rec.Lease.Epoch - 1, rec.Lease.Epoch + 1} {
		l := refusal(t, s, rec.ID, takes)
		assert.Equal(t, rec.Lease.Epoch, l.Epoch)
		assert.True(t, rec.Lease.Until.Equal(l.Until))
		assert.Equal(t, "me", l.Owner)
	}
	_, err := s.Claim(t.Context(), rec.ID, store.Claim{Owner: "me", Hold: time.Minute})
	require.ErrorIs(t, err, store.ErrLeased, "two turns of one owner are two holders")
	assert.Equal(t, rec, look(t, s, rec), "a refusal changes nothing")
	other := take(t, s, create(t, s, "a", "y").ID, "another")
	assert.Equal(t, int64(1), other.Lease.Epoch, "each conversation has its own lease")
}

func leaseEnds(t *testing.T, s *bench) {
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	s.clock.pass(time.Minute - 1)
	refusal(t, s, rec.ID, 0)
	s.clock.pass(1)
	next := take(t, s, rec.ID, "another")
	assert.Equal(t, rec.Lease.Epoch+1, next.Lease.Epoch)
	assert.Equal(t, "another", next.Lease.Owner)
}

func takes(t *testing.T, s *bench) {
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	next, err := s.Claim(t.Context(), rec.ID, store.Claim{Owner: "another", Hold: time.Hour, Takes: rec.Lease.Epoch})
	require.NoError(t, err)
	assert.Equal(t, rec.Lease.Epoch+1, next.Lease.Epoch)
	assert.True(t, next.Lease.Until.Equal(s.clock.Now().Add(time.Hour)))
	refusal(t, s, rec.ID, rec.Lease.Epoch)
}

func holds(t *testing.T, s *bench) {
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	s.clock.pass(30 * time.Second)
	_, err := s.Note(t.Context(), rec.ID, store.Note{Epoch: 1, Hold: time.Minute})
	require.NoError(t, err)
	s.clock.pass(45 * time.Second)
	refusal(t, s, rec.ID, 0)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Epoch: 1, Hold: time.Minute})
	require.NoError(t, err)
	s.clock.pass(45 * time.Second)
	refusal(t, s, rec.ID, 0)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Epoch: 1})
	require.NoError(t, err)
	freed := look(t, s, rec).Lease
	assert.Equal(t, store.Lease{Owner: "me", Epoch: 1}, freed, "who had it can still be seen")
	again := take(t, s, rec.ID, "another")
	assert.Equal(t, int64(2), again.Lease.Epoch)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: 1, Epoch: 2})
	require.NoError(t, err)
	assert.True(t, look(t, s, rec).Lease.Until.IsZero())
}

func neverLeased(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	_, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(user("hi")...), Hold: time.Hour})
	require.NoError(t, err)
	_, err = s.Note(t.Context(), rec.ID, store.Note{Hold: time.Hour})
	require.NoError(t, err)
	assert.Equal(t, store.Lease{}, look(t, s, rec).Lease)
	take(t, s, rec.ID, "me")
}

func lateHolder(t *testing.T, s *bench) {
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	s.clock.pass(time.Hour)
	v, err := s.Append(t.Context(), rec.ID, store.Append{Epoch: 1, Hold: time.Minute, Messages: message.MessagesOf(user("late")...)})
	require.NoError(t, err)
	refusal(t, s, rec.ID, 0)
	s.clock.pass(time.Hour)
	take(t, s, rec.ID, "another")
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Epoch: 1, Messages: message.MessagesOf(user("too late")...)})
	require.ErrorIs(t, err, store.ErrFenced)
}

func fenced(t *testing.T, s *bench) {
	rec := take(t, s, create(t, s, "a", "x").ID, "me")
	rec, err := s.Claim(t.Context(), rec.ID, store.Claim{Owner: "another", Hold: time.Minute, Takes: 1})
	require.NoError(t, err)
	entries, events := []store.Entry{{Kind: store.EntryStart, CallID: "1"}}, []store.Event{{Seq: 1, Data: `{}`}}
	for _, epoch := range []int64{0, 1, 3, -1} {
		_, err := s.Append(t.Context(), rec.ID, store.Append{Epoch: epoch, Messages: message.MessagesOf(user("x")...), Entries: entries, Events: events, TurnEnds: true})
		require.ErrorIs(t, err, store.ErrFenced, "append at epoch %d", epoch)
		_, err = s.Append(t.Context(), rec.ID, store.Append{Version: 7, Epoch: epoch})
		require.ErrorIs(t, err, store.ErrFenced, "who is fenced hears of that first")
		_, err = s.Note(t.Context(), rec.ID, store.Note{Epoch: epoch, Entries: entries, Events: events})
		require.ErrorIs(t, err, store.ErrFenced, "note at epoch %d", epoch)
		if c, ok := s.Store.(store.Compacter); ok {
			_, err = c.Compact(t.Context(), rec.ID, store.At{Epoch: epoch}, 1, message.UserText("x"))
			require.ErrorIs(t, err, store.ErrFenced, "compact at epoch %d", epoch)
		}
		if f, ok := s.Store.(store.Forker); ok {
			_, err = f.Rewind(t.Context(), rec.ID, store.At{Epoch: epoch}, 0)
			require.ErrorIs(t, err, store.ErrFenced, "rewind at epoch %d", epoch)
		}
	}
	assert.Equal(t, rec, look(t, s, rec))
	assert.Empty(t, said(t, s, rec.ID))
	journal, err := s.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Empty(t, journal)
}

func claimRace(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	const n, rounds = 8, 5
	for round := range int64(rounds) {
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				_, errs[i] = s.Claim(t.Context(), rec.ID, store.Claim{Owner: fmt.Sprint(i), Hold: time.Minute})
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			assert.ErrorIs(t, err, store.ErrLeased)
		}
		require.Equal(t, 1, won)
		require.Equal(t, round+1, look(t, s, rec).Lease.Epoch)
		s.clock.pass(time.Minute)
	}
}
