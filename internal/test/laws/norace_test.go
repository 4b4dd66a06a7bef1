//go:build !race

package laws_test

// rounds is how many random sets of hooks are played for each law.
const rounds = 10_000

// covers: every pair of answers has to stand beside each other.
const covers = true
