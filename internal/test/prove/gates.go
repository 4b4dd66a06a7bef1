package main

// gate is a test, or a command, whose many runs show a property.
type gate struct {
	name string
	// shows is the page's sentence about the property: what cannot happen.
	shows string
	// pkg is the directory of the package that it judges, and tests the names of its tests as in
	// -run. A directory with a go.mod stands for all packages of that module.
	pkg, tests string
	// args are flags of the test binary.
	args []string
	// command runs instead of tests, from the root of the module.
	command []string
	// also are further packages that it judges.
	also []string
	// data are files and directories that it judges beside the code; "." is every Go file.
	data []string
	// bad describes the figures "bad.NAME" by NAME: what the gate found in known-bad
	// variants. All of them must be present and not zero.
	bad map[string]string
	// noBad says why there are none.
	noBad string
}

// judged are the packages whose change makes the gate stale.
func (g gate) judged() []string { return append([]string{g.pkg}, g.also...) }

// words are what the gate runs, for people.
func (g gate) words() []string {
	if len(g.command) > 0 {
		return g.command
	}
	return append([]string{"go", "test", g.pkg, "-run", "^(" + g.tests + ")$"}, g.args...)
}

// gates run in this order.
var gates = []gate{
	{
		name: "power cuts",
		shows: "Whatever a store on SQLite has acknowledged — messages, journal, lease, events, a compaction, a fork, a new conversation, a memory — is there " +
			"after a loss of power, byte for byte and whole; the file is sound and can be used, also if the power fails again during recovery. " +
			"The power is cut before operations of the disk, evenly over a recorded trace; what had not been synced is lost, reordered or torn.",
		pkg: "./internal/test/powercut", tests: "TestPowerCuts|TestPowerCutsOfMemories|TestPowerCutsFindWhoLoses",
		args: []string{"-powercut.n", "1500"},
		bad: map[string]string{
			"no-sync":       "a disk that reports syncs and does none",
			"one-sync-less": "a disk that leaves out one of them",
			"late-commit":   "a store that acknowledges before it commits",
		},
	},
	{
		name: "kills",
		shows: "Whatever a store on SQLite has acknowledged is there after its process was killed, and whole. " +
			"Four conversations are appended to when the kill comes.",
		pkg: "./runtime/store/sqlite", tests: "TestAKillLosesNothingThatWasAcknowledged|TestKillsFindWhoAcknowledgesTooEarly",
		args: []string{"-kills", "500"},
		bad:  map[string]string{"late-commit": "a store that acknowledges before it commits"},
	},
	{
		name: "damaged files",
		shows: "A store on SQLite whose file was emptied, cut off, deleted from beside its log, or has pages full of zeros or garbage is never silently less: it is refused " +
			"with what to do and left as it is, its search index is made anew, or what is missing comes as an error. Who says that nothing was changed, or that a check found no damage, is right.",
		pkg: "./runtime/store/sqlite", tests: "TestDamageIsNeverSilent|TestDamageFindsWhoBeginsAnew",
		args: []string{"-damaged.n", "1500"},
		bad: map[string]string{
			"anew":  "a program that begins anew where it cannot go on",
			"sure":  "a program that says unlooked that nothing else is damaged",
			"hasty": "a program whose look at a file changes it",
		},
	},
	{
		name: "kills within a turn",
		shows: "Whatever a program that runs agents has told of — that a turn has begun, a result, an answer — is there after it was killed. The " +
			"program that goes on with its turns runs no tool twice that must not, and takes no reply that was cut off for a whole one. The job that the end of a turn queues is there if and only if the turn has ended. Four conversations run turns with calls when the kill comes, nearly " +
			"always within a turn; the test prints after which event.",
		pkg: "./internal/test/kills", tests: "TestKills|TestTheGateCatchesWhatIsBad",
		args: []string{"-kills.n", "500"},
		bad: map[string]string{
			"late-commit":   "a store that acknowledges before it commits",
			"no-journal":    "a runtime that does not write down what it is about to do",
			"early-start":   "a runtime that says that a turn begins before it has stored the input",
			"half-is-whole": "a recovery that takes a reply that was cut off for a whole one",
			"jobs-apart":    "a store that queues the jobs of a turn in a step of their own",
		},
	},
	{
		name: "processes of a killed program",
		shows: "No process of a command is left when the program that started it is killed, in whatever way it was started: in the background, in another " +
			"session, forked twice, or deaf to signals.",
		pkg: "./internal/supervisor", tests: "TestAKilledProgramLeavesNoProcess|TestKilledProgramsFindWhoStartsDirectly",
		args: []string{"-supervisor.n", "500"},
		bad:  map[string]string{"direct": "a program that starts commands as its own children"},
	},
	{
		name: "subscribers",
		shows: "A subscriber that reads nothing slows no turn and no other subscriber: 1 is stalled and 100 read 100,000 events. What it missed is " +
			"counted exactly, and where events are kept a reader finds every one of them.",
		pkg: "./runtime/internal/spec/events", tests: "TestASlowSubscriberSlowsNobody|TestASubscriberCostsATurnNoTime|TestSubscribersCostAnEventOneAllocation",
		args: []string{"-subscribed", "100000"},
		bad: map[string]string{
			"blocking": "a subscriber that is waited for",
			"dropping": "a subscriber that loses events and does not say so",
		},
	},
	{
		name: "a daemon under load",
		shows: "1,000 readers over server-sent events follow 200 conversations that run turns at once, in a daemon of its own: each gets every event that is kept, once and in order, and " +
			"the memory of the daemon is bounded. Of 100 readers 20 read nothing: turns take as long as with none that stalls, by the median of 11 pairs.",
		pkg: "./cmd/grapnel", tests: "TestLoad|TestStalledReaders",
		args:  []string{"-load.readers", "1000", "-load.turns", "200", "-load.pairs", "11", "-load.sample", "100"},
		noBad: "the gate \"subscribers\" has readers that are waited for and that lose events",
	},
	{
		name: "bombs",
		shows: "Outputs of 100 MB, 10,000 tools, a million events of one tool, progress without end and arguments of depth 100,000 stay under a bound " +
			"of memory, each in a process of its own, and the turn ends.",
		pkg: "./runtime/internal/spec/events", tests: "TestBombs",
		args: []string{"-bombs", "1000000"},
		bad:  map[string]string{"unbounded": "a subscriber that keeps every event"},
	},
	{
		name: "model bombs",
		shows: "A model server that sends more than anybody wants (text, reasoning, arguments, calls, names, events, comments, gzip, errors, headers) is cut " +
			"off at a limit that the error names; nothing of a reply that was cut is kept or run. A process of its own for each takes at most 8 times what the " +
			"reply may have, and afterwards 3 times what is kept of it, also where 50 MB are wanted.",
		pkg: "./internal/test/modelbombs", tests: "TestModelBombs|TestTheBoundsFindRepliesThatNothingBounds",
		bad: map[string]string{"unbounded": "a collector without a bound"},
	},
	{
		name: "bombs in the place of configuration",
		shows: "A link to /dev/zero or to standard input, a pipe, a sparse file of 1 GB and 100,000 brackets in the place of a file of configuration " +
			"are refused soon, and cost less than 64 MiB, each in a process of its own.",
		pkg: "./internal/conffile", tests: "TestBombs",
		bad: map[string]string{"naive": "a reader that opens and reads what there is"},
	},
	{
		name: "drawn faults of a model's server",
		shows: "A turn of two model calls ends well unless one of its calls fails five times in a row, by the log of the relay that draws the faults, with drop, malformed, disconnect, " +
			"ratelimit and a cut, each at 0.3: at least 985 of 1,000 turns. With the first four drawn one after the other, 76 of 100 requests fail; then as many turns end well as chance " +
			"says (0.557, within four standard deviations), and the others say what failed last and after how many tries. Nothing cut off counts as whole, no tool runs twice, and two " +
			"strict servers take every history. The server is npm's @copilotkit/aimock.",
		pkg: "./internal/test/modelfaults", tests: "TestTurnsSurviveDrawnFaults|TestDrawnFaultsFindWhoLosesTurns",
		args: []string{"-modelfaults.turns", "1000"},
		bad: map[string]string{
			"no-fallback": "a composition without subsystem fallback",
			"forgiving":   "a relay that ends a cut answer as if it were whole",
			"twice":       "a composition that runs a tool again",
			"stitching":   "an adapter that asks again on its own and goes on where the answer broke off",
		},
	},
	{
		name: "kinds of faults of a model's server",
		shows: "429 with a Retry-After, without one and with an absurd one, 5xx, timeouts, resets, slices, cuts anywhere, in arguments and in UTF-8, a missing end, an event twice, a garbage " +
			"line, a wrong content type: for each dialect of the adapters nothing cut off counts as whole, no tool runs with a part of its arguments, and a call is made again as often as the " +
			"rules say, no more and no less. Each pause is at least what the server asks for and within the bounds of the jitter, by a virtual clock on the side of the server.",
		pkg: "./internal/test/modelfaults", tests: "TestTurnsSurviveEveryKindOfFault|TestEveryKindOfFaultFindsWhoBreaksTheRules",
		args: []string{"-modelfaults.seeds", "1000"},
		bad: map[string]string{
			"half-is-whole": "an adapter that takes what it has for the whole",
			"mending":       "an adapter that completes arguments that broke off",
			"deaf":          "an adapter that does not read Retry-After",
			"endless":       "a composition that does not stop asking",
		},
	},
	{
		name: "fault-injected turns",
		shows: "Random conversations in which models, tools, hooks, stores and people fail in some 90 ways: every result of a tool that ended in time is in " +
			"the history with its own bytes, once and in its place; everything that begins ends; AfterTool and AfterTurn come once; nothing hangs and no " +
			"goroutine is left; two strict servers refuse no request.",
		pkg: "./internal/test/faults", tests: "TestFaultInjectedTurns",
		args:  []string{"-faults.turns", "75000"},
		noBad: "what is checked of results is shown to find who loses them by the gates behind this one",
	},
	{
		name: "cancels",
		shows: "Turns are cancelled at random moments: the result of every tool that has ended, or ends in the grace period, is in the history, and all other " +
			"calls are marked.",
		pkg: "./internal/test/faults", tests: "TestCancels|TestCancelsFindWhoCommitsAllOrNothing",
		args: []string{"-faults.cancels", "20000"},
		bad:  map[string]string{"all-or-nothing": "a loop that commits a step only when all of its calls have ended"},
	},
	{
		name: "crashes behind every write",
		shows: "The process dies behind every write of eleven conversations, and the process that recovers behind every write of its own: the history is valid " +
			"and has everything that was done and said, nothing is done twice that must not, and the log tells of every result and every end once.",
		pkg: "./internal/test/faults", tests: "TestCrashAfterEveryJournalStep|TestCrashesFindWhoWritesTooLate",
		bad: map[string]string{
			"late-journal":       "a store that writes down what is about to happen when it has happened",
			"results-at-the-end": "a store that keeps results only with the whole step",
		},
	},
	{
		name: "arguments",
		shows: "A model sends arguments of all kinds: nothing runs and the model is told why, with the schema; or hooks, approval, events, the tool and the " +
			"history have the same canonical bytes, and they mean to every reader what the tool was given.",
		pkg: "./internal/test/faults", tests: "TestArgumentsAreIdenticalForAll|TestArgumentsFindTheNaiveDecoder",
		args: []string{"-faults.args", "250000"},
		bad:  map[string]string{"naive-decoder": "a tool that reads its arguments with encoding/json"},
	},
	{
		name: "terminal",
		shows: "Random texts of escapes, bidirectional, invisible and broken characters act on no terminal, in an answer, in a question and in JSON, however they are " +
			"cut.",
		pkg: "./internal/screen", tests: "TestNothingRandomActsOnATerminal|TestTheCheckFindsTheRawPath",
		args: []string{"-screen.n", "500000"},
		bad:  map[string]string{"raw": "a program that writes what it was told"},
	},
	{
		name: "commands",
		shows: "Lines are composed of wrappers, quotes, separators, substitutions and the flags with which programs run others; those count that make a file in bash. None of them runs unasked, although " +
			"rules with wildcards allow every program in them but the one that makes the file, and safe commands are allowed. There is no sandbox.",
		pkg: "./subsystems/policy", tests: "TestMutants|TestConfinedMutants",
		args: []string{"-mutants", "20000"},
		bad: map[string]string{
			"prefix":   "a judge that compares the beginning of the line",
			"cutting":  "a judge that cuts the line at separators and compares the beginning of each part",
			"no-table": "a judge that parses the line and knows nothing of programs",
		},
	},
	{
		name: "file tools",
		shows: "The file tools read, edit, write and search below the project while somebody swaps a directory and a file for links that lead out: nothing from outside is read, shown or changed. Nor do " +
			"110 paths lead out, by .., absolute paths, links of all kinds, odd names, hard links and what is no regular file; each fails in the way that the table says. A search in a directory of 200,100 entries ends, and says that it left some out; so does one above 10,000 levels of directories.",
		pkg: "./subsystems/ostools", tests: "TestRacingOpens|TestNoPathLeadsOut|TestManyEntries|TestDeepDirectories",
		args: []string{"-ostools.opens", "1000000", "-ostools.entries", "200100", "-ostools.levels", "10000"},
		bad:  map[string]string{"check-then-open": "a tool that checks a path and then opens it"},
	},
	{
		name: "sandbox",
		shows: "A command in the sandbox reaches nothing that it must not: of over 200 escapes (files, keys, sockets, processes, system calls, network, hooks, caches, what stays behind) every third is played, as root and as an ordinary user, " +
			"and so is every eighth command of the corpus, after which files outside, sockets and processes are as before. Ordinary jobs succeed in it: builds and tests, git, npm, python, make, servers on the loopback. At the level reduced those escapes succeed that are listed.",
		pkg: "./internal/test/escape", tests: "TestNoEscapeSucceeds|TestJobsSucceedInTheSandbox|TestReduced|TestTheCorpusInTheSandbox|TestEscapesWorkWithoutASandbox|TestTheBatteryAsRoot",
		args: []string{"-escape.every", "3", "-escape.rows", "8"},
		bad:  map[string]string{"plain": "a runner without a sandbox"},
	},
	{
		name: "hostile model",
		shows: "A model obeys what somebody has written into a file, a page, a skill, a memory, an image, a commit or the answer of a server or of another agent. The whole " +
			"program runs, with a real shell, a real MCP server and a real machine elsewhere, and the person has allowed every tool. No declared sink is reached: nothing is sent, nothing is changed " +
			"elsewhere, told to another agent or remembered as the user's, and no image carries what was read. 75 of the scenarios are from public sets, and 30 from an author who had " +
			"not seen the guard; these were scored once when they were complete, and 28 of them reached nothing (internal/test/hostile/testdata). The benign runs of the same tasks go through, most of them without a question.",
		pkg: "./internal/test/hostile", tests: "TestScenarios|TestTwinsWithAPerson|TestTheGateFindsWhoHasNoGuard|TestQuestionsOfTenTasks",
		args: []string{"-hostile.every", "1"},
		bad: map[string]string{
			"off":   "a program without the guard",
			"taint": "a guard that knows no secrets",
		},
	},
	{
		name: "typed ahead",
		shows: "What a person has typed before a question is no answer to it: in run, ask and chat, one yes while the model thinks and a second yes at the first of " +
			"two questions approve nothing.",
		pkg: "./cmd/grapnel", tests: "TestWhatWasTypedBeforeAQuestionIsNoAnswer|TestTheVariantThatTakesWhatWasTypedIsFound",
		args: []string{"-typed.trials", "100"},
		bad:  map[string]string{"hasty": "a program that reads on where it was"},
	},
	{
		name:  "agents come and go",
		shows: "Agents are registered and unregistered while turns of theirs run: as often the one as the other, never within a turn, and nothing is left.",
		pkg:   "./internal/test/faults", tests: "TestAgentsComeAndGoDuringTurns",
		args:  []string{"-faults.agents", "10000"},
		noBad: "the hooks' own counts are compared",
	},
	{
		name: "laws",
		shows: "The laws of a composite hold for random sets of hooks, and one of them fails for each of some twenty mistakes in the walk over the members. The " +
			"short form makes one mistake in ten.",
		pkg: "./internal/test/laws", tests: "TestLaws1To4And11|TestLaw3BlockingDoesNotDependOnTheOrder|TestLaw5EveryAfterRunsExactlyOnce|TestLaw6GatesOneByOneCallsAtOnceResultsInOrder|" +
			"TestLaw7WhatIsApprovedRunsAndIsStored|TestLaw8EveryToolHasOneOwner|TestLaw9WhatIsAdvertisedIsWhatIsEnforced|TestLaw10HooksFollowDelegation|" +
			"TestLaw14ABlockAnswersAsItsMembersWould|TestLaw14NestedAndGroupedIsABlock|TestLawsJudgeTheWalk",
		args: []string{"-laws.rounds", "2000", "-laws.share", "1"},
		bad:  map[string]string{"mistakes": "a walk with a mistake"},
	},
	{
		name: "daemons: faults",
		shows: "Three daemons over one PostgreSQL, with a third of the default beat and TTL, are killed, ended and stopped beyond their leases; each is cut off from the database one way or both, slowed, reset, " +
			"and loses answers of commits; the database crashes and runs out of disk, and faults overlap. People talk, steer, cancel and approve through any daemon and follow through another. Nothing that was acknowledged is lost, every stream is what is stored, " +
			"a turn has one owner at a time and no effect comes twice, each job succeeds once, every turn ends, and the strict server takes every history. Turns of a dead daemon are taken over within the TTL plus one beat (95 of 100), and at most two beats later, while the database and another daemon work; " +
			"in the short form that is not judged.",
		pkg: "./internal/test/scale", tests: "TestFaults|TestOracles",
		args:  []string{"-scale.faults", "200"},
		noBad: "the gate behind it does",
	},
	{
		name:  "daemons: known to be wrong",
		shows: "What watches those daemons finds a program of which one statement is another, on its way to the database: with some four faults of the kind that shows it.",
		pkg:   "./internal/test/scale", tests: "TestFaultsFindWhoIsWrong",
		bad: map[string]string{
			"no-epoch":   "writes that ask neither for the epoch nor for what is stored",
			"no-reread":  "readers that take the newest event and not what they have not read",
			"no-witness": "nodes that are dead because the database was down",
		},
	},
	{
		name:  "daemons: known to be wrong about jobs",
		shows: "What watches those daemons finds a program that lets River complete a job without its row, when a daemon is stopped for so long that another one runs it meanwhile.",
		pkg:   "./internal/test/scale", tests: "TestFaultsFindWhoIsWrongAboutJobs",
		bad: map[string]string{
			"river-alone": "a job that River completes for a stopped daemon while another one runs it, because its row is not asked",
		},
	},
	{
		name: "daemons: throughput",
		shows: "Processes that run turns over one PostgreSQL, 256 at once altogether, take turns with pgbench, which inserts rows with a commit each. The ratio of " +
			"their writes to its commits says what the store costs on any machine; all share two processors with the database. Four processes show that nothing breaks.",
		pkg: "./internal/test/scale", tests: "TestThroughput",
		args:  []string{"-scale.rounds", "5", "-scale.long", "3s"},
		noBad: "it is a measurement",
	},
	{
		name:  "daemons: size",
		shows: "A turn beside a million stored conversations, with their messages, events and search index, takes at most 1.3 times as long as one beside ten. Turns over both databases alternate.",
		pkg:   "./internal/test/scale", tests: "TestSize",
		args: []string{"-scale.stored", "1000000", "-scale.cost", "1.3", "-scale.rounds", "5"},
		bad:  map[string]string{"no-index": "a database without the index of conversations"},
	},
	{
		name:  "analyzer",
		shows: "hookvet and hookgen find the same in every scenario of the generator, and hookvet is silent about generated code.",
		pkg:   "./gen/vet", tests: "TestSameAsHookgen|TestSilentOnGenerated",
		noBad: "the scenarios are wrong code",
	},
	{
		name:  "mutants of generated composites",
		shows: "Each mistake in the walk of a composite makes a test of the composite fail.",
		pkg:   "./internal/test/differential", tests: "TestMutantsAreKilled",
		noBad: "the mutants are",
	},
	{
		name:  "mutants of generated decoders",
		shows: "Each mistake in a generated decoder makes a test of the decoders fail.",
		pkg:   "./internal/test/schemas", tests: "TestMisreadingsAreKilled",
		noBad: "the mutants are",
	},
	{
		name:  "slow clients",
		shows: "A client that sends its body slowly may; clients that stop reading a big answer share its memory, and hold up nobody.",
		pkg:   "./internal/api", tests: "TestALongBodyMayTakeItsTime|TestStalledReadersShareABigAnswer",
		noBad: "they are measurements",
	},
	{
		name:  "nodes",
		shows: "A look at a thousand nodes takes milliseconds, and a node that was stopped beyond its lease gives up what others have taken.",
		pkg:   "./internal/nodes", tests: "TestALookAtManyNodes|TestStopped",
		noBad: "the gates about daemons have it",
	},
	{
		name:  "nodes over PostgreSQL",
		shows: "An outage of the database is no death of a node, a node that is silent before a witness is dead, and one that takes time to start is down, not gone.",
		pkg:   "./runtime/store/postgres", tests: "TestAnOutageIsNoDeath|TestANodeThatIsSilentBeforeAWitnessIsDead|TestADatabaseThatTakesTimeToSayThatItStartsIsDown",
		noBad: "the gates about daemons have it",
	},
	{
		name:  "jobs of a killed node",
		shows: "Another node takes over a job of a killed one within its TTL.",
		pkg:   "./runtime/jobs/river", tests: "TestTheJobOfAKilledNodeIsTakenOverWithinItsTTL",
		noBad: "the gates about daemons have it",
	},
	{
		name:  "commands among many directories",
		shows: "A project of many directories does not keep a command from its start.",
		pkg:   "./runtime/sandbox", tests: "TestManyDirectoriesDoNotStopCommands",
		noBad: "it is a measurement",
	},
	{
		name:  "visits of the daemon's turns",
		shows: "The average turn of 2,000 of one conversation through the daemon's composite runs no statement more often than one of 200.",
		pkg:   "./internal/test/visits", tests: "TestNothingWalksInTheDaemon",
		noBad: "TestNothingWalks finds a hook that walks",
	},
	{
		name:  "random composites",
		shows: "Whatever composite is drawn, hookgen generates what compiles and acts as the model of it says, or names the conflict.",
		pkg:   "./gen", tests: "TestRandomComposites",
		noBad: "the scenarios of gen are",
	},
	{
		name:    "features A to B",
		shows:   "Every feature of these letters in docs/features.md is shown by its tests, and these fail by an assertion when one place of the code is changed.",
		pkg:     "./cmd/grapnel",
		command: []string{"go", "run", "./internal/test/features", "-only", "^[A-B]"},
		data:    []string{".", "internal/test/features"},
		noBad:   "each row is tried on code without its feature",
	},
	{
		name:    "features C to E",
		shows:   "Every feature of these letters in docs/features.md is shown by its tests, and these fail by an assertion when one place of the code is changed.",
		pkg:     "./cmd/grapnel",
		command: []string{"go", "run", "./internal/test/features", "-only", "^[C-E]"},
		data:    []string{".", "internal/test/features"},
		noBad:   "each row is tried on code without its feature",
	},
	{
		name:    "features F to G",
		shows:   "Every feature of these letters in docs/features.md is shown by its tests, and these fail by an assertion when one place of the code is changed.",
		pkg:     "./cmd/grapnel",
		command: []string{"go", "run", "./internal/test/features", "-only", "^[F-G]"},
		data:    []string{".", "internal/test/features"},
		noBad:   "each row is tried on code without its feature",
	},
	{
		name:    "features H to J",
		shows:   "Every feature of these letters in docs/features.md is shown by its tests, and these fail by an assertion when one place of the code is changed.",
		pkg:     "./cmd/grapnel",
		command: []string{"go", "run", "./internal/test/features", "-only", "^[H-J]"},
		data:    []string{".", "internal/test/features"},
		noBad:   "each row is tried on code without its feature",
	},
	{
		name:    "features K to N",
		shows:   "Every feature of these letters in docs/features.md is shown by its tests, and these fail by an assertion when one place of the code is changed.",
		pkg:     "./cmd/grapnel",
		command: []string{"go", "run", "./internal/test/features", "-only", "^[K-N]"},
		data:    []string{".", "internal/test/features"},
		noBad:   "each row is tried on code without its feature",
	},
	{
		name:  "features: known to be wrong",
		shows: "A row of docs/features.md that shows nothing is found, whatever is wrong with it.",
		pkg:   "./internal/test/features", tests: "TestRowsThatShowNothingAreFound",
		bad: map[string]string{
			"unnoticed": "a change that no test notices",
			"broken":    "a change that does not compile",
			"panics":    "a change with which the test panics",
			"red":       "a proof that fails without a change",
			"skipped":   "a proof that is skipped",
			"absent":    "a proof that is not there",
		},
	},
	{
		name:    "SDKs of vendors",
		shows:   "The vendors' own SDKs and our adapters send the same requests and read the same answers; a generated client of docs/openapi.yaml works.",
		pkg:     "./runtime/provider/openai/counterpart",
		command: []string{"make", "counterpart"},
		also:    []string{"./runtime/provider/anthropic/counterpart", "./runtime/provider/gemini/counterpart", "./client/counterpart"},
		data:    []string{"Makefile", "docs/openapi.yaml"},
		noBad:   "a difference fails a test",
	},
	{
		name:    "peers",
		shows:   "Every subject of the benchmarks, eino and genkit among them, does its work, and wrong ones are caught; every benchmark of the module runs.",
		pkg:     "./bench",
		command: []string{"make", "bench-test"},
		noBad:   "the tests of the subjects have wrong ones",
	},
	{
		name:    "budgets",
		shows:   "Allocations, slopes and ratios are within the budgets of docs/performance.md, or a written reason says why not.",
		pkg:     "./bench",
		command: []string{"make", "bench-check"},
		noBad:   "the tests of the yardstick have a turn that walks over its history",
	},
	{
		name:    "fuzz",
		shows:   "Ten seconds of each fuzz target find nothing.",
		pkg:     "./cmd/grapnel",
		command: []string{"make", "fuzz", "FUZZTIME=10s"},
		data:    []string{"."},
		noBad:   "the targets' seeds have what was found earlier",
	},
	{
		name:    "POSIX tools only",
		shows:   "README's commands succeed for a user who has Go, make and the tools of POSIX alone, and say what did not run.",
		pkg:     "./cmd/grapnel",
		command: []string{".ci/run", "posix"},
		data:    []string{".", ".ci/run", "Makefile", "README.md"},
		noBad:   "it looks for the lines that say what is missing",
	},
}
