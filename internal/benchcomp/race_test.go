//go:build race

package benchcomp_test

// raceSlack is what the race detector adds to the allocations of a turn.
const raceSlack = 10
