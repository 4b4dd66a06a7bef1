// Package allocs counts allocations in tests, where they can be counted.
package allocs

import "testing"

// PerRun is [testing.AllocsPerRun]. Under the race detector, which allocates itself and
// empties pools at random, f runs as often, but the result is 0: then such a test only looks
// for races.
func PerRun(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	if !Counted {
		return 0
	}
	return n
}
