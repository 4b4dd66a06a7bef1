package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/internal/models"
	"github.com/grapnel-go/grapnel/internal/term/console"
	"github.com/grapnel-go/grapnel/runtime/provider/catalog"
)

// Models shows the models that the present keys can use, and what to set for those of other
// vendors. The error says that no model has the text of the filter.
func Models(c *console.Console, l models.List, asJSON bool) error {
	list := l.Of()
	if len(list.Models) == 0 && l.Filter != "" {
		return noneOf(l)
	}
	if asJSON {
		return c.JSON(list)
	}
	table := [][]string{{"MODEL", "WINDOW", "OUTPUT", "$/M IN", "$/M OUT", "TAKES", "NOTES"}}
	for _, r := range list.Models {
		table = append(table, []string{
			r.Model, number(r.Window), number(r.Output), dollars(r.Price, func(p catalog.Price) float64 { return p.Input }),
			dollars(r.Price, func(p catalog.Price) float64 { return p.Output }), takes(r.Accepts), notes(r),
		})
	}
	missing := [][]string{{"NO KEY", "MODELS", "WHAT TO SET"}}
	for _, v := range list.Vendors {
		if !v.Key {
			missing = append(missing, []string{v.Vendor, strconv.Itoa(v.Models), v.Hint})
		}
	}
	if err := c.Whole(table, missing); err != nil {
		return err
	}
	c.Note("prices are in US dollars per million tokens, as published up to " + list.Date + "; --json has their sources")
	return nil
}

// none says why no model is shown.
func noneOf(l models.List) error {
	if slices.ContainsFunc(l.Catalog.All(), l.Has) {
		return fmt.Errorf("no model of a vendor with a key has %q in its name; --all shows the others as well", l.Filter)
	}
	return fmt.Errorf("no model that is known here has %q in its name; --model VENDOR:NAME also takes one that is not known", l.Filter)
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
func notes(r models.ListedModel) string {
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
