//go:build !race

package faults_test

// share is how much of the defaults is played: one part of as many.
const share = 1
