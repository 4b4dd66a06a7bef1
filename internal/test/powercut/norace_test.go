//go:build !race

package powercut_test

var short = rounds{cuts: 60, recoveries: 2, cutsOfEach: 8, bad: 20}
