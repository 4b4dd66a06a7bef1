//go:build race

package faults_test

// share is how much of the defaults is played: the race detector makes everything
// several times as slow, and a race shows early or never.
const share = 4
