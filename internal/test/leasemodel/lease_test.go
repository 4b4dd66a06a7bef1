package leasemodel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/test/leasemodel"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// enough is more states than any search of these tests visits.
const enough = 3_000_000

func TestNoHistoryBreaksARule(t *testing.T) {
	t.Parallel()
	for _, l := range []leasemodel.Lease{{Nodes: 1, Faults: 3}, {Nodes: 2, Faults: 2}, {Nodes: 3, Faults: 2}} {
		holds(t, l)
	}
}

func TestNoLongerHistoryBreaksARule(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	holds(t, leasemodel.Lease{Nodes: 2, Faults: 3})
}

// holds checks that the protocol keeps all rules, and that a turn can go on within the TTL and a
// beat, and not always sooner.
func holds(t *testing.T, l leasemodel.Lease) {
	t.Helper()
	r := leasemodel.Search(l, enough)
	t.Logf("%d nodes, %d faults: %v", l.Nodes, l.Faults, r)
	assert.Empty(t, r.Broken, r)
	if l.Nodes > 1 {
		assert.Equal(t, leasemodel.TTL+1, r.Seconds)
	}
}

// wrong is a protocol without one of its rules, and the shortest history that goes wrong.
type wrong struct {
	name  string
	lease leasemodel.Lease
	want  string
}

var wrongs = []wrong{
	{"writes without the epoch", leasemodel.Lease{Faults: 2, NoEpoch: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A writes under epoch 1 that the turn has begun.
 3. A sends a write under epoch 1, that the call is about to run; its connection breaks before the answer.
 4. A reads the record and the journal again.
 5. A shuts down in order and frees the lease.
 6. A claims the conversation, which nobody has: epoch 2.
 7. The write without an answer reaches the database, under epoch 1, that the call is about to run.
Broken: a write was stored whose epoch is not the conversation's.`},

	{"writes without what is stored before them", leasemodel.Lease{Faults: 1, NoAfter: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A sends a write under epoch 1, that the turn has begun; its connection breaks before the answer.
 3. A reads the record and the journal again.
 4. The write without an answer reaches the database, under epoch 1, that the turn has begun.
 5. A writes under epoch 1 that the turn has begun.
Broken: the journal has an entry twice.`},

	{"nodes die of a restart of the database", leasemodel.Lease{Faults: 2, NoWitness: true}, `
 1. A claims the conversation, which nobody has: epoch 1; the answer is lost.
 2. A second passes.
 3. The database crashes.
 4. A second passes; A was last seen 2 s ago; B was last seen 2 s ago.
 5. A second passes; A was last seen 3 s ago; B was last seen 3 s ago.
 6. The database starts again.
 7. B beats.
 8. B claims the conversation, which A has, last seen 3 s ago or more: epoch 2.
Broken: a node lost its conversation, though it had missed no beat of its own accord.`},

	{"a claimer trusts its own clock", leasemodel.Lease{Faults: 0, OwnClock: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. B claims the conversation, which A has, last seen 0 s ago: epoch 2.
Broken: a node lost its conversation, though it had missed no beat of its own accord.`},

	{"calls run before the journal says so", leasemodel.Lease{Faults: 1, NoStart: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A writes under epoch 1 that the turn has begun.
 3. A runs the call.
 4. A shuts down in order and frees the lease.
 5. A claims the conversation, which nobody has: epoch 2.
 6. A runs the call.
Broken: the call ran twice.`},

	{"a call without a result runs again", leasemodel.Lease{Faults: 1, RunsAgain: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A writes under epoch 1 that the turn has begun.
 3. A writes under epoch 1 that the call is about to run.
 4. A runs the call.
 5. A shuts down in order and frees the lease.
 6. A claims the conversation, which nobody has: epoch 2.
 7. A runs the call.
Broken: the call ran twice.`},

	{"a node cannot claim what is its own", leasemodel.Lease{Faults: 1, NoOwn: true}, `
 1. A claims the conversation, which nobody has: epoch 1; the answer is lost.
Broken: a node runs, and no node can end the turn within the TTL and a beat from here.`},

	{"a node that is cut off goes on", leasemodel.Lease{Faults: 1, NoStop: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A writes under epoch 1 that the turn has begun.
 3. A writes under epoch 1 that the call is about to run.
 4. A second passes.
 5. A no longer reaches the database.
 6. B beats.
 7. A second passes; A was last seen 2 s ago.
 8. B beats.
 9. A second passes; A was last seen 3 s ago.
10. B beats.
11. B claims the conversation, which A has, last seen 3 s ago or more: epoch 2.
12. A runs the call.
Broken: a node that was awake began a call after another one had taken the turn over.`},

	{"the database answers before it commits", leasemodel.Lease{Faults: 1, EarlyAnswer: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A writes under epoch 1 that the turn has begun.
 3. The database crashes.
Broken: a write that was acknowledged is gone.`},

	{"who has beaten before a crash is a witness behind it", leasemodel.Lease{Faults: 2, LastingWitness: true}, `
 1. A claims the conversation, which nobody has: epoch 1.
 2. A second passes.
 3. A is stopped (SIGSTOP).
 4. B beats.
 5. A second passes; A was last seen 2 s ago.
 6. B beats.
 7. The database crashes.
 8. A second passes; A was last seen 3 s ago.
 9. The database starts again.
10. B beats.
11. B claims the conversation, which A has, last seen 3 s ago or more: epoch 2.
Broken: a node lost its conversation, though it had missed no beat of its own accord.`},

	{"a standby says that it has run for long", leasemodel.Lease{Faults: 2, ServerStart: true}, `
 1. A claims the conversation, which nobody has: epoch 1; the answer is lost.
 2. A second passes.
 3. The database crashes.
 4. A second passes; A was last seen 2 s ago; B was last seen 2 s ago.
 5. A second passes; A was last seen 3 s ago; B was last seen 3 s ago.
 6. A server that has run for long goes on with the database.
 7. B beats.
 8. B claims the conversation, which A has, last seen 3 s ago or more: epoch 2.
Broken: a node lost its conversation, though it had missed no beat of its own accord.`},
}

func TestTheSearchFindsWhatGoesWrongWithoutARule(t *testing.T) {
	t.Parallel()
	for _, w := range wrongs {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.lease.Nodes = 2
			got := leasemodel.Search(w.lease, enough)
			t.Logf("\n%v", got)
			assert.Equal(t, w.want, "\n"+strings.TrimSuffix(got.String(), "\n"))
		})
	}
}

// Not every write of the program says what it believes to be stored. So a process whose write had no
// answer claims anew, and the write is fenced if it comes late.
func TestAClaimAfterAWriteWithoutAnAnswerReplacesWhatWritesSay(t *testing.T) {
	t.Parallel()
	holds(t, leasemodel.Lease{Nodes: 2, Faults: 2, Reclaims: true})
	holds(t, leasemodel.Lease{Nodes: 2, Faults: 2, Reclaims: true, NoAfter: true})
}

func TestSearchRefusesMoreStatesThanItsLimit(t *testing.T) {
	t.Parallel()
	assert.Panics(t, func() { leasemodel.Search(leasemodel.Lease{Nodes: 2, Faults: 1}, 100) })
}
