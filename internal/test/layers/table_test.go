package layers

import "strings"

// layer says what the packages that match may import: a table of what is
// allowed, so that a new package needs a row and a reason.
type layer struct {
	// pkgs is a pattern: "hook" is this package, "gen/..." it and all below,
	// "subsystems/*/..." each below subsystems for itself: what one has below
	// itself is its own, its siblings are not.
	pkgs string
	// may are patterns of packages of this module, besides the package's own tree
	// for a pattern with "*".
	may []string
	// generated are patterns that generated files may import in addition.
	generated []string
	// outside are prefixes of import paths beyond the standard library; "*" is any.
	outside []string
	reason  string
}

// heavy are the libraries that only the packages named may import, whatever
// their row says.
var heavy = map[string][]string{
	"github.com/spf13/cobra":      {"cmd/grapnel"},
	"modernc.org/sqlite":          {"internal/sqlitedb", "internal/test/powercut"},
	"github.com/jackc/pgx":        {"internal/pgdb", "internal/test/pgtest"},
	"github.com/riverqueue":       {"runtime/jobs/river"},
	"github.com/dave/jennifer":    {"gen/internal/emit"},
	"mvdan.cc/sh":                 {"subsystems/policy/internal/shell"},
	"github.com/robfig/cron":      {"subsystems/schedule"},
	"golang.org/x/tools":          {"gen/internal/load", "gen/internal/scaffold", "gen/vet", "cmd/hookvet"},
	"github.com/stretchr/testify": {"internal/test/rig", "runtime/store/storetest"},
	"github.com/prometheus":       {"internal/metrics"},
}

// leaf are the packages that every layer but the contract and its kit may import:
// they import the standard library only, and there are few of them.
var leaf = []string{"internal/character", "internal/conffile", "internal/estimate", "internal/fence", "internal/format", "internal/peer", "internal/privatedir", "internal/quote", "internal/screen", "internal/spell", "internal/sqldb", "internal/sse"}

// harness is what only tests and the programs that run them import.
const harness = "internal/test/..."

// layers is read from the top; the first row that matches counts.
var layers = []layer{
	{pkgs: "hook/message", reason: "what goes to and from a model, for providers and stores that need nothing else"},
	{pkgs: "hook", may: []string{"hook/message"}, reason: "the contract: whoever implements it must get nothing else with it"},
	{pkgs: "hook/event", may: []string{"hook"}, reason: "constants of the contract, and the digest of hook runs"},
	{pkgs: "hook/point", may: []string{"hook"}, reason: "follows from the points of the contract"},
	{pkgs: "hook/hooktest", may: []string{"hook", "composite", "internal/origin"},
		reason: "used by the tests of every subsystem, also by those of other modules"},
	{pkgs: "hook/tool", may: []string{"hook", "composite", "composite/args", "internal/argrules"}, outside: []string{"github.com/google/jsonschema-go"},
		reason: "for embedders, beside the contract: whoever implements that does not get this"},
	{pkgs: "composite/plan", reason: "pure data, read by the generator and at run time"},
	{pkgs: "composite/plan/picture", may: []string{"composite/plan"},
		reason: "shows any plan, the generator's and one that was made at run time; nobody pays who does not look"},
	{pkgs: "composite/args", may: []string{"hook"}, outside: []string{"github.com/go-json-experiment/json/jsontext"}, reason: "what generated decoding calls, and nothing it does not"},
	{pkgs: "composite/guard", may: []string{"hook"}, reason: "what generated code embeds, and nobody calls"},
	{pkgs: "internal/schema", may: []string{"hook"}, outside: []string{"github.com/google/jsonschema-go"}, reason: "schemas that nobody here wrote, for those who hold values to them"},
	{pkgs: "internal/states", may: []string{"hook"}, reason: "looks at a hook once, when it is opened; nothing that is called in a turn"},
	{pkgs: "internal/view", may: []string{"hook"}, reason: "writes down what an observer is told, and reads it back: values only"},
	{pkgs: "composite", may: []string{"hook", "composite/...", "internal/view"}, outside: []string{"github.com/sourcegraph/conc"},
		reason: "linked into every program that has a composite"},
	{pkgs: "gen/internal/pointgen", may: []string{"gen/internal/directive"}, reason: "writes what the points of package hook imply; it reads them as source, because it writes a part of hook"},
	{pkgs: "gen/...", may: []string{"gen/...", "composite/plan", "composite/plan/picture", "internal/argrules", "internal/origin"},
		outside: []string{"golang.org/x/tools", "github.com/dave/jennifer", "golang.org/x/text/width"},
		reason:  "the generator reads hook and subsystems as source; linking them would make it depend on its own output"},
	{pkgs: "cmd/hookvet", may: []string{"gen/vet"}, outside: []string{"golang.org/x/tools"},
		reason: "the analyzer with the driver that go vet wants"},
	{pkgs: "cmd/hookgen", may: []string{"gen", "gen/vet", "composite/plan/picture"},
		outside: []string{"github.com/aymanbagabas/go-udiff"},
		reason:  "flags, exit codes and manuals; with hook linked in, the generator could not be built while hook's generated file is missing"},
	{pkgs: "internal/history", may: []string{"hook"}, reason: "a rule book: whoever reads or writes a history can hold it to it"},
	{pkgs: "runtime/internal/contribution", may: []string{"hook"}, reason: "how contributions are merged and cut, as functions of values"},
	{pkgs: "runtime/internal/job", may: []string{"hook", "runtime/store"}, reason: "does queued jobs over any store that keeps them"},
	{pkgs: "runtime/jobs/river", may: []string{"hook", "internal/pgdb", "runtime/internal/job", "runtime/store"}, outside: []string{"github.com/riverqueue"},
		reason: "delivers the jobs of one store by a library that nobody else links"},
	{pkgs: "runtime/internal/runlog", may: []string{"hook", "runtime/store"}, reason: "writes the records of runs and jobs to any store that keeps them"},
	{pkgs: "runtime/internal/queue", may: nil, reason: "runs what nobody waits for, in order; knows nothing of hooks"},
	{pkgs: "runtime", may: []string{"hook", "composite/...", "internal/history", "internal/states", "internal/view", "runtime/provider", "runtime/spending", "runtime/store", "runtime/store/mem", "runtime/internal/..."},
		outside: []string{"github.com/oklog/ulid", "github.com/sourcegraph/conc"},
		reason:  "the embedder's package: one hook and nothing of any subsystem, database or command line"},
	{pkgs: "runtime/internal/human", may: []string{"hook"}, reason: "what waits for a person, whoever asks and however people are reached"},
	{pkgs: "runtime/internal/abandoned", reason: "counts what nobody waits for any more; knows nothing of hooks and tools"},
	{pkgs: "runtime/internal/bound", may: []string{"hook"}, reason: "cuts results and arguments to a size, as functions of values"},
	{pkgs: "runtime/internal/keyed", reason: "locks by name, for exclusive tools and for agents that are looked for"},
	{pkgs: "runtime/internal/toolrun", may: []string{"hook", "composite", "runtime/internal/abandoned", "runtime/internal/keyed"}, outside: []string{"github.com/sourcegraph/conc"},
		reason: "runs tool calls without a runtime: its tests need none"},
	{pkgs: "runtime/spending", may: []string{"hook", "runtime/provider", "runtime/store"}, reason: "what model calls cost and may cost; knows no turn and no subsystem, so that any store and any prices do"},
	{pkgs: "runtime/provider", may: []string{"hook"}, reason: "an interface that adapters outside implement"},
	{pkgs: "runtime/provider/providertest/...", may: []string{"hook", "runtime/provider", "runtime/provider/providertest/..."},
		reason: "used by the tests of every adapter, also by those of other modules"},
	{pkgs: "runtime/provider/catalog", may: []string{"hook/message"}, reason: "data about models, for adapters and for programs: whoever reads it links no library"},
	{pkgs: "runtime/provider/internal/wire", may: []string{"hook", "runtime/provider"}, outside: []string{"github.com/go-json-experiment/json"},
		reason: "what adapters share: one request, its events, and every fault of both"},
	{pkgs: "runtime/provider/openai/internal/answer", may: []string{"hook", "runtime/provider", "runtime/provider/internal/wire"}, outside: []string{"github.com/go-json-experiment/json"},
		reason: "reads the streams of two wires; it knows no requests and no options"},
	{pkgs: "runtime/provider/openai", may: []string{"hook", "runtime/provider", "runtime/provider/catalog", "runtime/provider/internal/wire", "runtime/provider/openai/internal/..."},
		reason: "two wires of one vendor over net/http: no vendor's library"},
	{pkgs: "runtime/provider/script", may: []string{"hook", "runtime/provider", "runtime/provider/catalog", "runtime/provider/internal/...", "internal/yamldoc"},
		outside: []string{"go.yaml.in/yaml"}, reason: "a model that is a YAML file"},
	{pkgs: "runtime/provider/...", may: []string{"hook", "runtime/provider", "runtime/provider/catalog", "runtime/provider/internal/...", "internal/yamldoc"},
		outside: []string{"github.com/go-json-experiment/json"}, reason: "one adapter per package, over net/http: no vendor's library"},
	{pkgs: "runtime/store", may: []string{"hook"}, reason: "an interface that stores outside implement"},
	{pkgs: "runtime/internal/durable", may: []string{"hook", "internal/history", "runtime/store", "runtime/internal/stream"}, outside: []string{"github.com/sourcegraph/conc"},
		reason: "leases, what was read, and the journal: knows no turn"},
	{pkgs: "runtime/internal/failure", may: []string{"hook"}, reason: "failures of what composites return"},
	{pkgs: "runtime/internal/scope", may: []string{"hook", "composite", "composite/plan", "runtime/internal/abandoned", "runtime/internal/contribution", "runtime/internal/failure"},
		reason: "what an agent may use; knows no turn"},
	{pkgs: "runtime/internal/given", may: []string{"hook", "internal/schema"}, reason: "tools that a caller gives one turn: those of its client hold to schemas that nobody here wrote"},
	{pkgs: "runtime/internal/loop", may: []string{"hook", "composite", "composite/plan", "internal/history", "runtime/provider", "runtime/spending", "runtime/store", "runtime/internal/..."},
		reason: "runs turns; knows no registry of agents and no queue of a conversation"},
	{pkgs: "runtime/internal/planning", may: []string{"hook/message"}, reason: "the plan of a turn and its phases: knows no turn and asks no model"},
	{pkgs: "runtime/internal/drive", may: []string{"hook"}, reason: "a goroutine that its owner can abandon; knows no turn"},
	{pkgs: "runtime/internal/stream", may: []string{"runtime/internal/bound", "hook", "composite", "runtime/store"}, reason: "events: numbered, delivered, kept and followed; knows no turn"},
	{pkgs: "runtime/store/internal/codec", may: []string{"hook", "runtime/store"}, outside: []string{"github.com/go-json-experiment/json"},
		reason: "messages as JSON, once for every store and every file"},
	{pkgs: "runtime/store/jsonl", may: []string{"hook", "internal/history", "runtime/store", "runtime/store/internal/codec"}, outside: []string{"github.com/go-json-experiment/json"},
		reason: "a file format over any store"},
	{pkgs: "runtime/store/internal/search", may: []string{"hook"},
		reason: "what may be found and shown is one decision for every store"},
	{pkgs: "runtime/store/sqlite", may: []string{"hook", "runtime/store/...", "internal/sqlitedb", "internal/tenant"}, outside: []string{"*"},
		reason: "the one store that brings a database"},
	{pkgs: "runtime/store/postgres/internal/index", may: []string{"hook", "runtime/store/internal/search"}, outside: []string{"golang.org/x/text/unicode/norm"},
		reason: "words and scores, as functions of values; it knows no database"},
	{pkgs: "runtime/store/postgres/internal/rounds", reason: "calls of many tenants as one; it knows no database"},
	{pkgs: "runtime/store/postgres/internal/statement", may: []string{"hook", "runtime/store", "runtime/store/internal/codec", "runtime/store/postgres/internal/index"},
		reason: "texts and arguments of statements, as functions of values; it knows no connection"},
	{pkgs: "runtime/store/postgres", may: []string{"hook", "runtime/store/...", "internal/pgdb"}, outside: []string{"github.com/go-json-experiment/json/jsontext", "github.com/oklog/ulid"},
		reason: "the store that several daemons share"},
	{pkgs: "runtime/store/...", may: []string{"hook", "runtime/store", "runtime/store/internal/search", "internal/tenant"}, outside: []string{"github.com/stretchr/testify", "github.com/oklog/ulid"},
		reason: "small stores and the test that all of them pass"},
	{pkgs: "subsystems/*/...", may: []string{"internal/snapshot", "internal/undo", "hook", "composite/args", "internal/offer", "internal/protected", "internal/review", "internal/schema", "internal/sensitive", "internal/sqlitedb", "internal/supervisor", "internal/yamldoc", "runtime/sandbox"}, generated: []string{"composite/..."},
		outside: []string{"*"},
		reason:  "a subsystem can be taken out or used alone: it knows the contract and its own field, never another one or the runtime"},
	{pkgs: "internal/aliases", reason: "a dictionary: names, and nothing that they name"},
	{pkgs: "internal/pointdoc", may: []string{"hook", "composite/plan", "composite/plan/picture", "internal/aliases"}, reason: "for tests: writes the manual of the points"},
	{pkgs: "internal/argrules", reason: "what a struct of arguments may have, for the generator and for hook/tool"},
	{pkgs: "internal/offer", may: []string{"hook/message"}, reason: "one way to narrow the tools of a request, for skills and for the toolbox"},
	{pkgs: "internal/fence", reason: "one reading of what models put around JSON, for subsystems and loops"},
	{pkgs: "internal/estimate", reason: "one estimate of tokens, for models, histories and prompts"},
	{pkgs: "internal/attach", may: []string{"hook/message"}, reason: "one answer to what a file is that a person gives to a model"},
	{pkgs: "internal/format", reason: "what a format of JSON Schema means, for the generator and the decoder"},
	{pkgs: "internal/character", reason: "one answer to where a text may be cut, for results and for contributions"},
	{pkgs: "internal/quote", reason: "one way to write a string of JSON, for requests and for results"},
	{pkgs: "internal/screen", reason: "one way to a person's terminal, for everything that writes to one"},
	{pkgs: "internal/screen/screentest", reason: "for tests"},
	{pkgs: "internal/origin", reason: "what generated code says of its sources, for the generator and for the kit, whose users get nothing else with it"},
	{pkgs: "internal/sse", reason: "one reading of server-sent events, for models and for the daemon's clients"},
	{pkgs: "internal/stdout", outside: []string{"golang.org/x/sys/unix"}, reason: "one answer to an output that nobody reads, below package screen"},
	{pkgs: "internal/protected", reason: "which files run code outside of a sandbox, once for commands and for tools; it knows names, and no files"},
	{pkgs: "internal/spell", reason: "one answer to a mistyped word, for every message"},
	{pkgs: "internal/pgdb/documents", may: []string{"internal/pgdb", "internal/access"}, reason: "what files of the state directory hold elsewhere; it knows no subsystem"},
	{pkgs: "internal/pgdb", outside: []string{"github.com/jackc/pgx", "golang.org/x/sys/unix"}, reason: "how this module opens PostgreSQL, once"},
	{pkgs: "internal/sqldb", reason: "what a subsystem needs of a database; it opens none"},
	{pkgs: "internal/sqlitedb", outside: []string{"modernc.org/sqlite"}, reason: "how this module opens SQLite, once"},
	{pkgs: "internal/supervisor", may: []string{"internal/jail", "internal/supervisor/internal/child"}, outside: []string{"golang.org/x/sys/unix"},
		reason: "starts commands for every subsystem and for embedders"},
	{pkgs: "internal/supervisor/internal/child", may: []string{"internal/jail"}, outside: []string{"golang.org/x/sys/unix"},
		reason: "its process starts for each command in a sandbox, before heavier packages are initialised"},
	{pkgs: "internal/confine", may: []string{"internal/screen", "internal/term", "internal/term/console", "runtime/sandbox"},
		reason: "one command in the sandbox, for a person"},
	{pkgs: "internal/pathlinks", reason: "the way of a path through links, for the sandbox and for keys"},
	{pkgs: "runtime/sandbox/...", may: []string{"internal/jail", "internal/pathlinks", "internal/privatedir", "internal/protected", "internal/supervisor", "runtime/sandbox/..."},
		outside: []string{"golang.org/x/sys", "golang.org/x/net/bpf", "github.com/elastic/go-seccomp-bpf", "github.com/gofrs/flock"},
		reason:  "confines the processes of every subsystem and of embedders; it knows no hooks"},
	{pkgs: "internal/jail", outside: []string{"golang.org/x/sys/unix"}, reason: "what a process does to itself before the command in it starts"},
	{pkgs: "internal/conffile", reason: "one bounded way to read what configures the program, for every layer"},
	{pkgs: "internal/peer", reason: "one answer to who is at the other end of a socket, for the daemon and its clients"},
	{pkgs: "internal/privatedir", reason: "one check of who can get at a directory, for the socket and for the state"},
	{pkgs: "internal/yamldoc", outside: []string{"go.yaml.in/yaml"}, reason: "one bounded way to read YAML and frontmatter: agents, skills, scripts"},
	{pkgs: "internal/agentfile", may: []string{"hook", "internal/yamldoc"}, outside: []string{"go.yaml.in/yaml", "github.com/google/jsonschema-go"},
		reason: "a file format, and whether a schema in it is one"},
	{pkgs: "internal/term", may: []string{"hook", "subsystems/approval", "internal/term/edit"}, outside: []string{"github.com/mattn/go-isatty", "github.com/aymanbagabas/go-udiff"},
		reason: "shows what happens, and asks the person who sees it"},
	{pkgs: "internal/term/edit", outside: []string{"golang.org/x/sys/unix", "golang.org/x/term", "golang.org/x/text/width"},
		reason: "a line that a person types; it knows nothing of agents"},
	{pkgs: "internal/term/console", may: []string{"hook", "internal/stdout", "internal/term", "internal/term/edit"},
		reason: "what a command writes and asks; it knows no command"},
	{pkgs: "internal/term/talk", may: []string{"hook", "internal/attach"},
		reason: "what a chat asks of what runs its conversations; it knows neither the program nor a daemon"},
	{pkgs: "internal/term/remote", may: []string{"hook", "client/wire", "client", "internal/term", "internal/term/talk"},
		reason: "shows what a daemon does; a client must not bring the server with it"},
	{pkgs: "internal/term/chat", may: []string{"hook", "runtime", "runtime/store", "internal/..."}, outside: []string{"github.com/oklog/ulid"},
		reason: "a conversation at the terminal over the daemon's parts"},
	{pkgs: "internal/test/databases", may: []string{"internal/pgdb", "internal/test/pgtest"}, reason: "for tests: a database of this program's schema"},
	{pkgs: "internal/test/composites", may: []string{"hook", "internal/app"}, generated: []string{"composite/...", "subsystems/...", "internal/term"},
		reason: "for benchmarks: composites as the generator writes them"},
	{pkgs: "internal/test/dialog", may: []string{"hook", "runtime"}, reason: "for tests"},
	{pkgs: "internal/test/differential", may: []string{"hook", "composite", "internal/test/points"}, generated: []string{"composite/..."}, reason: "for tests"},
	{pkgs: "internal/test/escape/...", may: []string{"internal/test/tty"}, outside: []string{"go.yaml.in/yaml", "golang.org/x/sys/unix"},
		reason: "for tests of the sandbox; its attacker is a program that makes system calls"},
	{pkgs: "internal/test/features", may: []string{"internal/test/mutants"}, reason: "runs proofs and changes of the sources; it knows what it tests by its path"},
	{pkgs: "internal/test/pgtest", may: []string{"internal/test/needs"}, outside: []string{"github.com/jackc/pgx"}, reason: "for tests: a real PostgreSQL"},
	{pkgs: "internal/test/powercut", outside: []string{"modernc.org/sqlite", "modernc.org/libc"}, reason: "for tests: it stands between SQLite and the files"},
	{pkgs: "internal/test/recordings", may: []string{"hook", "runtime/provider"}, outside: []string{"github.com/go-json-experiment/json/jsontext"}, reason: "for tests of adapters"},
	{pkgs: "internal/test/recordings/trim", may: []string{"internal/test/recordings"}, outside: []string{"go.yaml.in/yaml"}, reason: "writes the recordings; run by hand"},
	{pkgs: "internal/test/rig", may: []string{"hook", "composite", "composite/plan", "internal/redact", "internal/test/dialog", "runtime", "runtime/provider", "runtime/store", "runtime/store/mem", "runtime/store/sqlite", "subsystems/delegate"},
		outside: []string{"github.com/stretchr/testify"}, reason: "for tests of the runtime: worlds, models and hooks that are played"},
	{pkgs: "internal/test/strictwire", may: []string{"hook", "runtime/provider", "runtime/provider/openai", "internal/test/strictwire/internal/..."}, reason: "for tests and evidence"},
	{pkgs: "internal/test/strictwire/internal/...", may: []string{"hook", "runtime/provider", "internal/test/strictwire/internal/..."},
		reason: "strict servers of one vendor each; they share JSON, rules and signatures, and know no adapter"},
	{pkgs: "internal/test/wires", may: []string{"hook", "runtime/provider", "runtime/provider/providertest"},
		reason: "for tests: what the vendors' servers say, without the adapters"},
	{pkgs: "internal/test/tty", outside: []string{"golang.org/x/sys/unix", "golang.org/x/text/width"}, reason: "for tests"},
	{pkgs: "internal/test/...", may: []string{"hook", "internal/test/needs", "internal/test/points"}, generated: []string{"composite/..."}, reason: "for tests; only they and each other import these"},
	{pkgs: "internal/models", may: []string{"hook", "runtime/provider", "runtime/provider/catalog", "runtime/provider/anthropic", "runtime/provider/gemini", "runtime/provider/openai", "runtime/provider/script", "internal/keys"},
		reason: "which provider a model's name means; the one list of them"},
	{pkgs: "internal/keys", may: []string{"internal/supervisor"}, outside: []string{"github.com/zalando/go-keyring"}, reason: "where a key comes from; it knows no vendor"},
	{pkgs: "internal/config", may: []string{"hook", "internal/agentfile", "internal/keys", "internal/yamldoc"}, outside: []string{"go.yaml.in/yaml"},
		reason: "a file format: the user's settings; it opens no vendor"},
	{pkgs: "internal/lockedfile", outside: []string{"github.com/gofrs/flock"}, reason: "a small file that several processes change"},
	{pkgs: "internal/gitignore", outside: []string{"github.com/bmatcuk/doublestar"}, reason: "what a .gitignore file excludes, as a function of its text"},
	{pkgs: "internal/snapshot", may: []string{"internal/gitignore"}, outside: []string{"github.com/gofrs/flock", "github.com/oklog/ulid", "golang.org/x/sys/unix"},
		reason: "keeps states of a directory and puts them back; it knows no hook"},
	{pkgs: "internal/undo", may: []string{"internal/lockedfile", "internal/protected", "internal/snapshot"}, outside: []string{"github.com/oklog/ulid"},
		reason: "which snapshots belong to which turn; it knows turns by their ids, and no hook"},
	{pkgs: "internal/retention", may: []string{"hook", "runtime/store", "internal/lockedfile"},
		reason: "in which order a deletion goes through which places; it knows no place but the store of conversations"},
	{pkgs: "internal/trust", may: []string{"internal/lockedfile"}, reason: "asks for what a project wants; it knows no subsystem"},
	{pkgs: "internal/daemon", may: []string{"hook", "runtime", "internal/access", "internal/app", "internal/api", "internal/explain", "internal/metrics", "internal/monitor", "internal/nodes", "internal/nodes/internode", "internal/pathlinks", "internal/socket", "client/wire", "client", "internal/lockedfile", "internal/quota", "internal/retention", "internal/tenant", "runtime/store", "subsystems/memory", "subsystems/schedule"},
		reason: "serves the program: internal/app behind internal/api; what people do with memories and schedules too"},
	{pkgs: "internal/app", may: []string{"hook", "composite", "composite/plan", "composite/plan/picture", "runtime/...", "subsystems/...", "internal/..."}, generated: []string{"composite/..."},
		outside: []string{"github.com/gofrs/flock", "github.com/oklog/ulid"},
		reason:  "the one place where subsystems and runtime meet"},
	{pkgs: "client/wire", may: []string{"hook"}, reason: "what a client and the server share, and no more: one type for each body"},
	{pkgs: "internal/transfer", may: []string{"internal/app", "internal/pgdb", "internal/pgdb/documents", "internal/sqldb", "internal/tenant", "runtime/jobs/river", "runtime/store"},
		reason: "moves all that the program keeps from one place to another; it knows no command"},
	{pkgs: "internal/tenant", reason: "names of tenants, for whoever makes them and whoever reads them"},
	{pkgs: "internal/quota", may: []string{"hook/message", "runtime/spending", "internal/tenant"}, reason: "what a tenant may use, whoever serves it; it knows no network and no program"},
	{pkgs: "internal/access", may: []string{"internal/conffile", "internal/lockedfile", "internal/tenant"}, outside: []string{"golang.org/x/time/rate"},
		reason: "who may send a request, and what they may do; it knows no operation"},
	{pkgs: "internal/socket", reason: "a unix socket of one user; it knows no server"},
	{pkgs: "internal/nodes", may: []string{"runtime/store"}, reason: "who of several daemons lives and where a conversation runs; it knows no network"},
	{pkgs: "internal/nodes/internode", may: []string{"runtime/store"}, reason: "carries requests between nodes; it knows none of them"},
	{pkgs: "internal/nodes/dispatch", may: []string{"runtime/store", "internal/nodes", "internal/nodes/internode", "internal/tenant"}, reason: "which node answers a request; it knows no operation of the API"},
	{pkgs: "internal/monitor", may: []string{"hook", "runtime/store", "client/wire"},
		reason: "what the people who run a daemon see of it; it knows no network"},
	{pkgs: "internal/metrics", may: []string{"hook", "client/wire", "internal/monitor"}, outside: []string{"github.com/prometheus/client_golang"},
		reason: "counts for Prometheus, with its library; it knows no server and no runtime"},
	{pkgs: "internal/api", may: []string{"hook", "composite/plan", "composite/plan/picture", "runtime", "runtime/store", "runtime/store/jsonl", "subsystems/approval", "client/wire", "internal/access", "internal/api/...", "internal/attach", "internal/costs", "internal/monitor", "internal/nodes/...", "internal/schema", "internal/tenant", "internal/undo", "web"},
		outside: []string{"github.com/go-json-experiment/json", "github.com/oklog/ulid"},
		reason:  "serves any runtime: what is composed in it is internal/app's business"},
	{pkgs: "internal/api/internal/streams", may: []string{"hook", "runtime", "runtime/store", "client/wire", "internal/monitor", "internal/nodes/..."},
		reason: "what clients read of events, from whichever node has them"},
	{pkgs: "internal/api/internal/turnlog", may: []string{"hook", "runtime", "client/wire"}, reason: "the turns of a conversation, made of its events; it knows no network"},
	{pkgs: "web", reason: "the files of the inspector; it knows no operation of the API that they call"},
	{pkgs: "internal/api/internal/waiting", may: []string{"hook", "runtime", "client/wire"}, reason: "what turns wait for, as clients see it"},
	{pkgs: "client", may: []string{"hook", "composite/plan", "client/wire"},
		reason: "a client must not bring the server with it"},
	{pkgs: "internal/target", may: []string{"client"},
		reason: "which daemon the flags of a command name, and with which token; it knows no command"},
	{pkgs: "internal/explain", may: []string{"hook", "client/wire", "composite/plan", "runtime/store", "internal/term"},
		reason: "works on what any store has kept, over any plan"},
	{pkgs: "internal/choose", may: []string{"hook", "internal/agentfile", "internal/app", "internal/models", "internal/term"}, reason: "how a person says which model answers; it knows no command"},
	{pkgs: "internal/review", may: []string{"hook", "internal/fence"}, reason: "asks a model for a verdict, through any host"},
	{pkgs: "internal/redact", may: []string{"hook", "internal/sensitive", "runtime/store"}, reason: "masks what leaves the process, for any program; it knows no turn"},
	{pkgs: "internal/sensitive", reason: "finds secrets and personal data in texts; it knows nothing of agents"},
	{pkgs: "internal/costs", may: []string{"hook", "runtime/store"}, reason: "adds up what models have cost, for people and programs; it reads no store"},
	{pkgs: "internal/inspect", may: []string{"hook", "runtime/store", "subsystems/approval", "client/wire", "internal/app", "internal/costs", "internal/models", "internal/term", "internal/term/console", "internal/term/edit", "runtime/provider/catalog"}, reason: "what a project configures and its daemon does, for people and programs; it knows no command"},
	{pkgs: "internal/demo", may: []string{"hook", "runtime/...", "internal/..."}, outside: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/oklog/ulid"},
		reason: "drives the daemon's parts as a user would"},
	{pkgs: "cmd/grapnel", may: []string{"client", "client/wire", "hook", "runtime", "runtime/jobs/river", "runtime/sandbox", "runtime/store", "runtime/provider/catalog", "composite/plan/picture", "subsystems/approval", "subsystems/audit", "subsystems/memory", "subsystems/schedule", "internal/..."}, outside: []string{"github.com/spf13/cobra", "github.com/oklog/ulid"},
		reason: "the command line over internal/app and internal/daemon"},
	{pkgs: "examples/models/...", may: []string{"hook", "runtime/provider", "runtime/provider/anthropic", "runtime/provider/gemini", "runtime/provider/openai"},
		reason: "a program for each vendor, with the vendor's adapter alone"},
	{pkgs: "examples/remote", may: []string{"hook", "client"},
		reason: "what a program outside this module can do with the client alone"},
	{pkgs: "examples/*/...", may: []string{"hook", "runtime", "runtime/provider/script"}, generated: []string{"composite/..."},
		reason: "what a program outside this module can do, with the standard library"},
}

// allowed are the exceptions from a rule, by place, each with its reason.
var allowed = map[string]map[string]string{
	"conffile": {
		"internal/snapshot/entry.go os.Open":                            "a list that this package wrote, with a bound",
		"internal/snapshot/object.go os.Open":                           "an object of the store, and a directory, to link into it",
		"internal/snapshot/restore.go os.Open":                          "the journal of the store, with a bound, and a directory, to link from it",
		"internal/sqlitedb/create.go os.Open":                           "a directory, to sync it",
		"internal/sqlitedb/held.go os.Open":                             "the first 108 bytes of a regular file",
		"internal/supervisor/ended_linux.go os.ReadFile":                "what the kernel says of a process",
		"runtime/sandbox/internal/guard/names.go os.ReadFile":           "a regular file of bounded size",
		"runtime/sandbox/watched.go os.Open":                            "what this package wrote, with a bound",
		"runtime/sandbox/probe_linux.go os.ReadFile":                    "settings of the kernel",
		"internal/supervisor/internal/child/child_linux.go os.ReadFile": "what the kernel says of a process",
		"subsystems/approval/sync_unix.go os.Open":                      "a directory, to sync it",
	},
	"no-options": {},
	"no-init": {
		"internal/supervisor/internal/child/child_unix.go": "the supervisor of commands is this program again, and must not run its main function",
	},
	"terminal": {
		"cmd/grapnel/main.go main":                                   "gives the program what package screen writes to",
		"internal/term/gate.go Write":                                "lies below package screen: it holds back what was made safe already",
		"internal/term/gate.go Open":                                 "lies below package screen",
		"internal/supervisor/internal/child/child_unix.go init":      "runs before main and says in its own words why it cannot",
		"internal/supervisor/internal/child/jail_linux.go enterJail": "runs before main and says in its own words why it cannot",
	},
	"trimpath": {
		"gen/loading_test.go": "one test is about paths that are not trimmed, as most users have them: it compiles the contract alone",
	},
	"leaves": {
		"internal/api runtime/store/jsonl":     "exports branches in this format",
		"internal/daemon subsystems/memory":    "lists and changes memories for clients",
		"internal/daemon subsystems/schedule":  "lists and removes schedules for clients",
		"internal/term subsystems/approval":    "shows requests for approval",
		"internal/inspect subsystems/approval": "lists the answers that are remembered",
		"runtime runtime/store/mem":            "the store of who gives none",
	},
	"goleak": {
		"internal/test/rig":                  "runs inside the tests of the runtime, which wait for what it starts",
		"runtime/store/storetest":            "runs inside the tests of each store and waits there for what it starts",
		"internal/api/internal/streams":      "runs inside the tests of internal/api and waits for what it starts",
		"internal/confine":                   "runs inside the tests of the command line",
		"internal/supervisor/internal/child": "is another process; its goroutines end with it",
	},
}

// matches reports whether the pattern covers the package.
func matches(pattern, pkg string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		if root, each := strings.CutSuffix(tree, "/*"); each {
			return strings.HasPrefix(pkg, root+"/")
		}
		return pkg == tree || strings.HasPrefix(pkg, tree+"/")
	}
	return pkg == pattern
}

// own reports whether to lies in the tree of the one package under a pattern
// with "*" that from belongs to.
func (l layer) own(from, to string) bool {
	root, each := strings.CutSuffix(l.pkgs, "/*/...")
	if !each {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(from, root+"/"), "/")
	tree := root + "/" + name
	return to == tree || strings.HasPrefix(to, tree+"/")
}

func layerOf(pkg string) (layer, bool) {
	for _, l := range layers {
		if matches(l.pkgs, pkg) {
			return l, true
		}
	}
	return layer{}, false
}
