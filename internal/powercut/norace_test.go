//go:build !race

package powercut_test

var short = rounds{cuts: 80, recoveries: 3, cutsOfEach: 8, bad: 24}
