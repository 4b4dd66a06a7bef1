package catalog

import (
	"slices"
	"time"
)

// Model is what is known about one model. A zero value is unknown, never zero.
type Model struct {
	// Vendor is the vendor's name in model ids of the program: anthropic, openai, gemini.
	Vendor string `json:"vendor"`
	// ID is the name that requests have.
	ID string `json:"id"`
	// Aliases are further names that the vendor takes for it.
	Aliases []string `json:"aliases,omitzero"`
	// Name is for people.
	Name string `json:"name,omitzero"`
	// Window is how many tokens a request and its answer may have together.
	Window int `json:"window,omitzero"`
	// Output is how many tokens one answer may have.
	Output int `json:"output,omitzero"`
	// Prices are what it costs; PriceAt selects one. None is an unknown price.
	Prices []Price `json:"prices,omitzero"`
	// Accepts are the abilities of the model and its family.
	Accepts []Ability `json:"accepts,omitzero"`
	// Source is where the facts are published; several are parted by semicolons.
	Source string `json:"source"`
	// Date is the day of the source, as in 2026-11-25; "" for the user's own file.
	Date string `json:"date,omitzero"`
}

// Price is in US dollars per million tokens.
type Price struct {
	// From is the first day (UTC) of the price, as in 2026-12-01; "" is always.
	From string `json:"from,omitzero"`
	// Above limits the price to requests with more tokens of input than this, cached ones
	// included. It then holds for all tokens of the request.
	Above  int64   `json:"above,omitzero"`
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CacheRead and CacheWrite are for input from the cache and to it; nil costs as Input does.
	CacheRead  *float64 `json:"cache_read,omitzero"`
	CacheWrite *float64 `json:"cache_write,omitzero"`
}

// PriceAt returns the price of a request at that time with so many tokens of input, cached ones
// included; false if the price is unknown.
func (m Model) PriceAt(at time.Time, input int64) (Price, bool) {
	day := at.UTC().Format(time.DateOnly)
	best, known := Price{}, false
	for _, p := range m.Prices {
		if p.From > day || p.Above > 0 && input <= p.Above {
			continue
		}
		if !known || p.From > best.From || p.From == best.From && p.Above > best.Above {
			best, known = p, true
		}
	}
	return best, known
}

// Has reports whether the model has the ability.
func (m Model) Has(a Ability) bool { return slices.Contains(m.Accepts, a) }

// Ability is something that a model can take or do.
type Ability string

// The abilities.
const (
	Tools      Ability = "tools"      // calls of tools
	Images     Ability = "images"     // images in messages
	Documents  Ability = "documents"  // PDF documents in messages
	Audio      Ability = "audio"      // recordings in messages
	Reasoning  Ability = "reasoning"  // thinks before it answers
	Structured Ability = "structured" // answers that fit a JSON Schema
)

func abilities() []Ability { return []Ability{Tools, Images, Documents, Audio, Reasoning, Structured} }
