// Package allocs counts allocations in tests, where they can be counted.
package allocs

import "testing"

// PerRun is [testing.AllocsPerRun]. Under the race detector, which allocates for
// itself and has pools forget at random what they hold, f runs as often and the
// answer is 0: such tests look for races then, and bounds are judged without it.
func PerRun(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	if !Counted {
		return 0
	}
	return n
}
