package main

import "path"

const other = "bench, other harness, examples"

// areas are the rows, in their order.
var areas = []string{
	"hook", "hooktest", "composite, plan, args", "generator, vet, their harness", "runtime without stores and providers",
	"providers and their stand-ins", "stores (mem, sqlite, jsonl, kit)", "several machines", "sandbox, supervisor, proxy",
	"policy and shell", "secure, sensitive, redact, guardrail, audit, critique", "memory", "MCP", "terminal",
	"daemon, API, client", "app, command, configuration", "undo", "other subsystems", other,
}

// trees are the directories of each area; the longest one that a directory lies in counts. A new one below internal is added here,
// and none is taken out: base.json counts the old ones.
var trees = map[string][]string{
	areas[0]: {"hook"},
	areas[1]: {"hook/hooktest"},
	areas[2]: {"composite", "internal/pointdoc", "internal/test/composites", "internal/test/points"},
	areas[3]: {"gen", "cmd/hookgen", "cmd/hookvet", "internal/argrules", "internal/origin", "internal/schema", "internal/test/differential",
		"internal/test/schemas", "internal/test/sections", "testdata/golangci", "testdata/outside"},
	areas[4]: {"runtime", "internal/test/conversation", "internal/test/dialog", "internal/test/faults", "internal/test/laws"},
	areas[5]: {"runtime/provider", "internal/models", "internal/sse", "internal/test/modelbombs", "internal/test/modelfaults",
		"internal/test/recordings", "internal/test/strictwire", "internal/test/wires"},
	areas[6]: {"runtime/store/internal", "runtime/store/jsonl", "runtime/store/mem", "runtime/store/sqlite", "runtime/store/storetest",
		"internal/sqldb", "internal/sqlitedb", "internal/test/databases", "internal/test/kills", "internal/test/powercut"},
	areas[7]: {"runtime/jobs", "runtime/store/postgres", "internal/nodes", "internal/pgdb", "internal/tenant", "internal/test/leasemodel",
		"internal/test/pgtest", "internal/test/scale", "internal/test/statements"},
	areas[8]: {"runtime/sandbox", "internal/confine", "internal/jail", "internal/pathlinks", "internal/protected", "internal/supervisor",
		"internal/test/escape"},
	areas[9]: {"subsystems/policy"},
	areas[10]: {"subsystems/audit", "subsystems/critique", "subsystems/guardrail", "subsystems/secure", "internal/fence", "internal/redact",
		"internal/review", "internal/sensitive", "internal/test/hostile"},
	areas[11]: {"subsystems/memory"},
	areas[12]: {"subsystems/mcp"},
	areas[13]: {"internal/screen", "internal/stdout", "internal/term", "internal/test/tty"},
	areas[14]: {"client", "web", "internal/access", "internal/api", "internal/attach", "internal/costs", "internal/daemon", "internal/history",
		"internal/metrics", "internal/monitor", "internal/offer", "internal/peer", "internal/quota", "internal/retention", "internal/socket",
		"internal/states", "internal/transfer", "internal/view", "internal/test/inspector"},
	areas[15]: {"cmd", "internal/agentfile", "internal/aliases", "internal/app", "internal/choose", "internal/conffile", "internal/config",
		"internal/demo", "internal/explain", "internal/inspect", "internal/keys", "internal/lockedfile", "internal/privatedir",
		"internal/target", "internal/trust", "internal/yamldoc"},
	areas[16]: {"subsystems/undo", "internal/gitignore", "internal/snapshot", "internal/undo"},
	areas[17]: {"subsystems", "internal/character", "internal/estimate", "internal/format", "internal/quote", "internal/spell"},
	areas[18]: {"bench", "examples", "internal/test", "testdata"},
}

var areaByTree = func() map[string]string {
	out := map[string]string{}
	for area, dirs := range trees {
		for _, dir := range dirs {
			out[dir] = area
		}
	}
	return out
}()

// areaOf is the area of a directory, "" for none.
func areaOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if area, ok := areaByTree[dir]; ok {
			return area
		}
	}
	return ""
}
