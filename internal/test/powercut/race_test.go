//go:build race

package powercut_test

// With the race detector SQLite takes ten times as long.
var short = rounds{cuts: 12, recoveries: 1, cutsOfEach: 6, bad: 10}
