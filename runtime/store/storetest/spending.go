package storetest

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func spendingRules() []rule {
	return []rule{
		{"What calls of one key cost is added up, and keys are kept apart", spendingIsAddedUp},
		{"A filter selects by day, project and token", spendingIsFiltered},
		{"A limit counts what was spent and what is reserved, and a call beyond it reserves nothing", limitsRefuse},
		{"A limit counts only what its filter selects", limitsAreSeparate},
		{"Calls at the same time cannot all pass a limit that has room for some", limitsHoldInParallel},
		{"A reservation that nobody settles ends as an estimate, which a late end replaces", reservationsEnd},
		{"An estimate of long ago stays", reservationsAreFolded},
		{"A call that cost nothing frees what it has reserved", reservationsAreFreed},
		{"Figures without bounds break no sum", spendingIsBounded},
		{"A reservation without a day, a time or with a negative amount is refused", badReservationsAreRefused},
		{"Spending outlives the process unless the store is volatile", spendingIsKept},
	}
}

func spendingOf(b *bench) store.Spending { return b.Store.(store.Spending) }

// call returns what one call has cost.
func call(day, project, agent, model, token string, cost hook.Cost) store.Spent {
	return store.Spent{
		SpentKey: store.SpentKey{Day: day, Project: project, Agent: agent, Model: model, Token: token}, Calls: 1,
		Usage: message.Usage{Input: 5, Output: 4, CacheRead: 3, CacheWrite: 2, Reasoning: 1}, Cost: cost,
	}
}

func settle(t *testing.T, b *bench, id int64, s store.Spent) {
	t.Helper()
	require.NoError(t, spendingOf(b).Settle(t.Context(), id, s))
}

func spent(t *testing.T, b *bench, f store.SpendingFilter) []store.Spent {
	t.Helper()
	out, err := spendingOf(b).Spent(t.Context(), f)
	require.NoError(t, err)
	return out
}

func reservation(day, project string, most hook.Cost) store.Reservation {
	return store.Reservation{
		Least: store.Spent{SpentKey: store.SpentKey{Day: day, Project: project, Agent: "a", Model: "m"}, Calls: 1, Estimated: 1, Usage: message.Usage{Input: 7}, Cost: 1},
		Most:  most, Hold: time.Minute,
	}
}

func reserve(t *testing.T, b *bench, r store.Reservation, limits ...store.SpendingLimit) int64 {
	t.Helper()
	id, err := spendingOf(b).Reserve(t.Context(), r, limits)
	require.NoError(t, err)
	require.Positive(t, id)
	return id
}

func refused(t *testing.T, b *bench, r store.Reservation, limits ...store.SpendingLimit) store.LimitError {
	t.Helper()
	_, err := spendingOf(b).Reserve(t.Context(), r, limits)
	reached, ok := errors.AsType[*store.LimitError](err)
	require.True(t, ok, "%v", err)
	return *reached
}

func spendingIsAddedUp(t *testing.T, b *bench) {
	first := call("2026-03-04", "/p", "a", "m", "", 10)
	settle(t, b, 0, first)
	second := call("2026-03-04", "/p", "a", "m", "", 20)
	second.Unpriced, second.Estimated = 1, 1
	settle(t, b, 0, second)
	others := []store.Spent{
		call("2026-03-04", "/p", "a", "m", "ci", 1), call("2026-03-04", "/p", "a", "n", "", 1), call("2026-03-04", "/p", "b", "m", "", 1),
		call("2026-03-04", "/q", "a", "m", "", 1), call("2026-03-05", "/p", "a", "m", "", 1),
	}
	for _, s := range others {
		settle(t, b, 0, s)
	}
	settle(t, b, 0, store.Spent{SpentKey: store.SpentKey{Day: "2026-03-06"}}) // no call
	want := store.Spent{SpentKey: first.SpentKey, Calls: 2, Unpriced: 1, Estimated: 1, Usage: first.Usage.Add(second.Usage), Cost: 30}
	assert.Equal(t, append([]store.Spent{want}, others...), spent(t, b, store.SpendingFilter{}))
}

func spendingIsFiltered(t *testing.T, b *bench) {
	for _, s := range []store.Spent{
		call("2026-03-03", "/p", "a", "m", "", 1), call("2026-03-04", "/p", "a", "m", "ci", 2), call("2026-03-05", "/q", "a", "m", "ci", 4), call("2026-03-06", "", "a", "m", "", 8),
	} {
		settle(t, b, 0, s)
	}
	p, none, ci, local := "/p", "", "ci", ""
	for _, tt := range []struct {
		filter store.SpendingFilter
		want   hook.Cost
	}{
		{store.SpendingFilter{}, 15},
		{store.SpendingFilter{Since: "2026-03-05"}, 12},
		{store.SpendingFilter{Since: "2026-03-07"}, 0},
		{store.SpendingFilter{Project: &p}, 3},
		{store.SpendingFilter{Project: &none}, 8},
		{store.SpendingFilter{Token: &ci}, 6},
		{store.SpendingFilter{Token: &local}, 9},
		{store.SpendingFilter{Since: "2026-03-04", Project: &p, Token: &ci}, 2},
	} {
		var got hook.Cost
		for _, s := range spent(t, b, tt.filter) {
			got += s.Cost
		}
		assert.Equal(t, tt.want, got, tt.filter)
		limit := store.SpendingLimit{SpendingFilter: tt.filter, Name: "l", Max: tt.want + 1}
		id := reserve(t, b, reservation("2026-01-01", "/other", 0), limit)
		settle(t, b, id, store.Spent{})
		if limit.Max = tt.want; limit.Max > 0 {
			assert.Equal(t, tt.want, refused(t, b, reservation("2026-01-01", "/other", 0), limit).Spent)
		}
	}
}

func limitsRefuse(t *testing.T, b *bench) {
	loose, tight := store.SpendingLimit{Name: "loose", Max: 1000}, store.SpendingLimit{Name: "tight", Max: 100}
	settle(t, b, 0, call("2026-03-04", "/p", "a", "m", "", 40))
	first := reserve(t, b, reservation("2026-03-04", "/p", 59), loose, tight)
	second := reserve(t, b, reservation("2026-03-04", "/p", 500), loose, tight) // 99 of 100, whatever it costs itself
	got := refused(t, b, reservation("2026-03-04", "/p", 0), loose, tight)
	assert.Equal(t, store.LimitError{Limit: tight, Spent: 40, Reserved: 559, Running: 2}, got)
	settle(t, b, second, call("2026-03-04", "/p", "a", "m", "", 0))
	third := reserve(t, b, reservation("2026-03-04", "/p", 1), loose, tight)
	assert.NotEqual(t, second, third, "an id is never used twice")
	settle(t, b, third, store.Spent{})
	settle(t, b, first, call("2026-03-04", "/p", "a", "m", "", 60))
	assert.Equal(t, store.LimitError{Limit: tight, Spent: 100}, refused(t, b, reservation("2026-03-04", "/p", 0), loose, tight))
	assert.Equal(t, int64(3), spent(t, b, store.SpendingFilter{})[0].Calls, "what was refused is not there")
}

func limitsAreSeparate(t *testing.T, b *bench) {
	p, q := "/p", "/q"
	reserve(t, b, reservation("2026-03-04", "/p", 100))
	limit := store.SpendingLimit{SpendingFilter: store.SpendingFilter{Project: &q}, Max: 100}
	reserve(t, b, reservation("2026-03-04", "/q", 1), limit)
	limit.Project = &p
	refused(t, b, reservation("2026-03-04", "/p", 1), limit)
	limit.Since = "2026-03-05"
	reserve(t, b, reservation("2026-03-05", "/p", 1), limit)
}

func limitsHoldInParallel(t *testing.T, b *bench) {
	const most, calls = 30, 24
	limit := store.SpendingLimit{Name: "l", Max: 100}
	var mu sync.Mutex
	passed := 0
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			_, err := spendingOf(b).Reserve(t.Context(), reservation("2026-03-04", "/p", most), []store.SpendingLimit{limit})
			if err == nil {
				mu.Lock()
				passed++
				mu.Unlock()
				return
			}
			var reached *store.LimitError
			assert.ErrorAs(t, err, &reached)
		})
	}
	wg.Wait()
	assert.Equal(t, 4, passed, "the fourth begins at 90 of 100")
}

func reservationsEnd(t *testing.T, b *bench) {
	limit := store.SpendingLimit{Name: "l", Max: 100}
	id := reserve(t, b, reservation("2026-03-04", "/p", 100), limit)
	assert.Empty(t, spent(t, b, store.SpendingFilter{}), "it runs")
	refused(t, b, reservation("2026-03-04", "/p", 1), limit)
	b.clock.pass(time.Minute)
	estimate := reservation("2026-03-04", "/p", 0).Least
	assert.Equal(t, []store.Spent{estimate}, spent(t, b, store.SpendingFilter{}))
	settle(t, b, reserve(t, b, reservation("2026-03-04", "/p", 1), limit), store.Spent{})
	assert.Equal(t, estimate.Cost, refused(t, b, reservation("2026-03-04", "/p", 0), store.SpendingLimit{Max: 1}).Spent)
	if b.reopen != nil {
		b.Store = b.reopen()
	}
	settle(t, b, id, call("2026-03-04", "/p", "a", "m", "", 60))
	assert.Equal(t, []store.Spent{call("2026-03-04", "/p", "a", "m", "", 60)}, spent(t, b, store.SpendingFilter{}))
}

func reservationsAreFolded(t *testing.T, b *bench) {
	settle(t, b, 0, call("2026-03-04", "/p", "a", "m", "", 10))
	id, other := reserve(t, b, reservation("2026-03-04", "/p", 100)), reserve(t, b, reservation("2026-03-04", "/p", 100))
	b.clock.pass(time.Minute + store.Unsettled)
	settle(t, b, reserve(t, b, reservation("2026-03-05", "/p", 1)), store.Spent{})
	settle(t, b, other, store.Spent{})
	settle(t, b, id, call("2026-03-04", "/p", "a", "m", "", 60))
	want := call("2026-03-04", "/p", "a", "m", "", 10)
	estimate := reservation("2026-03-04", "/p", 0).Least
	want = want.Add(estimate).Add(estimate).Add(call("2026-03-04", "/p", "a", "m", "", 60))
	assert.Equal(t, []store.Spent{want}, spent(t, b, store.SpendingFilter{}))
}

func reservationsAreFreed(t *testing.T, b *bench) {
	limit := store.SpendingLimit{Name: "l", Max: 100}
	settle(t, b, reserve(t, b, reservation("2026-03-04", "/p", 100), limit), store.Spent{})
	reserve(t, b, reservation("2026-03-04", "/p", 100), limit)
	assert.Empty(t, spent(t, b, store.SpendingFilter{}))
}

func spendingIsBounded(t *testing.T, b *bench) {
	wild := call("2026-03-04", "/p", "a", "m", "", math.MaxInt64)
	wild.Unpriced, wild.Usage = math.MaxInt64, message.Usage{Input: math.MaxInt64, Output: math.MinInt64, Reasoning: math.MaxInt64}
	low := call("2026-03-04", "/p", "a", "m", "", math.MinInt64)
	low.Estimated, low.Usage = math.MinInt64, message.Usage{}
	for range 3 {
		settle(t, b, 0, wild)
		settle(t, b, 0, low)
	}
	reserve(t, b, reservation("2026-03-04", "/p", math.MaxInt64))
	reserve(t, b, reservation("2026-03-04", "/p", math.MaxInt64))
	rows := spent(t, b, store.SpendingFilter{})
	want := store.Spent{SpentKey: wild.SpentKey, Calls: 6, Unpriced: 3, Usage: message.Usage{Input: 3 * store.MaxCallTokens, Reasoning: 3 * store.MaxCallTokens}, Cost: 3 * store.MaxCallCost}
	assert.Equal(t, []store.Spent{want}, rows)
	got := refused(t, b, reservation("2026-03-04", "/p", 0), store.SpendingLimit{Max: 1})
	assert.Equal(t, 2*store.MaxCallCost, got.Reserved)
}

func badReservationsAreRefused(t *testing.T, b *bench) {
	for _, r := range []store.Reservation{
		reservation("", "/p", 1), reservation("2026-3-4", "/p", 1), reservation("2026-03-04", "/p", -1), {Least: store.Spent{SpentKey: store.SpentKey{Day: "2026-03-04"}}},
	} {
		_, err := spendingOf(b).Reserve(t.Context(), r, nil)
		require.ErrorContains(t, err, "set Least.Day")
	}
}

func spendingIsKept(t *testing.T, b *bench) {
	settle(t, b, 0, call("2026-03-04", "/p", "a", "m", "", 10))
	id := reserve(t, b, reservation("2026-03-04", "/p", 90))
	if b.reopen == nil {
		return
	}
	b.Store = b.reopen()
	got := refused(t, b, reservation("2026-03-04", "/p", 0), store.SpendingLimit{Max: 100})
	assert.Equal(t, store.LimitError{Limit: got.Limit, Spent: 10, Reserved: 90, Running: 1}, got)
	settle(t, b, id, call("2026-03-04", "/p", "a", "m", "", 1))
	assert.EqualValues(t, 11, spent(t, b, store.SpendingFilter{})[0].Cost)
}
