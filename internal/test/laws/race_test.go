//go:build race

package laws_test

// rounds are fewer here: the race detector looks for something else.
const rounds = 1_500

// covers: every pair of answers has to stand beside each other.
const covers = false
