package message

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// Model says which model answers a request, and how. Zero values are the provider's
// defaults. An adapter refuses settings that its model does not have before it makes the
// request, and says what would work. The JSON form is that of agent files and of the API.
type Model struct {
	// Name is the model id.
	Name string `json:"name,omitzero"`
	// MaxTokens bounds one answer, in tokens; it is not negative.
	MaxTokens int `json:"max_tokens,omitzero"`
	// ContextWindow is how many tokens a request and its answer may have together; 0 is
	// unknown. It is not sent: hooks keep a conversation within it.
	ContextWindow int `json:"context_window,omitzero"`
	// Temperature and TopP control sampling: from 0 on, as the vendor defines them.
	Temperature Optional[float64] `json:"temperature,omitzero"`
	TopP        Optional[float64] `json:"top_p,omitzero"`
	// Seed asks for the same answer to the same request, as far as the vendor can.
	Seed Optional[int64] `json:"seed,omitzero"`
	// Reasoning says how much the model may think.
	Reasoning Reasoning `json:"reasoning,omitzero"`
	// Stop are texts that end the answer; they are not part of it.
	Stop   List[string]   `json:"stop,omitzero"`
	Choice ToolChoice     `json:"tool_choice,omitzero"`
	Format ResponseFormat `json:"format,omitzero"`
	// Tier is the vendor's service tier, in its own words: "flex", "priority".
	Tier string `json:"service_tier,omitzero"`
	// Extra is a JSON object whose members are added to the request as they are, for what
	// only one vendor has. It must not have members that the adapter writes itself.
	Extra JSON `json:"extra,omitzero"`
}

// Merge returns m overridden by over. A zero value in over leaves that of m.
func (m Model) Merge(over Model) Model {
	m.Name = cmp.Or(over.Name, m.Name)
	m.MaxTokens = cmp.Or(over.MaxTokens, m.MaxTokens)
	m.ContextWindow = cmp.Or(over.ContextWindow, m.ContextWindow)
	m.Temperature = cmp.Or(over.Temperature, m.Temperature)
	m.TopP = cmp.Or(over.TopP, m.TopP)
	m.Seed = cmp.Or(over.Seed, m.Seed)
	m.Reasoning = cmp.Or(over.Reasoning, m.Reasoning)
	if over.Stop.Len() > 0 {
		m.Stop = over.Stop
	}
	m.Choice = cmp.Or(over.Choice, m.Choice)
	m.Format = cmp.Or(over.Format, m.Format)
	m.Tier = cmp.Or(over.Tier, m.Tier)
	m.Extra = cmp.Or(over.Extra, m.Extra)
	return m
}

// For returns m for the model with that name: m itself, or, if m is for another model, m
// without what does not go over to another one: ContextWindow, Tier and Extra.
func (m Model) For(name string) Model {
	if m.Name != name && m.Name != "" {
		m.ContextWindow, m.Tier, m.Extra = 0, "", ""
	}
	m.Name = name
	return m
}

// IsZero reports whether nothing is set; it makes omitzero work.
func (m Model) IsZero() bool {
	return m.Stop.Len() == 0 && m.MaxTokens == 0 && m.ContextWindow == 0 &&
		m.Temperature == Optional[float64]{} && m.TopP == Optional[float64]{} && m.Seed == Optional[int64]{} &&
		m.Reasoning == Reasoning{} && m.Choice == ToolChoice{} && m.Format == ResponseFormat{} &&
		m.Name == "" && m.Tier == "" && m.Extra == ""
}

// Optional is a value, or none if Set is false: the zero Optional is none. In JSON it is
// the value, or null.
type Optional[T comparable] struct {
	Value T
	Set   bool
}

// Some returns an Optional with the value.
func Some[T comparable](v T) Optional[T] { return Optional[T]{Value: v, Set: true} }

// MarshalJSON writes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Set {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads the value, or null.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	*o = Optional[T]{}
	if string(data) == "null" {
		return nil
	}
	o.Set = true
	return json.Unmarshal(data, &o.Value)
}

// Effort says in words how much a model thinks before it answers.
type Effort string

// The efforts. "" is the provider's default.
const (
	EffortOff    Effort = "off" // no reasoning; not every model can do without
	EffortLow    Effort = "low"
	EffortMedium Effort = "medium"
	EffortHigh   Effort = "high"
)

// Reasoning says how much a model may think: an effort, or a budget. The zero value is the
// provider's default. In JSON it is the effort, or the budget as a number.
type Reasoning struct {
	Effort Effort
	// Budget is a number of tokens for thinking; above 0 it counts instead of Effort.
	Budget int
}

// MarshalJSON writes the budget, or the effort.
func (r Reasoning) MarshalJSON() ([]byte, error) {
	if r.Budget > 0 {
		return json.Marshal(r.Budget)
	}
	return json.Marshal(r.Effort)
}

// UnmarshalJSON reads an effort, or a number of tokens.
func (r *Reasoning) UnmarshalJSON(data []byte) error {
	*r = Reasoning{}
	if json.Unmarshal(data, &r.Budget) == nil && r.Budget > 0 {
		return nil
	}
	r.Budget = 0
	if err := json.Unmarshal(data, &r.Effort); err != nil || !r.Effort.known() {
		return fmt.Errorf("reasoning is %s; write off, low, medium, high or a number of tokens", data)
	}
	return nil
}

func (e Effort) known() bool {
	switch e {
	case "", EffortOff, EffortLow, EffortMedium, EffortHigh:
		return true
	}
	return false
}
