package scale_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"
)

var (
	faultsFlag  = flag.Int("scale.faults", 10, "faults of TestFaults")
	seedFlag    = flag.Uint64("scale.seed", 1, "which faults they are, and when")
	onlyFlag    = flag.String("scale.only", "", "the kinds of faults, by a regular expression; \"\" is all")
	programFlag = flag.String("scale.program", "", "the program; \"\" compiles that of this module")
	logFlag     = flag.Int("scale.log", 4000, "how many bytes of the log of each daemon a test shows that fails")
	roundsFlag  = flag.Int("scale.rounds", 1, "rounds of TestThroughput and TestSize")
	longFlag    = flag.Duration("scale.long", time.Second, "how long each part of a round of TestThroughput takes")
	storedFlag  = flag.Int("scale.stored", 20_000, "conversations of TestSize")
	costFlag    = flag.Float64("scale.cost", 1.5, "what a turn of TestSize may cost at most, as a multiple")
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
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestFaults: whatever happens to the daemons, to their database and to the way there, nothing is lost, doubled or stuck, and turns of
// the dead are soon taken over.
func TestFaults(t *testing.T) {
	needsAll(t)
	w := newWorld(t, plan{daemons: 3, talks: 9, faults: *faultsFlag, gap: 1500 * time.Millisecond, seed: *seedFlag, only: regexp.MustCompile(*onlyFlag), pace: 8 * time.Millisecond, job: 100 * time.Millisecond})
	e := w.play(t.Context())
	figure(t, "seed", *seedFlag, "")
	figure(t, "faults", *faultsFlag, w.log.kinds())
	found := e.judge(t)
	turns, cancelled, alarms, slowest := 0, 0, 0, time.Duration(0)
	for _, k := range e.talks {
		turns, cancelled, alarms, slowest = turns+len(k.ended), cancelled+k.cancelled, alarms+k.alarms, max(slowest, k.slowest)
	}
	figure(t, "turns", turns, fmt.Sprintf("turns, %d of them cancelled, %d with an effect each, %d jobs", cancelled, len(e.effects), len(e.jobs)))
	delivered := w.noted(t.Context(), `SELECT id::text FROM grapnel_river.river_job WHERE state = 'completed'`)
	figure(t, "delivered", len(delivered), "deliveries of jobs that River has completed")
	figure(t, "alarms", alarms, "notes to readers that more than deltas may be missing, where nothing was")
	figure(t, "slowest", slowest.Milliseconds(), "ms, the longest turn")
	w.judgeTakeovers(t, w.takeovers(t.Context()))
	assert.Empty(t, found, "%s\n%s", strings.Join(w.claims(t.Context(), found), "\n"), w.logs())
	assert.NotEmpty(t, e.effects)
	assert.NotEmpty(t, e.jobs)
	assert.NotEmpty(t, delivered, "River has delivered them")
}

// judgeTakeovers holds the takeovers that nothing else disturbed to what is promised.
func (w *world) judgeTakeovers(t *testing.T, all []takeover) {
	t.Helper()
	var clean []time.Duration
	for _, one := range all {
		if one.clean {
			clean = append(clean, one.took)
		}
	}
	figure(t, "takeovers", len(all), fmt.Sprintf("turns of a dead daemon, %d of them while the database and another daemon worked", len(clean)))
	if len(clean) == 0 {
		assert.Less(t, w.plan.faults, enough, "no takeover was clean")
		return
	}
	p95, slowest := percentile(clean, 95), percentile(clean, 100)
	figure(t, "takeover-p95", p95.Milliseconds(), fmt.Sprintf("ms, TTL %s and beat %s", ttl, beat))
	figure(t, "takeover-slowest", slowest.Milliseconds(), "ms")
	if w.plan.faults >= enough {
		assert.LessOrEqual(t, p95, ttl+beat)
		assert.LessOrEqual(t, slowest, ttl+3*beat)
	}
}

// enough faults are those of which the takeovers are judged by how long they take: a few say nothing on a busy machine.
const enough = 100
