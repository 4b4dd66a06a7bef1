package faults_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// How much is played; the defaults are for go test, within seconds.
var (
	turnsFlag   = flag.Int("faults.turns", 3200/share, "turns of TestFaultInjectedTurns")
	seedFlag    = flag.Uint64("faults.seed", 0, "play only the conversation of this seed")
	cancelsFlag = flag.Int("faults.cancels", 5000/share, "cancelled turns of TestCancels")
	agentsFlag  = flag.Int("faults.agents", 1000/share, "cycles of TestAgentsComeAndGoDuringTurns")
	argsFlag    = flag.Int("faults.args", 20_000/share, "arguments of TestArgumentsAreIdenticalForAll")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// figure prints what a test has counted.
func figure(t *testing.T, name string, value any, unit string) {
	t.Helper()
	t.Log(strings.TrimSpace(fmt.Sprintf("FIGURE %s=%v %s", name, value, unit)))
}
