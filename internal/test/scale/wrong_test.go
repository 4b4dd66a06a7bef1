package scale_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wrong is a program that is known to be wrong: the shipped one, of which one statement is another.
type wrong struct {
	// figure is the name in internal/test/prove.
	figure string
	// find is replaced by put in the statements.
	find, put string
	// faults are those that show the mistake, and oracle finds it.
	faults, oracle string
	// n is how many faults there are; ttl is that of the daemons, 0 is the usual one.
	n   int
	ttl time.Duration
	// gap is the mean time between two faults, and job how long the model takes for a job.
	gap, job time.Duration
}

// The gap is often, unless one daemon has to be stopped while the other one works: nobody takes over otherwise. Jobs come soon, unless the
// mistake is in them.
const (
	often  = 700 * time.Millisecond
	seldom = 2 * time.Second
	soon   = time.Second
)

var wrongs = []wrong{
	{"bad.no-epoch", `AND c\.(epoch =|events <) (\$\d+)`, "AND c.epoch >= 0 * $2", "SIGSTOP", "torn|mixed|lost|stuck", 4, 0, seldom, soon},
	{"bad.no-reread", `ORDER BY e\.seq LIMIT \$3`, "ORDER BY e.seq DESC LIMIT least(1, $$3)", "network cut|reset", "torn", 4, 0, often, soon},
	// Who lists nodes and claims conversations; a daemon's own beat still says that it is late after an outage only if somebody has seen it.
	{"bad.no-witness", `((?:c\.owner AND|n\.seen, NOT) \(n\.ttl = 0 OR CASE WHEN \$1::bigint IS NULL THEN )EXISTS \(SELECT FROM witness w [^)]*\)`, "${1}(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint > n.seen + n.ttl", "restart while", "hasty", 2, 4 * time.Second, often, soon},
}

var wrongJobs = []wrong{
	// A daemon is stopped for long enough that River gives its jobs to the other one, and wakes while that one runs them.
	{"bad.river-alone", `j\.epoch = (\$3) AND j\.status = 'running'`, "j.epoch >= 0 * $1 AND j.status = 'running'", "SIGSTOP", "strange", 5, 0, seldom, 2 * time.Second},
}

// TestFaultsFindWhoIsWrong: every mistake is found, with a few faults of the kind that shows it.
func TestFaultsFindWhoIsWrong(t *testing.T) { allFound(t, wrongs) }

func TestFaultsFindWhoIsWrongAboutJobs(t *testing.T) { allFound(t, wrongJobs) }

func allFound(t *testing.T, wrongs []wrong) {
	t.Helper()
	needsAll(t)
	for _, one := range wrongs {
		t.Run(one.figure, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				if n := one.found(t, seed); n > 0 {
					figure(t, one.figure, n, "findings")
					return
				}
			}
			assert.Fail(t, "nothing was found")
		})
	}
}

// found returns how much the oracle finds of what the program does wrong.
func (o wrong) found(t *testing.T, seed uint64) (n int) {
	t.Helper()
	rewrite := &rewriting{find: regexp.MustCompile(o.find), put: o.put}
	w := newWorld(t, plan{
		daemons: 2, ttl: o.ttl, talks: 24, faults: o.n, gap: o.gap, seed: seed, only: regexp.MustCompile(o.faults), rewrite: rewrite,
		pace: 8 * time.Millisecond, job: o.job,
	})
	w.rest = 5 * time.Second
	e := w.play(t.Context())
	t.Logf("seed %d: %s", seed, w.log.kinds())
	require.NotZero(t, rewrite.done.Load(), "no statement is as it is to be replaced: %s", o.find)
	for _, oracle := range oracles {
		for _, what := range oracle.find(e) {
			t.Logf("%s: %s", oracle.name, what)
			if regexp.MustCompile("^(" + o.oracle + ")$").MatchString(oracle.name) {
				n++
			}
		}
	}
	return n
}
