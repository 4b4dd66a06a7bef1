package laws_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// Law 14: a nested composite or a group is one contiguous block at its field's
// place, reversed as a block and inside; it keeps its own policies; each member of a
// group is isolated by itself.

// inNest is where the hook of a name stands in Nest.
func (s set) inNest(name string) string {
	switch name {
	case "B", "C":
		return "Core." + name
	case "D":
		return "Extra[0]"
	case "E":
		return fmt.Sprintf("Extra[%d]", min(1, 1+slices.Index(s.names, "D")))
	}
	return name
}

// nested are the members as the oracle sees them in Nest: in the order of Six, with
// the policies that they have there, but for those of the group.
func (s set) nested() []member {
	members := s.members()
	for i := range members {
		m := &members[i]
		m.path = s.inNest(s.names[i])
		if s.names[i] == "D" && point.InfoOf(s.point).Kind == "contribute" {
			m.closed = true
		}
	}
	return members
}

// checkNest compares a composite with the fields of Nest with what the law says.
func checkNest(t *testing.T, s set, h hook.Hook, log *differential.Log) error {
	members := s.nested()
	called, want := expected(s.point, members, "start")
	var got asked
	s.within(t, func() { got = ask(h, s.point, "start") })
	var paths []string
	for _, name := range calledIn(log) {
		paths = append(paths, s.inNest(name))
	}
	switch f := (*hook.Failure)(nil); {
	case !slices.Equal(called, paths):
		return fmt.Errorf("asked were %v, and have to be %v", paths, called)
	case want.Kind != got.Kind || want.By != got.By || want.Stop != got.Stop:
		return fmt.Errorf("the answer is %s of %s, and has to be %s of %s", got.Kind, got.By, want.Kind, want.By)
	case !slices.Equal(want.items, got.items):
		return fmt.Errorf("added is %v, and has to be %v", got.items, want.items)
	case want.err == nil && (got.err != nil || want.value != got.value):
		return fmt.Errorf("left is %q, %v, and has to be %q", got.value, got.err, want.value)
	case want.err != nil && (!errors.As(got.err, &f) || f.Subsystem != want.err.(*hook.Failure).Subsystem || f.Point != s.point):
		return fmt.Errorf("the failure is %v, and has to be %v", got.err, want.err)
	}
	return nil
}

// TestLaw14NestedAndGroupedIsABlock holds a composite with another one and a group
// among its members to the law, generated and dynamic.
func TestLaw14NestedAndGroupedIsABlock(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, casts := rand.New(rand.NewPCG(seed, 14)), newCasts(t)
	pairs := map[string]bool{}
	for round := range *rounds {
		s := drawSet(r)
		c := casts.of(s.names)
		members := s.nested()
		for i := 1; i < len(members); i++ {
			block := func(m member) string { b, _, _ := strings.Cut(strings.ReplaceAll(m.path, "[", "."), "."); return b }
			pairs[fmt.Sprint(block(members[i-1]), members[i-1].fails, " ", block(members[i]), members[i].fails)] = true
		}
		for name, h := range c.bothNests() {
			require.NoError(t, checkNest(t, s, h, s.plays(c)), "seed %d, round %d, %s: %s of %+v", seed, round, name, s.point, s)
		}
	}
	for _, pair := range []string{"A Core", "Core Core", "Core Extra", "Extra Extra", "Extra F"} {
		for i := range 4 {
			one, two, _ := strings.Cut(pair, " ")
			assert.True(t, pairs[fmt.Sprint(one, i&1 == 1, " ", two, i&2 == 2)], "%s, failing: %d", pair, i)
		}
	}
}

// TestLaw14IsTested: the check catches composites that break the law.
func TestLaw14IsTested(t *testing.T) {
	t.Parallel()
	r, casts := rand.New(rand.NewPCG(1, 14)), newCasts(t)
	all := casts.of([]string{"A", "B", "C", "D", "E", "F"})
	a := all.actors
	of := func(fields ...composite.Field) hook.Hook {
		c, err := composite.Of("Any", fields...)
		require.NoError(t, err)
		return c
	}
	field := func(name string, h hook.Hook) composite.Field { return composite.Field{Name: name, Hook: h} }
	for name, h := range map[string]hook.Hook{
		"the block is torn apart": of(field("A", a["A"]), field("B", a["B"]), field("D", a["D"]), field("C", a["C"]), field("E", a["E"]), field("F", a["F"])),
		"the block is turned":     (&laws.Nest{A: a["A"], Core: &laws.Core{B: a["C"], C: a["B"]}, Extra: []hook.Hook{a["D"], a["E"]}, F: a["F"]}).Compose(),
		"the group is turned":     (&laws.Nest{A: a["A"], Core: &laws.Core{B: a["B"], C: a["C"]}, Extra: []hook.Hook{a["E"], a["D"]}, F: a["F"]}).Compose(),
		"a policy is lost":        of(field("A", a["A"]), field("Core", of(field("B", a["B"]), field("C", a["C"]))), composite.Field{Name: "Extra", Group: []hook.Hook{a["D"], a["E"]}}, field("F", a["F"])),
		"a member is left out":    (&laws.Nest{A: a["A"], Core: &laws.Core{B: a["B"], C: a["C"]}, Extra: []hook.Hook{a["E"]}, F: a["F"]}).Compose(),
	} {
		caught := 0
		for range 300 {
			s := drawSet(r)
			if s.names = slices.Clone(all.names); s.mode["F"] != differential.Silent {
				for i, n := range s.names {
					s.mode[n], s.say[n] = modes[r.IntN(len(modes))], i
				}
			}
			if checkNest(t, s, h, s.plays(all)) != nil {
				caught++
			}
		}
		assert.NotZero(t, caught, name)
	}
	for range 300 {
		s := drawSet(r)
		s.names = all.names
		require.NoError(t, checkNest(t, s, all.nest().Compose(), s.plays(all)), "and none that keep it")
	}
}

// TestLaw14ABlockAnswersAsItsMembersWould: hooks in a composite that is a member, or
// in a group, from any place to any other, answer as if they stood there themselves.
func TestLaw14ABlockAnswersAsItsMembersWould(t *testing.T) {
	t.Parallel()
	r, casts := rand.New(rand.NewPCG(needs.Seed(t), 15)), newCasts(t)
	blocks := map[string]map[string]hook.Hook{}
	for range *rounds {
		s := drawSet(r)
		for name, m := range s.mode { // time has no part in this
			if m == differential.Hangs {
				s.mode[name] = differential.Answers
			}
		}
		c := casts.of(s.names)
		from := r.IntN(len(s.names))
		til := from + 1 + r.IntN(len(s.names)-from)
		key := fmt.Sprint(s.names, from, til)
		if blocks[key] == nil {
			blocks[key] = blocksOf(t, c, from, til)
		}
		log := s.plays(c)
		want := ask(c.ordered(), s.point, "start")
		called := calledIn(log)
		for what, h := range blocks[key] {
			log := s.plays(c)
			got := ask(h, s.point, "start")
			about := fmt.Sprintf("%s %d to %d of %+v", what, from, til, s)
			require.Equal(t, called, calledIn(log), about)
			require.Equal(t, [2]any{want.Kind, want.Stop}, [2]any{got.Kind, got.Stop}, about)
			require.Equal(t, want.err == nil, got.err == nil, about)
			if want.err == nil {
				require.Equal(t, want.value, got.value, about)
				require.Len(t, got.items, len(want.items), about)
			}
		}
	}
}

// blocksOf makes the composites of the cast in which the actors between two places
// are in a composite or a group.
func blocksOf(t *testing.T, c *cast, from, til int) map[string]hook.Hook {
	fields := func(names []string) (out []composite.Field) {
		for _, name := range names {
			out = append(out, composite.Field{Name: name, Hook: c.actors[name]})
		}
		return out
	}
	of := func(fields ...composite.Field) *composite.Composite {
		c, err := composite.Of("Any", fields...)
		require.NoError(t, err)
		return c
	}
	around := func(block composite.Field) hook.Hook {
		return of(slices.Concat(fields(c.names[:from]), []composite.Field{block}, fields(c.names[til:]))...)
	}
	group := composite.Field{Name: "Core"}
	for _, name := range c.names[from:til] {
		group.Group = append(group.Group, c.actors[name])
	}
	return map[string]hook.Hook{
		"nested":  around(composite.Field{Name: "Core", Hook: of(fields(c.names[from:til])...)}),
		"grouped": around(group),
	}
}
