package leasemodel

// TTL is how many seconds after its last beat a node counts as dead; the default of the
// daemon.
const TTL = 3

// room is the most nodes that a state has room for.
const room = 3

// Lease is the protocol of one conversation, and what may go wrong. Its zero value has no
// nodes. The fields from NoEpoch to EarlyAnswer each take a rule away.
type Lease struct {
	// Nodes is 1 to 3, Faults how many faults there may be in one history.
	Nodes, Faults int

	// NoEpoch: a write does not carry the epoch.
	NoEpoch bool
	// NoAfter: a write does not carry what its writer believes to be stored.
	NoAfter bool
	// NoWitness: a node is dead once its last beat is TTL ago, whether or not another one beat meanwhile.
	NoWitness bool
	// ServerStart: a node is dead once its last beat, and the start of the server, are TTL ago. It adds a
	// fault: a server that has run for long goes on with the database.
	ServerStart bool
	// LastingWitness: how long a node has beaten is known after a crash of the database.
	LastingWitness bool
	// OwnClock: a claimer compares beats with its own clock; those of all nodes but A are fast
	// by TTL.
	OwnClock bool
	// NoStart: a call runs before its start is in the journal.
	NoStart bool
	// RunsAgain: who takes a turn over runs a call that was started and has no result.
	RunsAgain bool
	// NoOwn: a node does not claim what the database says it has, and it does not know of.
	NoOwn bool
	// NoStop: a node whose beats fail goes on with its turns.
	NoStop bool
	// EarlyAnswer: the database answers before a write is on its disk.
	EarlyAnswer bool

	// Reclaims adds a rule: a node whose write had no answer claims anew before it goes on.
	Reclaims bool
}

// stored is how much of the turn the journal has.
type stored uint8

const (
	nothing stored = iota
	begun          // the turn and its input
	started        // the call is about to run
	called         // the result of the call
	ended          // the messages; the journal is empty and the lease free
)

// process is the state of a node's process.
type process uint8

const (
	running process = iota
	paused          // SIGSTOP
	cutOff          // runs, and does not reach the database
	killed
)

// node is one daemon and its row.
type node struct {
	process process
	// seen is the seconds since its last beat, at most TTL; silent is how many of them it
	// could not have been kept from beating by the database.
	seen, silent uint8
	// witness is one more than the seconds for which it had beaten without a gap at its last beat, at
	// most TTL of them; 0 if the next beat begins anew.
	witness uint8
	// dead: another node has beaten for TTL without a gap since its last beat.
	dead bool
	// woken: it was paused after its last beat.
	woken bool

	// epoch is that of the turn which it runs; 0 is none. The rest belongs to that turn.
	epoch uint8
	// knows is what it believes to be stored.
	knows stored
	// unsure: a write had no answer.
	unsure bool
	// mine: it stored the start of the call itself, with an answer. ran: it has run the call.
	mine, ran bool
}

// row is the conversation's row, with its journal.
type row struct {
	owner  uint8 // 1 is A; 0 is nobody
	epoch  uint8
	stored stored
}

// write is a write that has left its node and had no answer.
type write struct {
	epoch uint8 // 0 is none
	after stored
}

// world is a state of the model.
type world struct {
	// up: the database runs. since is for how many seconds its server says so, at most TTL; only with
	// ServerStart.
	up    bool
	since uint8
	// row is what the database shows, disk what it has after a crash.
	row, disk row
	late      write
	node      [room]node
	faults    uint8 // still allowed

	// What nobody in the model knows: the most that was acknowledged, how often the call ran,
	// and the rule that the last action broke.
	acknowledged stored
	effects      uint8
	broken       rule
}

// kind is an action of a node, the database or the world.
type kind uint8

// The actions. Those from pauseProcess to release count as faults, the two behind them undo one.
const (
	tick kind = iota
	beat
	claim
	writeNext
	runCall
	reread
	stopTurn
	arrive
	flush
	startDatabase
	promote
	pauseProcess
	cut
	kill
	stopDatabase
	loseAnswer
	loseClaim
	release
	resumeProcess
	mend
)

// action is a kind of action and the node that does it, from 0.
type action struct {
	kind kind
	node int
}

// fault reports whether the action counts as one.
func (a action) fault() bool { return pauseProcess <= a.kind && a.kind <= release }

// Start is a database that has run for long, and nodes that have beaten for as long, and just now.
func (l Lease) Start() world {
	w := world{up: true, since: TTL, faults: uint8(l.Faults)}
	for i := range w.node {
		w.node[i].witness = TTL + 1
		if i >= l.Nodes {
			w.node[i].process = killed
		}
	}
	return w
}

// Next yields what time, the database and each node may do, and what may go wrong.
func (l Lease) Next(w world, yield func(action, world)) {
	if w.row.stored == ended {
		return // the turn is over: nothing more is of interest
	}
	try := func(a action, do func(w *world)) {
		next := w
		if a.fault() {
			if w.faults == 0 {
				return
			}
			next.faults--
		}
		do(&next)
		yield(a, next)
	}
	l.time(w, try)
	l.database(w, try)
	for i := range l.Nodes {
		l.work(w, i, try)
		l.misfortune(w, i, try)
	}
}

// attempt yields the world after do, unless the action is a fault too many.
type attempt func(a action, do func(*world))

// rule is a rule of the protocol that can be broken.
type rule uint8

const (
	none rule = iota
	staleWrite
	writtenTwice
	sameEpoch
	lostWrite
	takenFromLiving
	ranTwice
	ranLate
)

// Broken says which rule the last action broke, or the state breaks.
func (l Lease) Broken(w world) string {
	if w.row.stored < w.acknowledged {
		w.broken = lostWrite
	}
	for i, n := range w.node {
		for _, other := range w.node[:i] {
			if n.epoch > 0 && n.epoch == other.epoch {
				w.broken = sameEpoch
			}
		}
	}
	return [...]string{
		none:            "",
		staleWrite:      "a write was stored whose epoch is not the conversation's",
		writtenTwice:    "the journal has an entry twice",
		sameEpoch:       "two nodes have the same epoch",
		lostWrite:       "a write that was acknowledged is gone",
		takenFromLiving: "a node lost its conversation, though it had missed no beat of its own accord",
		ranTwice:        "the call ran twice",
		ranLate:         "a node that was awake began a call after another one had taken the turn over",
	}[w.broken]
}

// Progress: while a node runs, the turn can be ended within the TTL and a beat, without help for those
// that are paused or cut off.
func (l Lease) Progress() Progress[world, action] {
	return Progress[world, action]{
		Due: func(w world) bool {
			for _, n := range w.node[:l.Nodes] {
				if n.process == running {
					return true
				}
			}
			return false
		},
		Done:   func(w world) bool { return w.row.stored == ended },
		Counts: func(a action) bool { return !a.fault() && a.kind != resumeProcess && a.kind != mend },
		Second: func(a action) bool { return a.kind == tick },
		Within: TTL + 1,
		Stuck:  "a node runs, and no node can end the turn within the TTL and a beat from here",
	}
}
