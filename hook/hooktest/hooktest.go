// Package hooktest is the conformance kit for hooks: it checks that a subsystem
// or a composite keeps the rules of package hook that a compiler cannot.
//
//	func TestConformance(t *testing.T) {
//		hooktest.Run(t, func(t *testing.T) hook.Hook { return notes.New(t.TempDir()) }, nil)
//	}
//
// It also has constructors for every place that a hook can be asked at ([Turn],
// [Step], [Call], …) and for the values that it is shown there ([Reply],
// [ToolOutcome], …), for tests of single methods; a host that records and answers
// from tables ([Recorder]), a person who does ([Approver]), and a clock that the
// test moves ([Clock]). The scripted model is runtime/provider/script, because
// only a runtime asks one.
//
// The kit never runs a tool: it binds calls and drops them. It is no proof that
// a tool does what it says. It calls points from several goroutines, and sees of
// data races what the race detector sees: run it with -race.
//
// What newHook starts itself is not looked for by the rule goroutines-end, only
// what the hook starts from OnOpen on.
//
// The kit waits in two rules, points-prompt and goroutines-end. [Check] may be called
// in a bubble of testing/synctest: the waits then take no time, and a hook that never
// returns is found however busy the machine is. A hook that keeps what the whole
// process shares, such as the idle connections of a default HTTP client, cannot be in
// one.
//
// A whole turn is played by a runtime with a scripted model: see the example Turn.
package hooktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Options say what the kit cannot know of a hook. Nil is the zero Options.
type Options struct {
	// Agent is the configuration that the agents of the kit are built from; it
	// carries the sections that the hook wants. Its name is ignored.
	Agent hook.AgentConfig
	// Args are valid arguments by public tool name, for tools whose schema does
	// not tell enough to make some. Nil makes all of them from the schemas.
	Args map[string]message.JSON
	// Foreign reports whether somebody else described the tool at run time (an
	// MCP server, for instance). Such a schema has to be an object's, but may
	// lack descriptions and use all of JSON Schema. Nil means none.
	Foreign func(message.Tool) bool
	// Golden names the file that holds the hook's descriptor: type, options of its
	// author, points and tools. A change of them then shows in a review. "" compares
	// with no file.
	Golden string
	// Update writes that file instead of comparing with it. Tests set it from a flag
	// of their own: flag.Bool("update", false, "write the golden files").
	Update bool
	// Sources is the directory of the package that declares the hook, for the rule
	// generated-current; see [Generated]. "" is the working directory, which is that of
	// the package under test.
	Sources string
	// Patience is how long a point may take whose context has ended; 0 is 5 seconds, of
	// the bubble's time in a bubble of testing/synctest.
	Patience time.Duration
	// Compose returns a new composite of the kind that is checked, with these hooks
	// as its members or among them, the first one outermost. It makes the rules
	// compose-… look at order, fail policies and who is called; nil says that the hook
	// is no composite, or has no field for a hook.Hook.
	Compose func(members ...hook.Hook) hook.Hook
}

// Rule is one thing that every hook must keep.
type Rule struct {
	// ID names the rule in failures and as a subtest.
	ID string
	// Reason is what breaks where the rule is broken.
	Reason string

	check func(p *probe)
}

// Violation is one finding of the kit.
type Violation struct {
	// Rule is the id of the broken rule; Reason is the rule's.
	Rule, Reason string
	// Found is what the hook did, in one line.
	Found string
}

// String returns the violation as Run prints it.
func (v Violation) String() string {
	return fmt.Sprintf("rule %s: %s\n\twhy it matters: %s", v.Rule, v.Found, v.Reason)
}

// Run checks the rules, each in a subtest with a fresh hook or several. newHook
// is called once for each; it registers what must be released with t.Cleanup,
// except for what OnClose releases: the kit calls OnOpen and OnClose itself. A
// nil hook counts as [hook.Nop]. A nil o is the zero Options.
func Run(t *testing.T, newHook func(t *testing.T) hook.Hook, o *Options) {
	t.Helper()
	for _, r := range Rules() {
		t.Run(r.ID, func(t *testing.T) {
			found := r.apply(t.Context(), func() hook.Hook { return newHook(t) }, o)
			for _, v := range found {
				t.Error(v)
			}
		})
	}
}

// Check checks the rules as [Run] does and returns what it finds, in the order
// of the rules; nothing means that all are kept.
func Check(ctx context.Context, newHook func() hook.Hook, o *Options) []Violation {
	var all []Violation
	for _, r := range Rules() {
		all = append(all, r.apply(ctx, newHook, o)...)
	}
	return all
}

// Rules returns the rules in the order in which they are checked.
func Rules() []Rule {
	return []Rule{
		{"generated-current", "code that was generated from other sources offers tools that are gone, lacks new ones and describes them wrongly", checkGenerated},
		{"lifecycle", "a hook that cannot be opened, registered, unregistered and closed serves no agent", checkLifecycle},
		{"tool-names", "providers refuse a request with a bad or repeated tool name", checkNames},
		{"schema-valid", "providers refuse a request whose tool schema is not JSON Schema of an object", checkValid},
		{"schema-subset", "providers differ in what else they accept; an open schema lets a model invent arguments", checkSubset},
		{"schema-described", "a model reads descriptions, and nothing else, to choose a tool and its arguments", checkDescribed},
		{"dispatch-own", "a tool that is advertised but cannot be called fails in front of the user", checkOwn},
		{"dispatch-foreign", "a hook that takes calls it does not own steals them from their owner", checkForeign},
		{"dispatch-canonical", "guards, approval, audit and tool must see the same bytes", checkCanonical},
		{"dispatch-garbage", "models send broken arguments; they need an error to mend, and nothing may run", checkGarbage},
		{"dispatch-missing", "a model can only mend what the error names", checkMissing},
		{"dispatch-pure", "a call is bound several times and perhaps never run", checkPure},
		{"dispatch-concurrent", "different turns bind calls at the same time", checkConcurrent},
		{"agent-balanced", "an agent is registered again after it was unregistered, and others beside it", checkBalanced},
		{"build-plain", "a hook that changes what it was not asked to breaks agents which never heard of it", checkBuild},
		{"prompt-stable", "a prompt that changes without a cause defeats every provider's cache", checkPrompt},
		{"scope-own", "a scope that names another hook's tool narrows nothing, or the wrong thing", checkScope},
		{"preprocess-plain", "what a person typed must reach the model as it was typed", checkPreprocess},
		{"event-any", "new kinds of event appear, and a panic here is a failure in every turn", checkEvents},
		{"points-real", "the runtime calls every point that a hook claims to have", checkPoints},
		{"descriptor-stable", "a change of points or tools changes what every agent does, and has to be seen in a review", checkDescriptor},
		{"points-answer", "an own failure where nothing is out of the ordinary, or an answer that cannot be used, ends turns", checkAnswers},
		{"points-bare", "a panic at a place of which little is known is a failure in somebody's turn", checkBare},
		{"points-prompt", "who cancels a turn, or whose time is over, waits for every hook that does not notice", checkPromptly},
		{"points-concurrent", "turns of different conversations are at the same point at the same time", checkCrowd},
		{"views-unchanged", "what a hook is shown is shared with all others, and with turns that run beside", checkViews},
		{"answers-own", "an answer is the caller's: it is put in order, and given a path, in place", checkOwnership},
		{"turns-isolated", "what one turn leaves behind must not decide about another agent's", checkIsolated},
		{"contributions-valid", "a contribution that cannot be merged is dropped, with a diagnostic that nobody reads", checkContributions},
		{"values-private", "diagnostics and failures are shown to more people than the conversation", checkPrivate},
		{"open-close", "a process that fails to start closes what it has, and several hooks of a kind live beside each other", checkOpenClose},
		{"goroutines-end", "a goroutine that outlives its hook works on what is closed, and nobody stops it", checkGoroutines},
		{"compose-order", "the plan that people read is the order in which members are called, at every point", checkOrder},
		{"compose-fail-policy", "the failure of one member has the effect that its fail policy says, and no other", checkPolicy},
		{"compose-once", "an audit that is not asked, or asked twice, is wrong", checkOnce},
	}
}
