package catalog

import "slices"

// Family is the rules of a group of models, as data. An adapter asks for the family of its
// request's model and follows it.
type Family struct {
	Name string `json:"name"`
	// Vendor is whose models they are; "*" is every vendor without families of its own.
	Vendor string `json:"vendor"`
	// Match are patterns of ids in which * stands for any text.
	Match []string `json:"match"`
	// From and Before limit Match to versions: from From on, and before Before; "" is no limit.
	// The version is the first number of the id with what a dot or hyphen adds to it.
	From   string `json:"from,omitzero"`
	Before string `json:"before,omitzero"`

	// Wire is which of OpenAI's wires serves agents: "chat" or "responses"; "" for other vendors.
	Wire string `json:"wire,omitzero"`
	// Reasoning is how requests control thinking.
	Reasoning Style `json:"reasoning"`
	// Efforts are the vendor's words for effort, the least first.
	Efforts []string `json:"efforts,omitzero"`
	// Off is what turns reasoning off: the word or number to send, or "omit" to send nothing;
	// "" if nothing does.
	Off string `json:"off,omitzero"`
	// DefaultOn: the model thinks if the request says nothing.
	DefaultOn bool `json:"default_on,omitzero"`
	// Budget is the range of budgets that requests may have, in tokens; zero if they may have none.
	Budget Range `json:"budget,omitzero"`
	// Budgets are the budgets to send for efforts, where there is no other word for them.
	Budgets map[string]int `json:"budgets,omitzero"`
	// Display: the vendor leaves the text of the reasoning out unless the request asks for a summary.
	Display bool `json:"display,omitzero"`
	// Bound says to what signed reasoning belongs: "model" if only the model that made it takes
	// it back, "conversation" if only behind the same messages too; "" if neither.
	Bound string `json:"bound,omitzero"`
	// Signatures: calls of tools must go back with the signature that came with them.
	Signatures bool `json:"signatures,omitzero"`

	// Sampling is when temperature and top_p may be set; a vendor that ignores them counts as
	// one that refuses them.
	Sampling When `json:"sampling,omitzero"`
	Seed     When `json:"seed,omitzero"`
	Stop     When `json:"stop,omitzero"`
	// Forced is when a tool choice may require a call.
	Forced When `json:"forced,omitzero"`
	// Prefill: the last message may be the beginning of the answer.
	Prefill bool `json:"prefill,omitzero"`
	// MidSystem: a system message may stand within the conversation.
	MidSystem bool `json:"mid_system,omitzero"`
	// MaxOutput is the limit of an answer to send if a request has none, in tokens; 0 sends none.
	MaxOutput int `json:"max_output,omitzero"`
	// Accepts are the abilities that the family's models have in common.
	Accepts []Ability `json:"accepts,omitzero"`
	// Source is where the rules are published; several are parted by semicolons.
	Source string `json:"source"`
}

// Range is from Min to Max, both included.
type Range struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// Style is how requests control reasoning.
type Style string

// The styles.
const (
	None     Style = "none"     // the model does not think
	Budget   Style = "budget"   // a number of tokens
	Adaptive Style = "adaptive" // the model decides, an effort guides it
	Effort   Style = "effort"   // an effort
	Level    Style = "level"    // a level of thinking
)

func styles() []Style { return []Style{None, Budget, Adaptive, Effort, Level} }

// When says when a request may have a setting.
type When string

// The conditions.
const (
	Always           When = ""
	Never            When = "never"
	WithoutReasoning When = "without_reasoning"
)

func conditions() []When { return []When{Always, Never, WithoutReasoning} }

// Has reports whether the models of the family have the ability.
func (f Family) Has(a Ability) bool {
	return slices.Contains(f.Accepts, a) || a == Reasoning && f.Reasoning != None
}

func (f *Family) matches(name string, v version) bool {
	if !slices.ContainsFunc(f.Match, func(pattern string) bool { return glob(pattern, name) }) {
		return false
	}
	if f.From == "" && f.Before == "" {
		return true
	}
	return v.known && (f.From == "" || !v.before(versionOf(f.From))) && (f.Before == "" || v.before(versionOf(f.Before)))
}
