package layers

// ceiling is a figure above its limit, which may only fall: the gate fails as well where the figure has fallen and the ceiling has not.
// A ceiling that is new or rises names in its line the issue that says so: "…; issue: NAME" (TestLimitsOnlyFall).
type ceiling struct {
	max    int
	reason string
}

// undone is the reason of tests that are older than the limit.
const undone = "these wait for a clock or a seed of their own, or for make prove"

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
	"struct-fields": {
		"composite Composite":                          {60, "its sets of hooks, one field for each point, wait to be a table"},
		"composite parallelRun":                        {24, "a run of hooks at the same time, and the run within it"},
		"composite run":                                {23, "what every kind of run needs waits to be parted by kind"},
		"internal/api Options":                         {43, "what the daemon gives its server waits to be interfaces of one noun each"},
		"internal/api/internal/streams streamer":       {21, "a subscription and where it stands"},
		"internal/app Hooks":                           {24, "one field for each subsystem"},
		"internal/app Options":                         {26, "what commands and the daemon give the program"},
		"internal/app assembly":                        {26, "what is built one after the other"},
		"internal/app membership":                      {23, "what a daemon has as one of several"},
		"runtime Runtime":                              {24, "its rooms wait to hold their own state"},
		"runtime/internal/loop Turn":                   {86, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/loop contributing":           {90, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/loop successor":              {88, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/loop turnState":              {70, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/scope Hooks":                 {61, "a composite and the agent's place in it"},
		"runtime/provider/anthropic encoder":           {23, "a request waits to be parted from how it is written"},
		"runtime/provider/openai/internal/answer chat": {21, "what both wires keep of an answer is embedded"},
	},
	"methods": {
		"client Client":                      {70, "one method for each call of the API"},
		"cmd/grapnel command":                {145, "commands wait to be types of their own"},
		"composite Composite":                {84, "one method for each point"},
		"gen/internal/model Model":           {123, "the readers of tools, points and composites wait to be types"},
		"internal/api Server":                {139, "handlers wait to be one type for each noun"},
		"internal/app App":                   {86, "what the app does for commands and for the daemon waits to be parted"},
		"runtime Runtime":                    {100, "its rooms wait to have their own methods"},
		"runtime/internal/loop Turn":         {244, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/loop contributing": {251, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/loop successor":    {260, "the parts of a turn wait to be types that do not know each other"},
		"runtime/internal/scope Hooks":       {96, "those of the composite are promoted"},
		"runtime/store/mem Store":            {64, "every interface of stores on one type"},
		"runtime/store/postgres Store":       {77, "every interface of stores on one type"},
		"runtime/store/sqlite Store":         {70, "every interface of stores on one type"},
	},
	"chance": {
		"cmd/grapnel":                   {4, undone},
		"composite":                     {7, undone},
		"gen":                           {2, undone},
		"internal/access":               {3, undone},
		"internal/api":                  {4, undone},
		"internal/app":                  {2, undone},
		"internal/daemon":               {2, undone},
		"internal/models":               {1, undone},
		"internal/nodes":                {2, undone},
		"internal/pgdb":                 {2, undone},
		"internal/pgdb/documents":       {1, undone},
		"internal/sqlitedb":             {1, undone},
		"internal/supervisor":           {1, undone},
		"internal/test/faults":          {7, undone},
		"internal/test/inspector":       {8, undone},
		"internal/test/kills":           {11, undone},
		"internal/test/laws":            {4, undone},
		"internal/test/modelbombs":      {2, undone},
		"internal/test/pgtest":          {1, undone},
		"internal/test/powercut":        {11, undone},
		"internal/test/scale":           {6, undone},
		"runtime/internal/human":        {3, undone},
		"runtime/internal/job":          {1, undone},
		"runtime/internal/runlog":       {1, undone},
		"runtime/internal/spec/agents":  {1, undone}, // moved from runtime, issue: CI in twenty minutes
		"runtime/internal/spec/calls":   {1, undone}, // moved from runtime, issue: CI in twenty minutes
		"runtime/internal/spec/models":  {3, undone}, // moved from runtime, issue: CI in twenty minutes
		"runtime/internal/spec/turns":   {5, undone}, // moved from runtime, issue: CI in twenty minutes
		"runtime/internal/toolrun":      {2, undone},
		"runtime/jobs/river":            {2, undone},
		"runtime/provider/openai":       {1, undone},
		"runtime/provider/providertest": {1, undone},
		"runtime/sandbox":               {5, undone},
		"runtime/store/postgres":        {13, undone},
		"subsystems/fallback":           {3, undone},
		"subsystems/mcp":                {5, undone},
		"subsystems/memory":             {1, undone},
		"subsystems/ostools":            {1, undone},
	},
	"package-variables": {
		"composite signed": {1, "the signatures of the points, found out once"},
	},
}
