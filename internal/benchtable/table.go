package main

// benchmark is what is run in one package.
type benchmark struct{ pkg, pattern string }

func benchmarks(routes []string) []benchmark {
	var out []benchmark
	for _, pkg := range routes {
		out = append(out, benchmark{pkg, "^BenchmarkRoute$"})
	}
	return append(out,
		benchmark{"./composite", "^BenchmarkDispatchAll$"},
		benchmark{"./composite/args", "^BenchmarkThreeFields$"},
		benchmark{"./runtime", "^Benchmark(Turn|Deltas|Agents|Register)$"},
		benchmark{"./internal/benchcomp", "^Benchmark"},
		benchmark{"./runtime/provider/openai", "^BenchmarkDecode$"},
		benchmark{"./runtime/store/sqlite", "^Benchmark(DurableTurns|DurableCalls|Stored)$"},
	)
}

// row is a line of the page.
type row struct {
	what string
	// bench is the benchmark, and limit the one that it is compared with, "" for
	// none.
	bench, limit string
	budget       []bound
	// why says why a budget is missed and what could be tried next.
	why string
}

// bound is one part of a budget: the most that a unit may be. The unit "×" is the
// time as a multiple of the limit's.
type bound struct {
	unit string
	most float64
}

const (
	ratio       = "×"
	nanoseconds = "ns/op"
	bytesPerOp  = "B/op"
	allocs      = "allocs/op"
	// heapPerAgent is what BenchmarkAgents reports.
	heapPerAgent = "heap-B/agent"
)

var rows = []row{
	{what: "dispatch, 8 tools", bench: "tools8.Route/generated", limit: "tools8.Route/limit", budget: []bound{{ratio, 1.1}}, why: whyRoute},
	{what: "dispatch, 64 tools", bench: "tools64.Route/generated", limit: "tools64.Route/limit", budget: []bound{{ratio, 1.1}}, why: whyRoute},
	{what: "dispatch, 512 tools", bench: "tools512.Route/generated", limit: "tools512.Route/limit", budget: []bound{{ratio, 1.1}}, why: whyRoute},
	{what: "eight silent deciders, isolated", bench: "benchcomp.EightDeciders/generated", limit: "benchcomp.EightDeciders/limit",
		budget: []bound{{ratio, 1.6}, {allocs, 0}}, why: whyDeciders},
	{what: "three wraps of a composite", bench: "benchcomp.ThreeWraps", budget: []bound{{allocs, 1}}, why: whyDeciders},
	{what: "arguments of three fields", bench: "args.ThreeFields/args", limit: "args.ThreeFields/by-hand-lenient"},
	{what: "turn: 1 call, 1 tool", bench: "runtime.Turn/tools=1/calls=1/history=1", limit: "runtime.Turn/limit/calls=1",
		budget: []bound{{ratio, 2.5}, {allocs, 24}}, why: whyTurn},
	{what: "bytes of that turn", bench: "runtime.Turn/tools=1/calls=1/history=1", budget: []bound{{bytesPerOp, 2200}}, why: whyBytes},
	{what: "turn: 1 call, 64 tools", bench: "runtime.Turn/tools=64/calls=1/history=1", limit: "runtime.Turn/limit/calls=1",
		budget: []bound{{ratio, 2.5}, {allocs, 24}}, why: whyTurn},
	{what: "turn: 1 call, 512 tools", bench: "runtime.Turn/tools=512/calls=1/history=1", limit: "runtime.Turn/limit/calls=1",
		budget: []bound{{ratio, 2.5}, {allocs, 24}}, why: whyTurn},
	{what: "turn: 8 calls, 1 tool", bench: "runtime.Turn/tools=1/calls=8/history=1", limit: "runtime.Turn/limit/calls=8",
		budget: []bound{{ratio, 2.5}, {allocs, 64}}, why: whyTurn},
	{what: "turn: 1 call, over 100 messages", bench: "runtime.Turn/tools=1/calls=1/history=100", limit: "runtime.Turn/limit/calls=1",
		budget: []bound{{allocs, 24}}, why: whyTurn},
	{what: "turn: 1 call, over 10,000 messages (against 100)", bench: "runtime.Turn/tools=1/calls=1/history=10000",
		limit: "runtime.Turn/tools=1/calls=1/history=100", budget: []bound{{ratio, 1.5}, {allocs, 24}}, why: whyTurn},
	{what: "turn of the daemon's composite, nested, one wrap: 1 call", bench: "benchcomp.Whole/calls=1", limit: "runtime.Turn/limit/calls=1",
		budget: []bound{{allocs, 36}}, why: whyTurn},
	{what: "bytes of that turn", bench: "benchcomp.Whole/calls=1", budget: []bound{{bytesPerOp, 3500}}, why: whyBytes},
	{what: "the same, whose cost is kept with the conversation", bench: "benchcomp.Whole/priced", limit: "runtime.Turn/limit/calls=1",
		budget: []bound{{allocs, 36}}, why: whyTurn},
	{what: "the same: 8 calls", bench: "benchcomp.Whole/calls=8", limit: "runtime.Turn/limit/calls=8", budget: []bound{{allocs, 84}}, why: whyTurn},
	{what: "1,000 deltas to one consumer", bench: "runtime.Deltas/consumers=1", limit: "runtime.Deltas/limit",
		budget: []bound{{ratio, 5}, {nanoseconds, 30_000}}, why: whyDeltas},
	{what: "1,000 deltas to four consumers", bench: "benchcomp.DeltasToFour/generated", limit: "benchcomp.DeltasToFour/limit",
		budget: []bound{{ratio, 5}}, why: whyDeltas},
	{what: "the same (against one consumer)", bench: "benchcomp.DeltasToFour/generated", limit: "runtime.Deltas/consumers=1",
		budget: []bound{{ratio, 4}}, why: whyDeltas},
	{what: "16 calls of 5 ms at once", bench: "composite.DispatchAll/16_x_5_ms", limit: "composite.DispatchAll/16_x_5_ms_limit",
		budget: []bound{{nanoseconds, 5_500_000}}, why: whyCalls},
	{what: "1,000 calls of 0 ms (against a conc pool)", bench: "composite.DispatchAll/DispatchAll/1000",
		limit: "composite.DispatchAll/conc_pool/1000", budget: []bound{{ratio, 2}}, why: whyCalls},
	{what: "an agent with 64 shared tools and a turn", bench: "runtime.Agents", budget: []bound{{heapPerAgent, 1200}}, why: whyAgents},
	{what: "registration of such an agent", bench: "runtime.Register", budget: []bound{{nanoseconds, 10_000}}, why: whyAgents},
	{what: "an OpenAI answer of 1,000 chunks", bench: "openai.Decode/grapnel", limit: "openai.Decode/limit"},
	{what: "a durable turn (SQLite), 64 conversations at once", bench: "sqlite.DurableTurns/conversations=64",
		limit: "sqlite.DurableTurns/limit/conversations=64", budget: []bound{{nanoseconds, 1_000_000}}, why: whyDurable},
	{what: "a durable turn (SQLite), one conversation", bench: "sqlite.DurableTurns/conversations=1",
		limit: "sqlite.DurableTurns/limit/conversations=1"},
	{what: "a durable turn with one call, 64 conversations at once", bench: "sqlite.DurableCalls", budget: []bound{{nanoseconds, 1_000_000}}, why: whyDurable},
	{what: "a durable turn where 1,000,000 other conversations are stored (against 10)", bench: "sqlite.Stored/others=1000000",
		limit: "sqlite.Stored/others=10", budget: []bound{{ratio, 1.2}}, why: whyDurable},
}
