package main

// input is a figure that the tables are made of.
type input struct {
	value float64
	unit  string // "" is a number
	what  string
	// from is where the figure comes from.
	from string
}

// The sources. A figure of trial is to be replaced by one of our own as soon as it is measured.
const (
	question = "the question"
	assumed  = "assumed"
	// in begins the place of a constant of the program: a file and what stands in it.
	in = "in "
	// trial is PostgreSQL 15.18 beside its clients on two busy cores, a sync of 0.11 ms, November 2026.
	trial = "trial"
	// own is `go test -bench Writes ./runtime/store/postgres` on the same cores, busier, November 2026.
	own = "BenchmarkWrites"
	// bench is pgbench with 20 clients beside PostgreSQL 15.18 on the same cores, November 2026.
	bench = "pgbench"
)

// What is asked for.
var (
	conversations = input{1e6, "", "conversations that are stored", question}
	concurrent    = input{1e4, "", "turns that run at the same time", question}
	turnTakes     = input{20, "s", "a turn takes", assumed}
	callsPerTurn  = input{2, "", "tool calls in a turn, one after the other", assumed}
	turnsPer      = input{10, "", "turns in a conversation", assumed}
	messagesPer   = input{40, "", "messages in a conversation", assumed}
	deltasPerTurn = input{50, "/s", "deltas of a turn while it runs", assumed}
	deltaSize     = input{100, "B", "a delta as an event", assumed}
	turnsPerNode  = input{500, "", "turns that one daemon runs at the same time", assumed}
	eventDays     = input{7, "days", "events are kept for", assumed}
)

// How the daemons are set.
var (
	poolSize     = input{9, "", "connections of a daemon for reads and transactions", in + "internal/pgdb/pgdb.go: 0 is 9"}
	writersSize  = input{3, "", "connections of a daemon for writes of turns and beats", in + "internal/pgdb/pgdb.go: up to three // more for Apply and Urgent"}
	storesSize   = input{4, "", "connections of a daemon for memories, schedules, tokens and the like", in + "internal/app/stores.go: storeConnections = 4"}
	listenerSize = input{2, "", "connections of a daemon that wait for notifications, one of them for jobs", in + "internal/pgdb/listen.go: It has a connection of its own"}
	renewEvery   = input{5, "s", "a lease would be renewed every, if daemons did not beat", assumed}
	beatsEvery   = input{1, "s", "a daemon beats every", in + "internal/nodes/members.go: DefaultBeat = time.Second"}
	notifyEvery  = input{0.02, "s", "a daemon notifies at most every", in + "runtime/store/postgres/node.go: tick = 20 * time.Millisecond"}
	maxBackends  = input{500, "", "max_connections of the database", assumed}
)

// What a row, a turn or a statement costs.
var (
	nodeSize         = input{200, "B", "a daemon's row", assumed}
	conversationSize = input{400, "B", "a conversation with its indexes", trial}
	messageSize      = input{1500, "B", "a message with its index", trial}
	wordSize         = input{400, "B", "the search index of a message", trial}
	eventsSize       = input{2500, "B", "the events of a turn", trial}
	walFirstCall     = input{13_000, "B", "write-ahead log of a turn with one call", trial}
	walFurtherCall   = input{7_000, "B", "write-ahead log of a further call", assumed}
	writesFirstCall  = input{6, "", "writes of a turn with one call, its claim among them", trial}
	writesFurther    = input{2, "", "writes of a further call", trial}
	entriesFirstCall = input{5, "", "journal entries of a turn with one call", assumed}
	entriesFurther   = input{3, "", "journal entries of a further call", assumed}
	entryBloat       = input{5_400, "B", "of the journal's table that a turn leaves to the vacuum", trial}
	listedSize       = input{300, "B", "a conversation in the answer of a store's List", trial}
)

// What one primary does.
var (
	singleWrites  = input{5_635, "/s", "writes, each a commit: 1,127 turns of 5 writes", trial}
	groupedWrites = input{8_189, "/s", "writes, up to 64 in a commit, of 256 callers at once", own}
	deliveries    = input{89_000, "/s", "notifications that reach a listener: 8,908 a second to 10 of them", bench}
	vacuumEvery   = input{60, "s", "autovacuum looks at a table every", "PostgreSQL's default"}
	journalLimit  = input{1e9, "B", "a journal's table that still fits into the memory beside the rest", assumed}
	walRate       = input{100e6, "B/s", "write-ahead log that disk and standby take", assumed}
	rankedMatches = input{220_000, "/s", "matches that a full-text search ranks: 33,000 in 150 ms", trial}
	commonWord    = input{0.01, "", "share of the messages that have a common word", assumed}
	searchTakes   = input{1, "s", "a search may take", assumed}
)

// inputs are all of them, as the page shows them.
var inputs = []input{
	conversations, concurrent, turnTakes, callsPerTurn, turnsPer, messagesPer, deltasPerTurn, deltaSize, turnsPerNode, eventDays,
	poolSize, writersSize, storesSize, listenerSize, renewEvery, beatsEvery, notifyEvery, maxBackends,
	nodeSize, conversationSize, messageSize, wordSize, eventsSize, walFirstCall, walFurtherCall, writesFirstCall, writesFurther,
	entriesFirstCall, entriesFurther, entryBloat, listedSize,
	singleWrites, groupedWrites, deliveries, vacuumEvery, journalLimit, walRate, rankedMatches, commonWord, searchTakes,
}
