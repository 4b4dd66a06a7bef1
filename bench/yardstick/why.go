package main

// Why budgets are missed, and what could be tried next. A reason stands ready for
// rows that keep their budget on one machine and miss it on another.
const (
	whyRoute = "The limit calls the owner's binding by hand and so compares no name. The composite compares it twice: it asks who owns the tool, " +
		"and the owner which of its tools it is. Nothing is allocated, and more tools cost nothing."

	whyDeciders = "A loop over interfaces takes three nanoseconds for each decider. The walk over a composite's members calls each through the method " +
		"expression of the point, keeps its place, so that a panic has a name, and has one deferred function for all of them. The chain of the wraps is one value, with a list of what each has got back."

	whyBytes = "The turn itself is one piece of 2 kB, half of which lets its owner end it while a hook hangs: its outcome, its last event, its order, its contexts. Its call is one of 0.8, the dispatch 0.35, the places of turn and steps 0.35, blocks 0.3, " +
		"the details of events 0.25, the contexts 0.25, and what its four messages add to the history 0.35, half of it the result of " +
		"the tool. The rest is small: ids, the table of call ids, the step of 64 bytes. Next: what only some turns have (the account " +
		"of a step for AfterStep, a retry of the model, a guest) behind one pointer of the turn, 0.2 kB; the place of a call, which " +
		"lies in the call and again in the event, and three grants for each call, 0.2 kB."

	whyTurn = "The limit does what is asked and nothing else: it emits two kinds of event instead of twelve, reads the clock " +
		"for the tool alone and not for every event, stores once and not three times, and has no scope, cancellation or recovery of hooks. The first 200 " +
		"turns of a conversation allocate 23 times each; in one that goes on for a thousand it is up to 25, because its lists are copied when they are full. " + handing

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

	whyGrowth = "Nothing in a turn walks the tools or the history: the list of tools is encoded once, and the history is a frozen view of " +
		"pieces that never move, to which a turn adds at the end. What is left is a piece for every 64 messages and the processor's " +
		"caches, which a long history is not in."

	whyHooks = "A hook allocates nothing at any point but a wrap. What a turn with hooks allocates besides is the place that its points are told, which " +
		"a turn without any does not make. Next: places that are part of the turn from the beginning."

	whyPeers = "The best peer keeps no conversation, stores nothing and gives no numbers to what it tells. Of what is left of a turn of Grapnel, nearly a third " +
		"is allocating its pieces and collecting them, more than a tenth its twelve events, and a twentieth reading the clock. The best peer runs a single call on the goroutine of its turn, and cannot leave a tool behind. " + handing

	whyCheck = "Nearly all of it is one go list with the export data of all that the packages import, which hookgen cannot do without; the benchmark " +
		"runs it alone beside hookgen. Next: ask for it only if a file has changed since the last time."

	whyServe = "Most of the time the daemon opens its stores, whose files it makes and syncs because the store is empty, and starts its subsystems. " +
		"Next: open the stores of subsystems that nobody has asked yet later."

	whyEmbedder = "Without symbols (-ldflags '-s -w') the programs differ by 3.8 MB. Of the code the runtime has 0.29 MB, the client of net/http, " +
		"which the empty program does not have and the provider needs, 0.19, composite and plan 0.21, encoding/json 0.09, the provider 0.08, hook 0.07, " +
		"regexp 0.1; tables for the collector and for traces take more than the code. Next: expressions of policies without regexp; " +
		"the parts of the runtime that few use (jobs, contributions, guests) reached only by who asks for them."
)
