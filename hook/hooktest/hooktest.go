// Package hooktest is the conformance kit for hooks: it checks that a subsystem
// or a composite keeps the rules of package hook that a compiler cannot.
//
//	func TestConformance(t *testing.T) {
//		hooktest.Run(t, func(t *testing.T) hook.Hook { return notes.New(t.TempDir()) }, nil)
//	}
//
// For tests of single methods it has constructors for every place ([Turn], [Step],
// [Call], …) and for the values that a hook gets there ([Reply], [ToolOutcome], …). Its
// doubles are a host that records and answers from tables ([Recorder]), an approving
// person ([Approver]), and a clock that the test moves ([Clock]). The scripted model is
// runtime/provider/script, because only a runtime calls a model.
//
// The kit never runs a tool: it binds calls and drops them. It does not prove that a tool
// works. It calls points from several goroutines; run it with -race to find data races.
//
// The rule goroutines-end looks only for goroutines that the hook starts from OnOpen on,
// not for those of newHook.
//
// Two rules wait, points-prompt and goroutines-end. [Check] may be called in a bubble of
// testing/synctest: the waits then take no time, and a hook that never returns is found
// however busy the machine is. A hook with resources that the whole process shares, such
// as the idle connections of a default HTTP client, cannot run in one.
//
// To test a whole turn, use a runtime with a scripted model: see the example Turn.
package hooktest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Options are facts about a hook that the kit cannot find out. Nil is the zero Options.
type Options struct {
	// Agent is the configuration from which the kit builds its agents; it has the
	// sections that the hook needs. Its name is ignored.
	Agent hook.AgentConfig
	// Args are valid arguments by public tool name, for tools whose schemas are not
	// enough to make some. Nil makes all arguments from the schemas.
	Args map[string]message.JSON
	// Foreign reports whether the tool was described at run time by another program,
	// such as an MCP server. Such a schema has to be an object's, but may lack
	// descriptions and use all of JSON Schema. Nil means none.
	Foreign func(message.Tool) bool
	// Golden names the file with the hook's descriptor: type, options of its author,
	// points and tools. So a review shows a change of them. "" compares with no file.
	Golden string
	// Update writes that file instead of comparing with it. Tests set it from a flag
	// of their own: flag.Bool("update", false, "write the golden files").
	Update bool
	// Sources is the directory of the package that declares the hook, for the rule
	// generated-current; see [Generated]. "" is the working directory, which is that of
	// the package under test.
	Sources string
	// Patience is how long a point may take after its context has ended; 0 is 5 seconds,
	// of the bubble's time in a bubble of testing/synctest.
	Patience time.Duration
	// Compose returns a new composite of the kind under test, with these hooks among its
	// members, the first one outermost. The rules compose-… use it to check order, fail
	// policies and calls. Nil says that the hook is no composite, or has no field for a
	// hook.Hook.
	Compose func(members ...hook.Hook) hook.Hook
}

// Rule is one rule that every hook must keep.
type Rule struct {
	// ID names the rule in failures and as a subtest.
	ID string
	// Reason says what goes wrong if a hook breaks the rule.
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

// Check checks the rules like [Run] and returns the violations, in the order of the
// rules; nil if the hook keeps all.
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
		{"dispatch-garbage", "models send broken arguments; they need an error to correct them, and nothing may run", checkGarbage},
		{"dispatch-missing", "a model can correct only the arguments that the error names", checkMissing},
		{"dispatch-pure", "a call is bound several times and perhaps never run", checkPure},
		{"dispatch-concurrent", "different turns bind calls at the same time", checkConcurrent},
		{"agent-balanced", "an agent is registered again after it was unregistered, and others at the same time", checkBalanced},
		{"build-plain", "a hook that changes settings of agents that do not configure it breaks them", checkBuild},
		{"prompt-stable", "a prompt that changes without a cause defeats every provider's cache", checkPrompt},
		{"scope-own", "a scope that names another hook's tool narrows nothing, or the wrong thing", checkScope},
		{"preprocess-plain", "what a person typed must reach the model as it was typed", checkPreprocess},
		{"event-any", "new kinds of event appear, and a panic here is a failure in every turn", checkEvents},
		{"points-real", "the runtime calls every point that a hook claims to have", checkPoints},
		{"descriptor-stable", "a change of points or tools changes what every agent does, and has to be seen in a review", checkDescriptor},
		{"points-answer", "a hook that fails in an ordinary turn, or gives an unusable answer, ends turns", checkAnswers},
		{"points-bare", "a panic at a place with unset fields is a failure in a user's turn", checkBare},
		{"points-prompt", "a cancelled turn, and one out of time, waits for every hook that ignores its context", checkPromptly},
		{"points-concurrent", "turns of different conversations are at the same point at the same time", checkCrowd},
		{"views-unchanged", "all hooks and all concurrent turns share the values that a hook gets", checkViews},
		{"answers-own", "the caller owns the answer: it sorts it, and sets paths in it, in place", checkOwnership},
		{"turns-isolated", "state of one turn must not decide about another agent's turn", checkIsolated},
		{"contributions-valid", "a contribution that cannot be merged is dropped, with a diagnostic that nobody reads", checkContributions},
		{"fallback-ready", "a fallback takes the place of a hook that failed or still runs, so nothing takes its own place", checkFallback},
		{"values-private", "diagnostics and failures are shown to more people than the conversation", checkPrivate},
		{"open-close", "a process that fails to start closes its hooks, and a process may have several hooks of one type", checkOpenClose},
		{"goroutines-end", "a goroutine that outlives its hook uses closed resources, and nobody stops it", checkGoroutines},
		{"compose-order", "the plan that people read is the order in which members are called, at every point", checkOrder},
		{"compose-fail-policy", "the failure of one member has the effect of its fail policy, and no other", checkPolicy},
		{"compose-once", "an audit that misses a call, or sees it twice, is wrong", checkOnce},
	}
}
