//go:build race

package allocs

// Counted: allocations and the bytes of the heap are the program's own.
const Counted = false
