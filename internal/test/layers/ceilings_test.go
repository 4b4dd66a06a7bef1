package layers

// ceiling is a figure above its limit, which may only fall: the gate fails as well where the figure has fallen and the ceiling has not.
type ceiling struct {
	max    int
	reason string
}

var ceilings = map[string]map[string]ceiling{
	"package-size": {
		"composite":               {3261, "options, recording and dispatch wait to be packages below it"},
		"composite/plan":          {2312, "check and order wait to be files of gen"},
		"internal/api":            {3664, "doors over TCP, turns and their calls, what operators ask, deletions, memories and schedules too; the bounds of bodies and answers wait to be a package below it"},
		"cmd/grapnel":             {4096, "one file per command, those of the sandbox, of undo, of tokens, of operators, of the store and of deletions too, and the flags of a server; what costs and models list waits to be in internal/inspect"},
		"internal/app":            {3863, "what a deletion and a copy reach of each subsystem, what people may type, the sandbox, vendors, spending and what a project may choose wait to be packages below it"},
		"gen/internal/model":      {2789, "tools, points and composites are read by one model"},
		"gen/internal/schema":     {2067, "every kind of input has its checks here"},
		"hook/hooktest":           {2560, "every rule of the contract for every subsystem"},
		"hook":                    {1948, "contributions and their diagnostics wait to be a package below it"},
		"runtime":                 {3638, "deletion, members that come and go, typed answers, compaction, records of runs, ephemeral conversations, sessions and jobs of members wait to be rooms"},
		"runtime/internal/loop":   {4992, "a turn and all that it does, in two loops; gates of calls and recovery wait to be rooms of their own"},
		"runtime/store/sqlite":    {2101, "every interface of stores over one file; deletion, search and jobs wait to be rooms below it"},
		"runtime/store/postgres":  {2144, "every interface of stores over one database, copies of it, and beats of many tenants as one; deletion, search and jobs wait to be rooms below it"},
		"runtime/store/storetest": {3468, "every rule of the contract of stores"},
		"subsystems/policy":       {1887, "rules, calls, files and what a sandbox confines; questions and explanations wait to be a room"},
		"subsystems/memory":       {3159, "six hooks over one file or database, with a word index for each, what deletions take out of it, what people write anew, copies, and the tenant in each statement; policy and extraction wait to be rooms below it"},
		"subsystems/mcp":          {2008, "the sandbox of servers, servers and their logs, prompts and resources of one protocol"},
	},
	"exported-names": {
		"hook":          {228, "errors with a severity, and the version of the contract; severities wait to be in hook/event"},
		"runtime/store": {108, "what a store may keep, one interface and its values each; each may become a package"},
		"client/wire":   {147, "one type for each body of the API, and the codes of its errors"},
		"runtime":       {71, "what an embedder sets, reads and is told of turns wait to be parted"},
	},
	"struct-size": {
		"hook Run":                     {17, "the id of a record, beside what an event tells of a run"},
		"composite Composite":          {22, "what is linked once and what a layer changes wait to be parted"},
		"hook EventDetail":             {18, "the fields of every kind of event"},
		"hook/hooktest scene":          {18, "one value of everything that a hook is shown"},
		"runtime/internal/loop Thread": {17, "the configuration that its place shows, which an update replaces between turns"},
		"internal/app Hooks":           {24, "one field for each subsystem"},
		"internal/app App":             {18, "what masks secrets, beside the configuration that says so"},
		"internal/app Options":         {26, "what commands and the daemon give the program"},
		"internal/api Options":         {43, "what the daemon gives its server, one by one, what people may type too"},
		"runtime Options":              {17, "the process, its leases and whether it is a node, which wait to be one"},
		"runtime Runtime":              {24, "its rooms wait to hold their own state"},
	},
	"package-variables": {
		"composite signed": {1, "the signatures of the points, found out once"},
	},
}
