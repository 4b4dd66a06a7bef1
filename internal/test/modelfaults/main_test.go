package modelfaults_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// How much is played.
var (
	turnsFlag = flag.Int("modelfaults.turns", 0, "turns of each kind and wire of TestTurnsSurviveDrawnFaults; 0 is 400 shared by the wires, with -short 40")
	seedsFlag = flag.Uint64("modelfaults.seeds", 0, "turns of each kind and wire of TestTurnsSurviveEveryKindOfFault; 0 is 50, with -short 10")
	seedFlag  = flag.Uint64("modelfaults.seed", 1, "what the faults of TestTurnsSurviveDrawnFaults are drawn from")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // of the libraries of genai
}

// turnsOfEach is how many turns are played of each kind over each wire.
func turnsOfEach() int {
	switch {
	case *turnsFlag > 0:
		return *turnsFlag
	case testing.Short():
		return 40
	}
	return 400 / len(dialects())
}

// seedsOfEach is how many seeds are played of each kind.
func seedsOfEach() uint64 {
	switch {
	case *seedsFlag > 0:
		return *seedsFlag
	case testing.Short():
		return 10
	}
	return 50
}

// figure prints what a test has counted.
func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Log(strings.TrimSpace(fmt.Sprintf("FIGURE %s=%v %s", name, value, unit)))
}
