package hook

import (
	"cmp"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
)

// A contribution is what a hook adds at a contributing point: each point has a type
// of its own, so that a wrong kind does not compile. Composites put what their
// members contribute one behind the other, in plan order; the runtime sorts it by
// weight, high first and plan order among equals, merges what belongs together,
// and cuts what passes the budget, with a [Diagnostic] that holds no values.

// Attached goes with a contribution of any kind. A contribution that is empty
// otherwise contributes nothing else.
type Attached struct {
	// Diagnostics are told as events.
	Diagnostics message.List[Diagnostic]
	// Jobs are queued once the turn has begun.
	Jobs message.List[Job]
}

// Diagnostic is a remark for people about something that did not go as it might
// have.
type Diagnostic struct {
	// Code names the kind of remark: one of the runtime's below, or one of the hook's
	// own, "memory.index_stale".
	Code DiagnosticCode `json:"code"`
	// Text is safe to show: it holds no values.
	Text       string     `json:"text,omitzero"`
	Visibility Visibility `json:"visibility,omitzero"`
}

// DiagnosticCode names a kind of remark, in words of small letters with dots
// between them.
type DiagnosticCode string

// Event returns the event that tells of the remark. One that is internal,
// which "" is too, is told to hooks only, and has no sequence: an operator's log
// is a hook. Debug, audit and user reach clients, who choose what they show.
func (d Diagnostic) Event() Event {
	d.Visibility = cmp.Or(d.Visibility, visibleInternal)
	return Event{Kind: kindDiagnostic, Text: d.Text}.WithDetail(EventDetail{Code: d.Code, Visibility: d.Visibility})
}

// Visibility is who may see something; "" is internal. Package event has the constants.
type Visibility string

const visibleInternal Visibility = "internal"

// visibilities are all of them, each seen by more people than the one before.
var visibilities = [...]Visibility{visibleInternal, "debug", "audit", "user"}

// Reaches reports whether something of this visibility is shown to who wants to
// see what is at least as visible as level: what is for users reaches everybody,
// what is internal only who asks for internal. What is no visibility is internal.
func (v Visibility) Reaches(level Visibility) bool { return v.rank() >= level.rank() }

func (v Visibility) rank() int { return max(0, slices.Index(visibilities[:], v)) }

// Job is work that is done apart from any turn.
type Job struct {
	// Kind names what is to be done: "memory.extract".
	Kind string `json:"kind"`
	// Key is the idempotency key: of several jobs with one kind and key, one is
	// done. It is not empty.
	Key     string       `json:"key"`
	Payload message.JSON `json:"payload,omitzero"`
}

// Policy is a named setting of one turn, "memory" "recall" "off". Of several with
// the same domain and key the one with the highest weight holds; among equals with
// different values the first, and a diagnostic says so.
type Policy struct {
	Domain, Key string
	Value       string
	// Recall is what RefineContext is to look for; of several plans that of the
	// highest weight holds. Fallback holds where there is no other.
	Recall, Fallback RecallPlan
	Weight           int
	// By is the path of who contributed it; composites set it.
	By string
	Attached
}

// From returns the policy with owner in front of its path.
func (p Policy) From(owner string) Policy { p.By = under(owner, p.By); return p }

// RecallPlan is what to look for in what was stored before.
type RecallPlan struct {
	Queries message.List[string]
	// Limit bounds the number of findings; 0 is the default of who looks.
	Limit int
	// Chars bounds their text in characters; 0 is the default of who looks.
	Chars int
}

// IsZero reports whether it is no plan.
func (p RecallPlan) IsZero() bool { return p.Queries.Len() == 0 && p.Limit == 0 && p.Chars == 0 }

// ContextBlock is something that the model is told in one turn beside the history.
type ContextBlock struct {
	// Domain and ID name the block: "memory", "notes". Of several with the same
	// names the one with the highest weight stays, but RefineContext takes the place
	// of TurnContext. Without an ID it is a block of its own.
	Domain, ID string
	Text       string
	// Chars bounds the text in characters, beside the budget of all blocks; 0 is no
	// bound.
	Chars int
	// Sources say where the text is from, for people.
	Sources message.List[string]
	Weight  int
	// By is the path of who contributed it; composites set it.
	By string
	Attached
}

// From returns the block with owner in front of its path.
func (b ContextBlock) From(owner string) ContextBlock { b.By = under(owner, b.By); return b }

// ToolChange changes the agent's tools for one turn.
type ToolChange struct {
	// ID names the bundle; of several with one id, the one with the highest weight
	// counts. "" is a bundle of its own.
	ID string
	// Hide are the public names of tools that the agent does not get.
	Hide message.List[string]
	// Add are tools that it gets beside its own, if its scope allows them. A tool
	// never takes the place of another with the same name.
	Add    message.List[AddedTool]
	Weight int
	// By is the path of who contributed it; composites set it.
	By string
	Attached
}

// AddedTool is a tool for one turn.
type AddedTool struct {
	// Tool is described under its public name.
	Tool message.Tool
	// Owner is the path of the subsystem whose Dispatch binds its calls; "" is who
	// contributed it. A tool that its owner does not take is not added: Dispatch is
	// asked once a turn, with {} as the arguments. A call then goes to the first
	// subsystem that takes it, as for every tool that is not known when agents are
	// registered.
	Owner string
}

// From returns the change with owner in front of its path.
func (c ToolChange) From(owner string) ToolChange { c.By = under(owner, c.By); return c }

// PromptSection is a part of the system prompt of one turn.
type PromptSection struct {
	// ID names the section; of several with one id, the one with the highest weight
	// stays. "" is a section of its own.
	ID string
	// Title stands above the text; "" is none.
	Title, Text string
	Weight      int
	// By is the path of who contributed it; composites set it.
	By string
	Attached
}

// From returns the section with owner in front of its path.
func (s PromptSection) From(owner string) PromptSection { s.By = under(owner, s.By); return s }

// Contributed is what the hooks have contributed to a turn so far, merged.
type Contributed struct {
	// Policies are those that hold.
	Policies message.List[Policy]
	// Recall is the plan that holds, and Fallback says that it is a policy's fallback.
	Recall   RecallPlan
	Fallback bool
	// Context are the blocks that the model gets, heaviest first.
	Context message.List[ContextBlock]
	// BlocksLeft and CharsLeft are what is left of the budget for context.
	BlocksLeft, CharsLeft int
}

// Policy returns the value of the policy that holds for domain and key.
func (c Contributed) Policy(domain, key string) (value string, ok bool) {
	for _, p := range c.Policies.All() {
		if p.Domain == domain && p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}
