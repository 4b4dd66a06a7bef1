package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// Configured says whether requests to a vendor have a key; if not, the hint says what to set.
type Configured func(vendor string) (configured bool, hint string)

// ModelList selects what [Models] shows.
type ModelList struct {
	Catalog    *catalog.Catalog
	Configured Configured
	// All: also the models of vendors without a key.
	All bool
	// Filter is a text that the models shown have in their id, name or an alias; "" is all.
	Filter string
	// Now selects the prices.
	Now time.Time
}

// modelRow is one model, as JSON has it.
type modelRow struct {
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

// vendorRow is one vendor, as JSON has it.
type vendorRow struct {
	Vendor string `json:"vendor"`
	Models int    `json:"models"`
	Key    bool   `json:"key"`
	Hint   string `json:"hint,omitzero"`
}

// Models shows the models that the present keys can use, and what to set for those of other
// vendors. The error says that no model has the text of the filter.
func Models(c *console.Console, l ModelList, asJSON bool) error {
	vendors := l.vendors()
	rows := l.rows(vendors)
	if len(rows) == 0 && l.Filter != "" {
		return l.none()
	}
	if asJSON {
		return c.JSON(struct {
			Date    string      `json:"date"`
			Models  []modelRow  `json:"models"`
			Vendors []vendorRow `json:"vendors"`
		}{l.Catalog.Date(), rows, vendors})
	}
	table := [][]string{{"MODEL", "WINDOW", "OUTPUT", "$/M IN", "$/M OUT", "TAKES", "NOTES"}}
	for _, r := range rows {
		table = append(table, []string{
			r.Model, number(r.Window), number(r.Output), dollars(r.Price, func(p catalog.Price) float64 { return p.Input }),
			dollars(r.Price, func(p catalog.Price) float64 { return p.Output }), takes(r.Accepts), notes(r),
		})
	}
	missing := [][]string{{"NO KEY", "MODELS", "WHAT TO SET"}}
	for _, v := range vendors {
		if !v.Key {
			missing = append(missing, []string{v.Vendor, strconv.Itoa(v.Models), v.Hint})
		}
	}
	if err := c.Whole(table, missing); err != nil {
		return err
	}
	c.Note("prices are in US dollars per million tokens, as published up to " + l.Catalog.Date() + "; --json has their sources")
	return nil
}

// vendors returns the vendors with models that the filter lets through.
func (l ModelList) vendors() []vendorRow {
	var out []vendorRow
	for _, m := range l.Catalog.All() {
		i := slices.IndexFunc(out, func(v vendorRow) bool { return v.Vendor == m.Vendor })
		if i < 0 {
			key, hint := l.Configured(m.Vendor)
			if key {
				hint = ""
			}
			out = append(out, vendorRow{Vendor: m.Vendor, Key: key, Hint: hint})
			i = len(out) - 1
		}
		if l.has(m) {
			out[i].Models++
		}
	}
	return slices.DeleteFunc(out, func(v vendorRow) bool { return v.Models == 0 })
}

func (l ModelList) rows(vendors []vendorRow) []modelRow {
	out := []modelRow{}
	for _, m := range l.Catalog.All() {
		i := slices.IndexFunc(vendors, func(v vendorRow) bool { return v.Vendor == m.Vendor })
		if i < 0 || !l.has(m) || !vendors[i].Key && !l.All {
			continue
		}
		r := modelRow{
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

// none says why no model is shown.
func (l ModelList) none() error {
	if slices.ContainsFunc(l.Catalog.All(), l.has) {
		return fmt.Errorf("no model of a vendor with a key has %q in its name; --all shows the others as well", l.Filter)
	}
	return fmt.Errorf("no model that is known here has %q in its name; --model VENDOR:NAME also takes one that is not known", l.Filter)
}

func (l ModelList) has(m catalog.Model) bool {
	want := strings.ToLower(l.Filter)
	return slices.ContainsFunc(append([]string{m.Vendor + ":" + m.ID, m.Name}, m.Aliases...), func(s string) bool {
		return strings.Contains(strings.ToLower(s), want)
	})
}

// unknown stands for every figure that has no source.
const unknown = "unknown"

func number(n int) string {
	if n == 0 {
		return unknown
	}
	return strconv.Itoa(n)
}

func dollars(p *catalog.Price, of func(catalog.Price) float64) string {
	if p == nil {
		return unknown
	}
	return amount(of(*p))
}

func amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func takes(list []catalog.Ability) string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = string(a)
	}
	return strings.Join(out, " ")
}

// notes says when the price differs, and what else the model is called.
func notes(r modelRow) string {
	var out []string
	for _, p := range r.Prices {
		if r.Price != nil && p.From == r.Price.From && p.Above == r.Price.Above || r.Price != nil && p.From < r.Price.From {
			continue
		}
		var when []string
		if p.From != "" {
			when = append(when, "from "+p.From)
		}
		if p.Above > 0 {
			when = append(when, fmt.Sprintf("above %d tokens", p.Above))
		}
		if when == nil {
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s and %s", strings.Join(when, ", "), amount(p.Input), amount(p.Output)))
	}
	if len(r.Aliases) > 0 {
		out = append(out, "also "+strings.Join(r.Aliases, ", "))
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, "; ")
}
