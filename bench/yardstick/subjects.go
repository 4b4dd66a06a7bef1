package main

import "slices"

// subject is one way to do the work of a scenario.
type subject struct {
	name string
	// module is that of a peer, "" for what is written here.
	module string
	// what it is.
	what string
	// more and less say what a peer does that Grapnel does not do, and the other
	// way round; the comments of the packages in bench/peers say more.
	more, less string
}

var subjects = []subject{
	{name: "grapnel", what: "this framework, with generated code, events, panic isolation, scope and timings on"},
	{name: "limit", what: "the same work written by hand for the one case, without a framework"},
	{name: "limit-codec", what: "the same with a codec written by hand for the one type instead of encoding/json"},
	{name: "switch", what: "a switch over the names that says who owns a tool"},
	{name: "map", what: "a map from name to owner"},
	{name: "walk", what: "asks every owner in turn for its list of tools"},
	{name: "direct", what: "eight method calls in a row"},
	{name: "interface", what: "eight calls through an interface"},
	{name: "closures", what: "a chain of closures that is built once"},
	{name: "closures-per-call", what: "a chain of closures that is built for each call"},
	{name: "context-chain", what: "handlers that each put a value into the context"},
	{name: "hookgen", what: "this framework's generator, from a tree in which nothing of it is"},
	{name: "hookgen-check", what: "the same where all is up to date, which is compared"},
	{name: "eino", module: "github.com/cloudwego/eino", what: "its typed tools, utils.InferTool, without an agent"},
	{name: "eino-react", module: "github.com/cloudwego/eino", what: "flow/agent/react, a graph that is compiled once", more: einoMore, less: einoLess},
	{name: "eino-adk", module: "github.com/cloudwego/eino", what: "adk.ChatModelAgent with its Runner",
		more: "What eino-react does; and it compiles its graph anew for every run, tells every message as an event through two queues and a goroutine of " +
			"its own, keeps them in a session, and can hand over to other agents.",
		less: "What eino-react does not."},
	{name: "genkit", module: "github.com/firebase/genkit/go", what: "genkit.Generate with tools of genkit.DefineTool, outside of its development mode",
		more: "Every call of the model or a tool is an action: its input and output are encoded, decoded, validated against a JSON schema that is compiled anew each " +
			"time, and encoded again for the log and for a span of OpenTelemetry, which nobody exports here. Requests and answers are copied and counted.",
		less: "It keeps no conversation; an error of a tool ends the turn and a panic of one the process; nothing can be put around a call of a tool."},
	{name: "langchaingo", module: "github.com/tmc/langchaingo", what: "agents.OpenAIFunctionsAgent with an agents.Executor",
		more: "Prompts are templates with the functions of sprig, parsed and run before each call of the model; the list of functions is built anew each time.",
		less: "A tool takes and returns text, without types, a schema of its own or a check; calls run one after the other; callbacks can neither change nor stop " +
			"anything; its memory keeps the question and the last answer as one text, and is only there where history is shown or many conversations are kept."},
	{name: "mcp-go-sdk", module: "github.com/modelcontextprotocol/go-sdk", what: "a typed tool behind its transport in memory",
		more: "Every call is also a request and a response of JSON-RPC between two goroutines; schemas are checked on both sides, and the answer is sent as text and as JSON."},
	{name: "mcp-go", module: "github.com/mark3labs/mcp-go", what: "its typed handler, called without a client",
		more: "It makes of an answer both text and a value.", less: "It does not validate; calls do not pass the protocol."},
	{name: "openai-go", module: "github.com/openai/openai-go/v3", what: "OpenAI's own SDK",
		more: "It decodes every field of a chunk, keeps the text of each beside its value, and accepts fields that it does not know."},
	{name: "goverter", module: "github.com/jmattheis/goverter", what: "a generator of converters"},
	{name: "moq", module: "github.com/matryer/moq", what: "a generator of test doubles"},
	{name: "stringer", module: "golang.org/x/tools", what: "a generator of String methods"},
}

const (
	einoMore = "A turn is a run of a graph with state, branches and merging; every component takes and gives streams, which are converted, copied and " +
		"concatenated where they meet; a run can be interrupted in any node or tool and resumed from a checkpoint; callbacks are looked up at every node."
	einoLess = "It keeps no conversation; has no scopes; checks arguments against no schema; knows nobody who may deny a call; sums no usage; gives no sequence to " +
		"what it tells; and a tool's error ends the turn."
)

// agents are the peers that run whole turns.
var agents = []string{"eino-react", "eino-adk", "genkit", "langchaingo"}

func isPeer(name string) bool {
	i := slices.IndexFunc(subjects, func(s subject) bool { return s.name == name })
	return i >= 0 && subjects[i].module != ""
}

func isOurs(name string) bool { return name == "grapnel" || name == "hookgen" }

// modules are those of the peers that were measured, each once, and the first one
// is our own.
func (r *Results) modules() []string {
	all := []string{"github.com/grapnel-go/grapnel"}
	for _, s := range subjects {
		if s.module != "" && r.measured(s.name) && !slices.Contains(all, s.module) {
			all = append(all, s.module)
		}
	}
	return all
}

// missingPeers are those that the module proxy did not serve.
var missingPeers = []struct{ name, tried string }{
	{"Google's agent development kit", "google.golang.org/adk"},
	{"trpc-agent-go", "trpc.group/trpc-go/trpc-agent-go and github.com/trpc-group/trpc-agent-go"},
	{"goa-ai", "goa.design/goa-ai"},
	{"fantasy", "charm.land/fantasy"},
}

// scenario is one kind of work.
type scenario struct {
	name, title string
	// what is done, and what a figure includes.
	what string
	// peers are those that are expected to do it.
	peers []string
	// unit is what the figure of a subject is, "" for the time of one operation;
	// column what it is called; with rate, more is better.
	unit, column string
	rate         bool
	// outside means that the work is done by other processes, so that allocations
	// and bytes say nothing.
	outside bool
}

var scenarios = []scenario{
	{name: "Route", title: "Route a call by name", what: "One call to a tool in the middle of the list. `switch`, `map` and `walk` only say who owns it. `grapnel` " +
		"is the composite's Dispatch, which also decodes and validates the arguments; `limit` is that decoding alone, called by hand, so that " +
		"`grapnel` less `limit` is what the route costs."},
	{name: "Call", title: "One tool call", peers: []string{"eino", "genkit", "langchaingo", "mcp-go-sdk", "mcp-go"},
		what: "Arguments as JSON in, the typed tool called, its result as the model gets it. No model and no turn around it."},
	{name: "HooksAlone", title: "Eight hooks without an opinion",
		what: "What eight hooks cost that say nothing, around a call, without a turn."},
	{name: "Turn", title: "A turn with one tool call", peers: agents,
		what: "From the user's message to the final answer: the model is asked, calls one tool, is asked again and answers. The model is in the " +
			"process and takes no time. The tools are registered beforehand; one of them is called."},
	{name: "TurnCalls", title: "A turn with eight tool calls", peers: agents, what: "As before, but the model asks for eight calls at once."},
	{name: "TurnHistory", title: "A turn over a long history", peers: agents,
		what: "As the turn with one call, in a conversation that has so many messages already, which the model is shown."},
	{name: "TurnHooks", title: "A turn with many hooks", peers: agents,
		what: "As the turn with one call, with so many hooks that each act before and after every model call and tool call, and do nothing."},
	{name: "Wait", title: "Sixteen calls that wait 5 ms", peers: agents, what: "All calls of one step can wait at the same time: 5 ms is the least, 80 ms is one after the other."},
	{name: "Step", title: "1,000 calls in one step", peers: agents, what: "The calls take no time; what is measured is how a framework runs them."},
	{name: "Deltas", title: "1,000 text deltas to a consumer", peers: agents, what: "The model streams 1,000 pieces of text, and each gets to a consumer."},
	{name: "Schema", title: "The schema of ten fields", peers: []string{"eino", "genkit", "mcp-go-sdk", "mcp-go"},
		what: "The JSON schema of a tool's input, from a Go struct of ten fields. Grapnel's generator has written it as a constant."},
	{name: "Agents", title: "10,000 agents with 64 shared tools", peers: agents, unit: "heap-B/agent", column: "memory of an agent",
		what: "Agents that share their tools are registered, each has a conversation of one turn, and all stay. Allocations and bytes are those of all 10,000."},
	{name: "Stream", title: "An answer of 1,000 chunks from the wire", peers: []string{"openai-go", "langchaingo"}, unit: "ns/chunk", column: "time of a chunk",
		what: "The server-sent events of an OpenAI-compatible answer are read and decoded; there is no network, the bytes are in memory. The figure is for one chunk."},
	{name: "Concurrent", title: "64 conversations at once", peers: agents, unit: "turns/s", column: "turns a second", rate: true,
		what: "Each conversation runs one turn after the other. In memory, and in SQLite with a sync of the disk behind each write."},
	{name: "Generate", title: "Generators", peers: []string{"goverter", "moq", "stringer"}, outside: true,
		what: "Each generator writes what it is for, for the same packages, from a tree in which nothing of it is; hookgen writes schemas, decoding, dispatch and " +
			"wiring. A generator is a process, and `cpu-ms/op` its processor time with that of the go command that it runs. Caches are warm."},
}
