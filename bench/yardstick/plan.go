package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// unit is what is run of one package, for how long and how often.
type unit struct {
	// dir is the package, from the root of the repository.
	dir string
	// names are the benchmarks, and within what chooses among those inside of them,
	// as go test -bench does; all if it is empty.
	names, within string
	// time is the length of a run in a comparison: "50ms", or "3x".
	time string
	// count is the length of a run of make bench-check. It is a number of times,
	// so that allocations do not depend on the machine. Nothing is checked of
	// units without one.
	count string
	// rounds is how often it is run.
	rounds int
	// whole means that all its benchmarks run in one process, because they share
	// something that takes long to make.
	whole bool
}

// choice is the regular expressions by which -only chooses, one for each element
// of a name, as in go test -bench: "Turn/tools=64". Elements without one are taken.
type choice []*regexp.Regexp

func choose(pattern string) (c choice, err error) {
	for each := range strings.SplitSeq(pattern, "/") {
		re, err := regexp.Compile(each)
		if err != nil {
			return nil, fmt.Errorf("-only: %w", err)
		}
		c = append(c, re)
	}
	return c, nil
}

// takes a benchmark; name may end before the pattern does.
func (c choice) takes(name string) bool {
	for i, element := range strings.Split(name, "/") {
		if i < len(c) && !c[i].MatchString(element) {
			return false
		}
	}
	return true
}

// of returns the names of a unit that are chosen, with their package.
func (c choice) of(u *unit) (names []string) {
	for name := range strings.FieldsSeq(u.names) {
		if c.takes(path.Base(u.dir) + "." + name) {
			names = append(names, name)
		}
	}
	return names
}

const (
	many = 11 // rounds of what is cheap
	few  = 3  // and of what takes seconds
)

// units are run in this order, in each round.
func units() []unit {
	return []unit{
		{dir: "bench", names: "Route Call HooksAlone Schema", time: "20ms", count: "2000x", rounds: many},
		{dir: "bench", names: "Turn TurnCalls TurnHooks Deltas", time: "50ms", count: "1000x", rounds: many},
		{dir: "bench", names: "TurnHistory", time: "50ms", count: "1000x", rounds: 7},
		{dir: "bench", names: "Wait Step Stream", time: "60ms", count: "10x", rounds: many},
		{dir: "bench", names: "Concurrent", time: "300ms", rounds: 5},
		{dir: "bench", names: "Agents", time: "1x", rounds: few},
		{dir: "bench", names: "Generate", time: "2x", rounds: few, whole: true},
		{dir: "bench/programs", names: "Serve", time: "3x", rounds: 5},
		{dir: "bench/programs", names: "Embedder", time: "1x", rounds: 1},
		{dir: "composite", names: "DispatchAll", time: "50ms", count: "20x", rounds: many},
		{dir: "composite/args", names: "ThreeFields", time: "20ms", count: "2000x", rounds: many},
		{dir: "runtime", names: "Turn Deltas", time: "50ms", count: "1000x", rounds: many},
		{dir: "internal/test/composites", names: "Whole EightDeciders ThreeWraps DeltasToFour", time: "50ms", count: "1000x", rounds: many},
		{dir: "runtime", names: "Agents Register", time: "10000x", count: "10000x", rounds: 5},
		{dir: "runtime/provider/openai", names: "Decode", time: "50ms", count: "50x", rounds: many},
		{dir: "runtime/store/sqlite", names: "DurableTurns DurableCalls", time: "200ms", rounds: 5},
		{dir: "runtime/store/sqlite", names: "Stored", time: "300ms", rounds: few, whole: true},
		{dir: "gen", names: "Run", within: "/^(10|100)$/^warm$", time: "3x", rounds: few},
	}
}

// job is one process: the benchmarks of a unit that it runs.
type job struct {
	unit *unit
	// program is the test binary's place among the packages that are built.
	program int
	// names are the benchmarks that it must report; all that the pattern finds if
	// there are none.
	names []string
	// pattern is what chooses them.
	pattern string
}

// exactly is the pattern of go test -bench that chooses one benchmark.
func exactly(name string) string {
	_, name, _ = strings.Cut(name, ".")
	each := strings.Split("Benchmark"+name, "/")
	for i, part := range each {
		each[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(each, "/")
}

// runs reports whether something that has so many rounds has one in this round of
// all: its rounds are spread over the run, and things with as many rounds have
// them together.
func runs(rounds, round, all int) bool {
	return (round+1)*rounds/all > round*rounds/all
}

// schedule is the order of a run: round by round all that have one, every other
// round backwards, so that nobody always comes first.
func schedule(jobs []job) (order []job) {
	all := 0
	for _, j := range jobs {
		all = max(all, j.unit.rounds)
	}
	for round := range all {
		for i := range jobs {
			if round%2 == 1 {
				i = len(jobs) - 1 - i
			}
			if runs(jobs[i].unit.rounds, round, all) {
				order = append(order, jobs[i])
			}
		}
	}
	return order
}
