package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// models is the form of models.json.
type models struct {
	Date   string  `json:"date"`
	Models []Model `json:"models"`
}

// families is the form of families.json.
type families struct {
	Date     string   `json:"date"`
	Vendors  []vendor `json:"vendors"`
	Families []Family `json:"families"`
}

// read makes a catalog of the built-in tables. It does not check them: a test does, once for all
// programs that read them.
func read() (*Catalog, error) {
	var ms models
	if err := json.Unmarshal(modelTable, &ms); err != nil {
		return nil, fmt.Errorf("models.json: %w", err)
	}
	var fs families
	if err := json.Unmarshal(familyTable, &fs); err != nil {
		return nil, fmt.Errorf("families.json: %w", err)
	}
	return (&Catalog{date: max(ms.Date, fs.Date), vendors: fs.Vendors, families: fs.Families}).with(ms.Models)
}

// with sets the models of the catalog, which must not be in use yet. It sorts them, adds what
// their families accept and finds names that two models of a vendor have.
func (c *Catalog) with(ms []Model) (*Catalog, error) {
	c.models = ms
	slices.SortStableFunc(c.models, func(a, b Model) int { return cmp.Compare(a.Vendor, b.Vendor) })
	c.byName = map[string]map[string]int{}
	for i, m := range c.models {
		if c.byName[m.Vendor] == nil {
			c.byName[m.Vendor] = map[string]int{}
		}
		for _, name := range append([]string{m.ID}, m.Aliases...) {
			key := canonical(name)
			if other, taken := c.byName[m.Vendor][key]; taken {
				return nil, &takenError{name: name, vendor: m.Vendor, ids: [2]string{c.models[other].ID, m.ID}}
			}
			c.byName[m.Vendor][key] = i
		}
	}
	for i := range c.models {
		m := &c.models[i]
		f := c.Family(m.Vendor, m.ID)
		have := m.Accepts
		m.Accepts = nil
		for _, a := range abilities() {
			if slices.Contains(have, a) || f.Has(a) && a != Reasoning {
				m.Accepts = append(m.Accepts, a)
			}
		}
	}
	return c, nil
}

// takenError: two models of a vendor have the same name.
type takenError struct {
	name, vendor string
	ids          [2]string
}

func (e *takenError) Error() string {
	return fmt.Sprintf("%s is a name of both %s and %s of %s; leave it out of one of them", e.name, e.ids[0], e.ids[1], e.vendor)
}

// maxName limits names and patterns, in bytes.
const maxName = 200

// checkName refuses what cannot be the name of a model, or could trick a reader of a terminal.
func checkName(key, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is missing", key)
	case len(name) > maxName:
		return fmt.Errorf("%s has more than %d bytes", key, maxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s is not valid UTF-8", key)
	}
	for _, r := range name {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) {
			return fmt.Errorf("%s has the character %U; a name has neither blanks nor invisible characters", key, r)
		}
	}
	return nil
}

func (m *Model) check() error {
	if err := errors.Join(checkName("vendor", m.Vendor), checkName("id", m.ID)); err != nil {
		return err
	}
	for _, alias := range m.Aliases {
		if err := checkName("an alias", alias); err != nil {
			return err
		}
	}
	if m.Window < 0 || m.Output < 0 {
		return errors.New("window and output are numbers of tokens, not below 0")
	}
	for i, p := range m.Prices {
		if err := p.check(); err != nil {
			return fmt.Errorf("prices[%d]: %w", i, err)
		}
	}
	return checkAbilities(m.Accepts)
}

func checkAbilities(list []Ability) error {
	for _, a := range list {
		if !slices.Contains(abilities(), a) {
			return fmt.Errorf("accepts: there is no ability %q; they are %v", a, abilities())
		}
	}
	return nil
}

// maxPrice limits a price, in dollars per million tokens.
const maxPrice = 1e6

func (p Price) check() error {
	if p.From != "" {
		if _, err := time.Parse(time.DateOnly, p.From); err != nil {
			return fmt.Errorf("from: %q is no day; write one like 2026-12-01", p.From)
		}
	}
	if p.Above < 0 {
		return fmt.Errorf("above: %d is no number of tokens", p.Above)
	}
	values := []*float64{&p.Input, &p.Output, p.CacheRead, p.CacheWrite}
	for i, key := range []string{"input", "output", "cache_read", "cache_write"} {
		v := values[i]
		if v != nil && (!(*v >= 0 && *v <= maxPrice) || math.Abs(math.Round(*v*1000)-*v*1000) > 1e-6) {
			return fmt.Errorf("%s: %v is no price; write dollars per million tokens, from 0 to %d with at most three places", key, *v, int(maxPrice))
		}
	}
	return nil
}

func (f *Family) check() error {
	if err := checkName("vendor", f.Vendor); err != nil {
		return err
	}
	if len(f.Match) == 0 {
		return errors.New(`match is missing; write patterns of model ids, as in "match": ["my-model*"]`)
	}
	for _, pattern := range f.Match {
		if err := checkName("match", pattern); err != nil {
			return err
		}
	}
	for key, v := range map[string]string{"from": f.From, "before": f.Before} {
		if v != "" && !versionOf(v).known {
			return fmt.Errorf(`%s: %q is no version; write one like "4.7"`, key, v)
		}
	}
	if !slices.Contains(styles(), f.Reasoning) {
		return fmt.Errorf("reasoning: there is no style %q; they are %v", f.Reasoning, styles())
	}
	if !slices.Contains([]string{"", "chat", "responses"}, f.Wire) {
		return fmt.Errorf("wire: there is no wire %q; write chat or responses", f.Wire)
	}
	if !slices.Contains([]string{"", "model", "conversation"}, f.Bound) {
		return fmt.Errorf("bound: %q is nothing that reasoning is bound to; write model or conversation", f.Bound)
	}
	for key, w := range map[string]When{"sampling": f.Sampling, "seed": f.Seed, "stop": f.Stop, "forced": f.Forced} {
		if !slices.Contains(conditions(), w) {
			return fmt.Errorf("%s: there is no condition %q; write never or without_reasoning, or leave it out", key, w)
		}
	}
	if f.Budget.Min < 0 || f.Budget.Max < f.Budget.Min || f.MaxOutput < 0 {
		return errors.New("budget and max_output are numbers of tokens, and min is not above max")
	}
	return checkAbilities(f.Accepts)
}
