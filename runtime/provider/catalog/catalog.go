package catalog

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed models.json
var modelTable []byte

//go:embed families.json
var familyTable []byte

// Catalog is a set of models and families. It never changes and is safe for concurrent use.
type Catalog struct {
	date    string
	vendors []vendor
	// families are in the order in which they are tried.
	families []Family
	// models are sorted by vendor, in the order of their table.
	models []Model
	// byName has the places in models, by vendor and canonical name: ids and aliases.
	byName map[string]map[string]int
	// like has the id whose family a model of the user's file takes, by vendor and canonical id.
	like map[string]string
}

// vendor is what the tables say of a vendor.
type vendor struct {
	Name string `json:"name"`
	// Begins are the beginnings of the ids of its models.
	Begins []string `json:"begins,omitzero"`
	// Like names the vendor whose models this one serves too.
	Like string `json:"like,omitzero"`
}

var embedded = sync.OnceValue(func() *Catalog {
	c, err := read()
	if err != nil {
		panic(fmt.Sprintf("catalog: the built-in tables: %v", err)) // its tests read them
	}
	return c
})

// Default returns the built-in catalog. The first call reads the tables.
func Default() *Catalog { return embedded() }

// Date returns the day of the newest fact in the built-in tables, as in 2026-11-25.
func (c *Catalog) Date() string { return c.date }

// All returns all models, sorted by vendor; those of a vendor are in the order of their table,
// the newest first as a rule. The caller must not change what their slices hold.
func (c *Catalog) All() []Model { return slices.Clone(c.models) }

// Models returns the models of a vendor, in the order of All. Azure has those of OpenAI, without
// prices: a contract sets them.
func (c *Catalog) Models(vendor string) []Model {
	var out []Model
	for _, m := range c.models {
		if m.Vendor == vendor {
			out = append(out, m)
		}
	}
	if like := c.likeVendor(vendor); like != "" {
		for _, m := range c.Models(like) {
			out = append(out, m.of(vendor))
		}
	}
	return out
}

// Model returns what is known about a model, by its id or an alias; false if nothing is. Case and
// the sign between the numbers of a version do not count: claude-opus-4.8 is claude-opus-4-8.
func (c *Catalog) Model(vendor, id string) (Model, bool) {
	if i, ok := c.byName[vendor][canonical(id)]; ok {
		return c.models[i], true
	}
	if like := c.likeVendor(vendor); like != "" {
		m, ok := c.Model(like, id)
		return m.of(vendor), ok
	}
	return Model{}, false
}

// of returns the model as another vendor serves it: the price is that vendor's own and unknown.
func (m Model) of(vendor string) Model {
	m.Vendor, m.Prices = vendor, nil
	return m
}

// Find returns the models that a name without a vendor may mean: those with that id or alias, one
// per vendor; if there is none, a model without known facts for the vendor whose ids begin like
// it; nil if no vendor's do. A name may have its vendor before a colon.
func (c *Catalog) Find(name string) []Model {
	if vendor, id, ok := strings.Cut(name, ":"); ok && c.knows(vendor) {
		m, _ := c.Model(vendor, id)
		m.Vendor, m.ID = vendor, cmp.Or(m.ID, id)
		return []Model{m}
	}
	var out []Model
	key := canonical(name)
	for _, vendor := range slices.Sorted(maps.Keys(c.byName)) {
		if i, ok := c.byName[vendor][key]; ok {
			out = append(out, c.models[i])
		}
	}
	if out != nil || key == "" {
		return out
	}
	for _, v := range c.vendors {
		if slices.ContainsFunc(v.Begins, func(s string) bool { return strings.HasPrefix(key, s) && len(key) > len(s) }) {
			out = append(out, Model{Vendor: v.Name, ID: name})
		}
	}
	return out
}

// Family returns the rules for a model. Every id has a family: that of its name, else the one
// for unknown models of the vendor, else the one for other servers.
func (c *Catalog) Family(vendor, id string) Family {
	key := canonical(id)
	if i, ok := c.byName[vendor][key]; ok {
		id, key = c.models[i].ID, canonical(c.models[i].ID)
	}
	if like, ok := c.like[vendor+"/"+key]; ok {
		id = like
	}
	name := plain(id)
	v := versionOf(name)
	for _, as := range []string{vendor, cmp.Or(c.likeVendor(vendor), vendor), "*"} {
		for i := range c.families {
			if f := &c.families[i]; f.Vendor == as && f.matches(name, v) {
				return *f
			}
		}
	}
	return Family{Name: "unknown", Vendor: vendor}
}

func (c *Catalog) likeVendor(name string) string {
	for _, v := range c.vendors {
		if v.Name == name {
			return v.Like
		}
	}
	return ""
}

func (c *Catalog) knows(name string) bool {
	return c.byName[name] != nil || slices.ContainsFunc(c.vendors, func(v vendor) bool { return v.Name == name })
}
