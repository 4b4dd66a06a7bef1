package models

import (
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// Configured says whether requests to a vendor have a key; if not, the hint says what to set.
type Configured func(vendor string) (configured bool, hint string)

// List selects models that people are shown.
type List struct {
	Catalog    *catalog.Catalog
	Configured Configured
	// All: also the models of vendors without a key.
	All bool
	// Filter is a text that the models shown have in their id, name or an alias; "" is all.
	Filter string
	// Now selects the prices.
	Now time.Time
}

// ListedModel is one model of a list.
type ListedModel struct {
	// Model is the id in the program: vendor:name.
	Model   string            `json:"model"`
	Name    string            `json:"name,omitzero"`
	Aliases []string          `json:"aliases,omitzero"`
	Window  int               `json:"window,omitzero"`
	Output  int               `json:"output,omitzero"`
	Price   *catalog.Price    `json:"price"`  // of a short request now; null is unknown
	Prices  []catalog.Price   `json:"prices"` // all of them
	Accepts []catalog.Ability `json:"accepts"`
	Key     bool              `json:"key"`
	Source  string            `json:"source"`
	Date    string            `json:"date,omitzero"`
}

// ListedVendor is one vendor of a list.
type ListedVendor struct {
	Vendor string `json:"vendor"`
	Models int    `json:"models"`
	Key    bool   `json:"key"`
	Hint   string `json:"hint,omitzero"`
}

// Listed are the models that were selected, and the vendors with some.
type Listed struct {
	Date    string         `json:"date"` // up to which prices were looked up
	Models  []ListedModel  `json:"models"`
	Vendors []ListedVendor `json:"vendors"`
}

// Of returns what the list selects.
func (l List) Of() Listed {
	vendors := l.vendors()
	return Listed{l.Catalog.Date(), l.models(vendors), vendors}
}

// vendors returns the vendors with models that the filter lets through.
func (l List) vendors() []ListedVendor {
	out := []ListedVendor{}
	for _, m := range l.Catalog.All() {
		i := slices.IndexFunc(out, func(v ListedVendor) bool { return v.Vendor == m.Vendor })
		if i < 0 {
			key, hint := l.Configured(m.Vendor)
			if key {
				hint = ""
			}
			out = append(out, ListedVendor{Vendor: m.Vendor, Key: key, Hint: hint})
			i = len(out) - 1
		}
		if l.Has(m) {
			out[i].Models++
		}
	}
	return slices.DeleteFunc(out, func(v ListedVendor) bool { return v.Models == 0 })
}

func (l List) models(vendors []ListedVendor) []ListedModel {
	out := []ListedModel{}
	for _, m := range l.Catalog.All() {
		i := slices.IndexFunc(vendors, func(v ListedVendor) bool { return v.Vendor == m.Vendor })
		if i < 0 || !l.Has(m) || !vendors[i].Key && !l.All {
			continue
		}
		r := ListedModel{
			Model: m.Vendor + ":" + m.ID, Name: m.Name, Aliases: m.Aliases, Window: m.Window, Output: m.Output,
			Prices: m.Prices, Accepts: m.Accepts, Key: vendors[i].Key, Source: m.Source, Date: m.Date,
		}
		if p, known := m.PriceAt(l.Now, 0); known {
			r.Price = &p
		}
		out = append(out, r)
	}
	return out
}

// Has reports whether the filter lets the model through.
func (l List) Has(m catalog.Model) bool {
	want := strings.ToLower(l.Filter)
	return slices.ContainsFunc(append([]string{m.Vendor + ":" + m.ID, m.Name}, m.Aliases...), func(s string) bool {
		return strings.Contains(strings.ToLower(s), want)
	})
}
