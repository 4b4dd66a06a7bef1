package main

// What the rows of the table of budgets look at.
const (
	turn1   = "bench.Turn/tools=1/grapnel"
	turn64  = "bench.Turn/tools=64/grapnel"
	turn512 = "bench.Turn/tools=512/grapnel"

	handTurn1              = "runtime.Turn/limit/calls=1"
	oneCall                = "runtime.Turn/tools=1/calls=1/history=1"
	oneCall64, oneCall512  = "runtime.Turn/tools=64/calls=1/history=1", "runtime.Turn/tools=512/calls=1/history=1"
	over100, over10000     = "runtime.Turn/tools=1/calls=1/history=100", "runtime.Turn/tools=1/calls=1/history=10000"
	hooks0, hooks8, hook64 = "bench.TurnHooks/hooks=0/grapnel", "bench.TurnHooks/hooks=8/grapnel", "bench.TurnHooks/hooks=64/grapnel"
)

// budgets are the table of budgets. Counts that miss theirs have the figure up to
// which the reason explains them.
var budgets = []row{
	{what: "dispatch, 8 tools", bench: "bench.Route/tools=8/grapnel", limit: "bench.Route/tools=8/limit",
		budget: []bound{{of: moreAllocs, limit: 0}}, why: whyRoute},
	{what: "dispatch, 64 tools", bench: "bench.Route/tools=64/grapnel", limit: "bench.Route/tools=64/limit",
		budget: []bound{{of: moreAllocs, limit: 0}}, why: whyRoute},
	{what: "dispatch, 512 tools", bench: "bench.Route/tools=512/grapnel", limit: "bench.Route/tools=512/limit",
		budget: []bound{{of: moreAllocs, limit: 0}}, why: whyRoute},
	{what: "dispatch, 512 tools (against 8)", bench: "bench.Route/tools=512/grapnel", limit: "bench.Route/tools=8/grapnel",
		budget: []bound{{of: ratio, limit: 1.2}, {of: moreAllocs, limit: 0}}, why: whyRoute},
	{what: "one unused point", unmeasured: "There is nothing to measure: a composite has no entries of a point that no member has."},
	{what: "eight silent deciders, isolated", bench: "composites.EightDeciders/generated", limit: "composites.EightDeciders/limit",
		budget: []bound{{of: ratio, limit: 4}, {of: allocations, limit: 0}}, why: whyDeciders},
	{what: "three wraps of a composite", bench: "composites.ThreeWraps", budget: []bound{{of: allocations, limit: 2}}, why: whyDeciders},
	{what: "recording of hook runs, off (≤ 1.02×)", unmeasured: "There is no program without it to compare with: a member that is not recorded has a " +
		"flag in its entry, which the walk looks at in any case."},

	{what: "turn: 1 call, 1 tool", bench: oneCall, limit: handTurn1,
		budget: []bound{{of: allocations, limit: 40}}, why: whyTurn},
	{what: "turn: 64 tools (against 1)", bench: oneCall64, limit: oneCall,
		budget: []bound{{of: ratio, limit: 1.2, worst: 2}, {of: moreAllocs, limit: 0}, {of: bytesRatio, limit: 1.1}}, why: whyGrowth},
	{what: "turn: 512 tools (against 1)", bench: oneCall512, limit: oneCall,
		budget: []bound{{of: ratio, limit: 1.2, worst: 2}, {of: moreAllocs, limit: 0}, {of: bytesRatio, limit: 1.1}}, why: whyGrowth},
	{what: "turn: 64 hooks (against none)", bench: hook64, limit: hooks0, budget: []bound{{of: moreAllocs, limit: 0}}, why: whyHooks},
	{what: "turn: 8 hooks (against none)", bench: hooks8, limit: hooks0, budget: []bound{{of: moreAllocs, limit: 0}}, why: whyHooks},
	{what: "turn: history of 10,000 messages (against 100)", bench: over10000, limit: over100,
		budget: []bound{{of: ratio, limit: 1.5, worst: 2}, {of: moreAllocs, limit: 0}, {of: bytesRatio, limit: 1.5}}, why: whyGrowth},
	{what: "turn of the daemon's composite, nested, one wrap (against one subsystem)", bench: "composites.Whole/calls=1", limit: oneCall,
		budget: []bound{{of: ratio, limit: 1.5}}, why: whyTurn},

	{what: "turn, 1 tool, against the best peer", bench: turn1, limit: bestPeer, budget: []bound{{of: faster, limit: 1}}, why: whyPeers},
	{what: "turn, 64 tools, against the best peer", bench: turn64, limit: bestPeer,
		budget: []bound{{of: faster, limit: 0.91}}, why: whyPeers},
	{what: "turn, 512 tools, against the best peer", bench: turn512, limit: bestPeer,
		budget: []bound{{of: faster, limit: 1}}, why: whyPeers},
	{what: "1,000 deltas to one consumer, against the best peer", bench: "bench.Deltas/grapnel", limit: bestPeer, budget: []bound{{of: faster, limit: 1}}, why: whyDeltas},

	{what: "16 calls of 5 ms at once", bench: "composite.DispatchAll/16_x_5_ms", limit: "composite.DispatchAll/16_x_5_ms_limit",
		budget: []bound{{of: ratio, limit: 1.15}}, why: whyCalls},
	{what: "1,000 calls of 0 ms (against a conc pool)", bench: "composite.DispatchAll/DispatchAll/1000",
		limit: "composite.DispatchAll/conc_pool/1000", budget: []bound{{of: ratio, limit: 4}}, why: whyCalls},
	{what: "1,000 deltas to one consumer", bench: "runtime.Deltas/consumers=1", limit: "runtime.Deltas/limit",
		budget: []bound{{of: allocations, limit: 100}}, why: whyDeltas},
	{what: "1,000 deltas to four consumers (against one)", bench: "composites.DeltasToFour/generated", limit: "runtime.Deltas/consumers=1",
		budget: []bound{{of: ratio, limit: 4}, {of: allocations, limit: 100}}, why: whyDeltas},
	{what: "an agent with 64 shared tools and a conversation of one turn", bench: "runtime.Agents",
		budget: []bound{{of: heapPerAgent, limit: 4000}}, why: whyAgents},
	{what: "a durable turn (SQLite, full sync), 64 conversations at once", bench: "sqlite.DurableTurns/conversations=64",
		limit: "sqlite.DurableTurns/limit/conversations=64", budget: []bound{{of: turnsASecond, limit: 1000}}, why: whyDurable},
	{what: "a durable turn with one call, 64 conversations at once", bench: "sqlite.DurableCalls", budget: []bound{{of: turnsASecond, limit: 1000}}, why: whyDurable},
	{what: "a durable turn where 1,000,000 other conversations are stored (against 10)", bench: "sqlite.Stored/others=1000000",
		limit: "sqlite.Stored/others=10", budget: []bound{{of: ratio, limit: 1.2}}, why: whyDurable},
	{what: "hookgen -check, 10 packages, warm", bench: "gen.Run/10/warm", budget: []bound{{of: timeOf, limit: 200e6}}, why: whyCheck},
	{what: "hookgen -check, 100 packages, warm", bench: "gen.Run/100/warm", budget: []bound{{of: timeOf, limit: 500e6}}, why: whyCheck},
	{what: "grapnel serve to the first answered request, empty store", bench: "programs.Serve", budget: []bound{{of: timeOf, limit: 150e6}}, why: whyServe},
	{what: "an embedder's program over an empty net/http program", bench: "programs.Embedder", budget: []bound{{of: addedBytes, limit: 6e6, accepted: 7.3e6}}, why: whyEmbedder},
}
