//go:build !race

package runtime_test

const raceSlack = 0
