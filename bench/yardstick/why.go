package main

// Why budgets are missed, and what could be tried next. A reason stands ready for
// rows that keep their budget on one machine and miss it on another.
const (
	whyRoute = "The limit calls the owner's binding by hand and so compares no name. The composite compares it twice: it asks who owns the tool, " +
		"and the owner which of its tools it is. Nothing is allocated, and more tools cost nothing."

	whyDeciders = "A loop over interfaces takes three nanoseconds for each decider. The walk over a composite's members calls each through the method " +
		"expression of the point, keeps its place, so that a panic has a name, and has one deferred function for all of them. The chain of the wraps is one value, with a list of what each has got back."

	whyTurn = "The limit does what is asked and nothing else: it emits two kinds of event instead of twelve, reads the clock " +
		"for the tool alone and not for every event, stores once and not three times, and has no scope, cancellation or recovery of hooks. " + handing

	// handing is what an experiment has shown.
	handing = "A call runs on a worker of its own, so that a tool that ignores its cancellation can be left behind. On two processors " +
		"that is nearly half of a turn with one call, because handing over wakes the other processor, which finds nothing to do and goes to sleep again. " +
		"With one processor, or with many conversations at once, it costs 3 µs."

	whyDeltas = "A delta allocates nothing (the allocations in the table are those of the turn). " +
		"Each delta takes the way of every event: a reading of the clock, a lock for its number and one to give the delivery back, a deferred " +
		"function, copies of an event of 168 bytes, two for each who is told, and of a chunk of 136, and the text that is collected."

	whyCalls = "A call of 5 ms ends when the timer of the operating system says so; the limit beside it waits as long. " +
		"For calls that take no time the bound of 32 workers is what counts."

	whyDurable = "A turn without calls is stored in two appends and a note of its last events, and each waits for a sync of the disk that it shares with those that came at the " +
		"same time. What is left is the disk's: the limit beside it writes the same rows for all conversations in one " +
		"transaction, by hand."

	whyAgents = "An agent with a conversation of one turn takes 480 bytes for the conversation, of which 192 are what delivers its events; 256 " +
		"for the configuration; 240 for the record in the store and 80 for its entry in a map; 256 for the agent with its view; 224 " +
		"for the session; 160 for the place and the states of hooks; 144 for the text of the answer; 80 for the history, which store " +
		"and conversation share. Next: what an idle conversation does not need (the clock and the place of its events, the mailbox, " +
		"those who wait for their turn: 150 bytes) lent to it for a turn; states that are made when a hook sets one (80); times in the store as " +
		"numbers (60)."

	whyGrowth = "internal/test/visits counts what a turn visits: no statement of a turn with one call runs more often with more tools or a longer history. " +
		"The list of tools is encoded once. The history is a frozen view of pieces that never move, each message knows the bytes and the weakest origin up to it, " +
		"and a turn adds at the end. What is left is a piece for every 64 messages and the processor's caches, which a long history is not in. " +
		"A provider that sends the history has to read all of it; the scripted one of these benchmarks does not."

	whyHooks = "A hook allocates nothing at any point but a wrap. What a turn with hooks allocates besides is the place that its points are told, which " +
		"a turn without any does not make. Next: places that are part of the turn from the beginning."

	whyPeers = "The best peer keeps no conversation, stores nothing and gives no numbers to what it tells. Of what is left of a turn of Grapnel, nearly a third " +
		"is allocating its pieces and collecting them, more than a tenth its twelve events, and a twentieth reading the clock. The best peer runs a single call on the goroutine of its turn, and cannot leave a tool behind. " + handing

	whyCheck = "Nearly all of it is one go list with the export data of all that the packages import, which hookgen cannot do without; the benchmark " +
		"runs it alone beside hookgen. Next: ask for it only if a file has changed since the last time."

	whyServe = "Most of the time the daemon opens its stores, whose files it makes and syncs because the store is empty, and starts its subsystems. " +
		"Next: open the stores of subsystems that nobody has asked yet later."

	whyEmbedder = "Without symbols (-ldflags '-s -w') the programs differ by 5.1 MB. Of the code composite has 0.36 MB, because the walk over members is generic and " +
		"each point has its own copy, the loop 0.22, the JSON library of the provider 0.26, the client of net/http, which the empty program does not have and " +
		"the provider needs, 0.19, plan 0.1, regexp 0.1, encoding/json 0.09; symbols and tables for the collector and for traces take twice as much as the code. " +
		"Next: expressions of policies without regexp; one copy of the walk for points of one kind."
)
