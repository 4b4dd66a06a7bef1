package hook

import (
	"cmp"
	"slices"

	"github.com/grapnel-go/grapnel/hook/message"
)

// A contribution is a value that a hook adds at a contributing point. Each point has a type
// of its own, so that a wrong kind does not compile. Composites concatenate the
// contributions of their members in plan order. The runtime sorts them by weight, high first
// and plan order among equals, merges those with one id, and cuts those beyond the budget,
// with a [Diagnostic] that holds no values.

// Fallback is optional for a hook that contributes. Its contributions take the place of those
// that failed or were late.
//
// Fallback is called after the failure of one of the hook's contributing points, if the fail
// policy there is open, and only the contributions of that point count. The failure is reported
// as without a Fallback. The values must be ready: Fallback has no context and does no I/O.
// After a late hook it takes no lock that the hook holds, because the hook still runs. For
// the same turn it returns the same values. The composite waits for it for at most a second;
// if it panics or is late, that is reported too, and the turn continues without the
// contributions. The caller does not change the slices. A composite needs none, because the
// fallbacks of its members count.
type Fallback interface {
	Fallback(turn *Turn) Contributions
}

// Contributions has contributions by the name of their point.
type Contributions struct {
	TurnPolicy                 []Policy
	TurnContext, RefineContext []ContextBlock
	TurnTools                  []ToolChange
	PromptSections             []PromptSection
}

// Attached is part of every contribution. A contribution may have nothing else.
type Attached struct {
	// Diagnostics are emitted as events.
	Diagnostics message.List[Diagnostic]
	// Jobs are queued once the turn has begun.
	Jobs message.List[Job]
}

// Diagnostic is a warning or note for people.
type Diagnostic struct {
	// Code is one of the runtime's, see package event, or one of the hook's own,
	// "memory.index_stale".
	Code DiagnosticCode `json:"code"`
	// Text is safe to show: it holds no values.
	Text       string     `json:"text,omitzero"`
	Visibility Visibility `json:"visibility,omitzero"`
}

// DiagnosticCode names a kind of diagnostic, in lower-case words separated by dots.
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

// Reaches reports whether a client that asks for level gets something of this visibility:
// user reaches every level, internal only the level internal. An unknown visibility counts
// as internal.
func (v Visibility) Reaches(level Visibility) bool { return v.rank() >= level.rank() }

func (v Visibility) rank() int { return max(0, slices.Index(visibilities[:], v)) }

// Job is work that the runtime does outside of turns.
type Job struct {
	// Kind names the work: "memory.extract".
	Kind string `json:"kind"`
	// Key is the idempotency key: of several jobs with one kind and key, the runtime
	// does one. It is not empty.
	Key     string       `json:"key"`
	Payload message.JSON `json:"payload,omitzero"`
	// Version is that of the payload, from 1. 0 is the version of the kind's handler in the
	// process that queues the job, or 1 if it has none.
	Version int `json:"version,omitzero"`
}

// Policy is a named setting of one turn, "memory" "recall" "off". Of several with
// the same domain and key the one with the highest weight wins; among equals with
// different values the first wins, and a diagnostic says so.
type Policy struct {
	Domain, Key string
	Value       string
	// Recall tells RefineContext what to search for. Of several plans the one with the
	// highest weight wins; a Fallback counts only if no policy has a Recall.
	Recall, Fallback RecallPlan
	Weight           int
	// By is the path of the contributor; composites set it.
	By string
	Attached
}

// From returns the policy with owner in front of its path.
func (p Policy) From(owner string) Policy { p.By = under(owner, p.By); return p }

// RecallPlan is a search in a subsystem's stored knowledge.
type RecallPlan struct {
	Queries message.List[string]
	// Limit bounds the number of findings; 0 is the subsystem's default.
	Limit int
	// Chars bounds their text in characters; 0 is the subsystem's default.
	Chars int
}

// IsZero reports whether it is no plan.
func (p RecallPlan) IsZero() bool { return p.Queries.Len() == 0 && p.Limit == 0 && p.Chars == 0 }

// ContextBlock is text that the model gets in one turn, in addition to the history.
type ContextBlock struct {
	// Domain and ID name the block: "memory", "notes". Of several with the same
	// names the one with the highest weight stays, but a block of RefineContext
	// replaces one of TurnContext. A block without an ID is never replaced.
	Domain, ID string
	Text       string
	// Chars bounds the text in characters, in addition to the budget of all blocks;
	// 0 is no bound.
	Chars int
	// Trust is the weakest label of what the text was made of; "" is external.
	Trust message.Trust
	// Sources say where the text is from, for people.
	Sources message.List[string]
	Weight  int
	// By is the path of the contributor; composites set it.
	By string
	Attached
}

// From returns the block with owner in front of its path.
func (b ContextBlock) From(owner string) ContextBlock { b.By = under(owner, b.By); return b }

// ToolChange changes the agent's tools for one turn.
type ToolChange struct {
	// ID names the bundle; of several with one id, the one with the highest weight
	// counts. A bundle without an ID always counts.
	ID string
	// Hide are the public names of tools that the agent does not get.
	Hide message.List[string]
	// Add are additional tools, if the agent's scope allows them. An added tool never
	// replaces another with the same name.
	Add    message.List[AddedTool]
	Weight int
	// By is the path of the contributor; composites set it.
	By string
	Attached
}

// AddedTool is a tool for one turn.
type AddedTool struct {
	// Tool is described under its public name.
	Tool message.Tool
	// Owner is the path of the subsystem whose Dispatch binds its calls; "" is the
	// contributor. A tool whose owner does not bind it is not added: Dispatch is
	// called once a turn to find out, with {} as the arguments. A call then goes to
	// the first subsystem whose Dispatch binds it, as for every tool that is not
	// known when agents are registered.
	Owner string
}

// From returns the change with owner in front of its path.
func (c ToolChange) From(owner string) ToolChange { c.By = under(owner, c.By); return c }

// PromptSection is a part of the system prompt of one turn.
type PromptSection struct {
	// ID names the section; of several with one id, the one with the highest weight
	// stays. Sections without an ID never replace each other.
	ID string
	// Title is the heading of the text; "" is none.
	Title, Text string
	Weight      int
	// By is the path of the contributor; composites set it.
	By string
	Attached
}

// From returns the section with owner in front of its path.
func (s PromptSection) From(owner string) PromptSection { s.By = under(owner, s.By); return s }

// Contributed holds the merged contributions of all hooks to a turn so far.
type Contributed struct {
	// Policies has the winner for each domain and key.
	Policies message.List[Policy]
	// Recall is the winning plan; Fallback says that it is a policy's fallback.
	Recall   RecallPlan
	Fallback bool
	// Context are the blocks that the model gets, heaviest first.
	Context message.List[ContextBlock]
	// BlocksLeft and CharsLeft are the rest of the budget for context.
	BlocksLeft, CharsLeft int
	// Tools are those that the model gets in this turn; nil before PromptSections.
	Tools *message.ToolSet
}

// Policy returns the value of the winning policy for domain and key.
func (c Contributed) Policy(domain, key string) (value string, ok bool) {
	for _, p := range c.Policies.All() {
		if p.Domain == domain && p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}
