package scale_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var (
	faultsFlag = flag.Int("scale.faults", 12, "faults of TestFaults")
	seedFlag   = flag.Uint64("scale.seed", 1, "which faults they are, and when")
	roundsFlag = flag.Int("scale.rounds", 1, "rounds of TestThroughput and TestSize")
	longFlag   = flag.Duration("scale.long", time.Second, "how long each part of a round of TestThroughput takes")
	storedFlag = flag.Int("scale.stored", 20_000, "conversations of TestSize")
	costFlag   = flag.Float64("scale.cost", 1.5, "what a turn of TestSize may cost at most, as a multiple")
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(turnsVariable); dsn != "" {
		if err := runTurns(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// TestFaults: whatever happens to the daemons and the way to their database, nothing is lost, doubled or stuck.
func TestFaults(t *testing.T) {
	needsAll(t)
	w := newWorld(t, plan{daemons: 1, talks: 6, faults: *faultsFlag, gap: 1500 * time.Millisecond, seed: *seedFlag, pace: 8 * time.Millisecond})
	e := w.play(t.Context())
	found := e.judge(t)
	turns := 0
	for _, k := range e.talks {
		turns += len(k.ended)
	}
	figure(t, "turns", turns, "turns")
	t.Log(w.log.counts)
	if !assert.Empty(t, found) {
		t.Log(w.logs())
	}
	assert.NotEmpty(t, e.effects)
}
