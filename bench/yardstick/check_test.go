package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name    string
		results *Results
		bad     int
		says    []string
	}{
		{name: "as it should be", results: fixed(), says: []string{
			"eight silent deciders, isolated: ≤ 4×, seen 5×\n    A loop over interfaces", // a time, with its reason
			"0 of those are counts without a written reason, or slopes that are too steep",
		}},
		{name: "one allocation too many", results: fixed().set(oneCall, allocs, 41).set(oneCall64, allocs, 41).set(oneCall512, allocs, 41), bad: 1,
			says: []string{"turn: 1 call, 1 tool: ≤ 40 allocations, seen 41\n    no reason written"}},
		{name: "a slope", results: fixed().set(oneCall512, allocs, 26), bad: 1,
			says: []string{"turn: 512 tools (against 1): ≤ 0 more allocations, seen 2\n    no reason written"}},
		{name: "a slope in bytes", results: fixed().set(oneCall512, bytesPerOp, 9000), bad: 1,
			says: []string{"turn: 512 tools (against 1): ≤ 1.1× ratio of bytes, seen 2.31×\n    no reason written"}},
		{name: "an allocation of silent deciders", results: fixed().set("composites.EightDeciders/generated", allocs, 1), bad: 1,
			says: []string{"eight silent deciders, isolated: ≤ 0 allocations, seen 1\n    no reason written"}},
		{name: "a walk, which takes time and nothing else", results: fixed().set(oneCall512, nanoseconds, 45e3), bad: 1,
			says: []string{"turn: 512 tools (against 1): ≤ 1.2×, seen 2.25× (2.09–2.45×)\n    more than 2× is a walk"}},
		{name: "a slope that the reason explains", results: fixed().set(oneCall512, nanoseconds, 35e3)},
		{name: "another time never decides", results: fixed().set(oneCall, nanoseconds, 1e9)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			assert.Equal(t, tc.bad, tc.results.check(budgets, &out))
			for _, says := range tc.says {
				assert.Contains(t, out.String(), says)
			}
		})
	}
}

// A time that is missed without a reason is said, too.
func TestCheckWithoutReason(t *testing.T) {
	var out strings.Builder
	table := []row{{what: "deciders", bench: "composites.EightDeciders/generated", limit: "composites.EightDeciders/limit", budget: []bound{{of: ratio, limit: 1.6}}}}
	assert.Zero(t, fixed().check(table, &out))
	assert.Contains(t, out.String(), "deciders: ≤ 1.6×, seen 5×\n    no reason written")
}

// A reason explains a count up to the figure that it was written for.
func TestCheckBeyondTheReason(t *testing.T) {
	table := []row{{what: "turn", bench: oneCall, why: "It is what it is.", budget: []bound{{of: allocations, limit: 20, accepted: 30}}}}
	var out strings.Builder
	assert.Zero(t, fixed().set(oneCall, allocs, 30).check(table, &out))
	assert.Contains(t, out.String(), "turn: ≤ 20 allocations, seen 30\n    It is what it is.")
	assert.Equal(t, 1, fixed().set(oneCall, allocs, 31).check(table, &out))
	assert.Contains(t, out.String(), "seen 31\n    no reason written")
}

func TestEveryBoundHasAReasonReady(t *testing.T) {
	for _, w := range budgets {
		assert.NotEqual(t, w.unmeasured == "", w.bench == "", "%s is measured or says why not", w.what)
		assert.Equal(t, len(w.budget) > 0, w.why != "", w.what)
		for _, b := range w.budget {
			assert.Equal(t, b.of.with != nil, w.limit != "" && b.of.with != nil, "%s: %s needs a limit", w.what, b.of.name)
			assert.True(t, b.accepted == 0 || b.of.counted, "%s: only counts have a figure that is explained", w.what)
		}
	}
}

// Ratios are made round by round, so both sides must have the same rounds.
func TestBothSidesOfARatioHaveTheSameRounds(t *testing.T) {
	rounds := func(name string) int {
		c, err := choose("^" + strings.ReplaceAll(strings.Split(name, "/")[0], ".", `\.`) + "$")
		require.NoError(t, err)
		for _, u := range units() {
			if len(c.of(&u)) > 0 {
				return u.rounds
			}
		}
		t.Errorf("no unit runs %s", name)
		return 0
	}
	for _, w := range budgets {
		if w.bench != "" {
			got := rounds(w.bench)
			if w.limit != "" && w.limit != bestPeer {
				assert.Equal(t, got, rounds(w.limit), w.what)
			}
		}
	}
}

// What make bench-check runs is short of neither side of a bound.
func TestChecked(t *testing.T) {
	all, wanted := checked()
	for _, u := range all {
		assert.NotEmpty(t, u.count, u.names)
	}
	assert.True(t, wanted(oneCall) && wanted(handTurn1) && wanted(hook64) && wanted(hooks0))
	assert.False(t, wanted("bench.Turn/tools=64/eino-react"), "no peers")
}

func TestScheduleTurnsRound(t *testing.T) {
	a, b, dear := &unit{rounds: 4}, &unit{rounds: 4}, &unit{rounds: 2}
	var order []string
	for _, j := range schedule([]job{{unit: a, pattern: "a"}, {unit: b, pattern: "b"}, {unit: dear, pattern: "dear"}}) {
		order = append(order, j.pattern)
	}
	assert.Equal(t, []string{"a", "b", "dear", "b", "a", "a", "b", "dear", "b", "a"}, order)
}
