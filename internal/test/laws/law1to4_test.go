package laws_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var modes = []differential.Mode{differential.Silent, differential.Answers, differential.Answers, differential.Fails, differential.Panics, differential.Hangs}

// hang is longer than the default timeout of contributors.
const hang = 10 * time.Second

// set is a random set of two to six hooks and what they do at one point.
type set struct {
	point hook.Point
	names []string
	mode  map[string]differential.Mode
	say   map[string]int
	// spare are the hooks with a fallback.
	spare map[string]bool
}

func drawSet(r *rand.Rand) set {
	all := []string{"A", "B", "C", "D", "E", "F"}
	s := set{point: subjects()[r.IntN(len(subjects()))], mode: map[string]differential.Mode{}, say: map[string]int{}, spare: map[string]bool{}}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s.names = all[:2+r.IntN(5)]
	slices.Sort(s.names)
	for _, name := range s.names {
		s.mode[name], s.say[name], s.spare[name] = modes[r.IntN(len(modes))], r.IntN(30), r.IntN(2) == 0
	}
	return s
}

// part is what the hook of this name plays.
func (s set) part(name string, log *differential.Log) laws.Part {
	m := &differential.Member{Name: name, Log: log, Say: s.say[name], Hang: hang, Do: map[hook.Point]differential.Mode{s.point: s.mode[name]}}
	if s.spare[name] {
		return spared{m}
	}
	return m
}

// spared has a fallback, which tells the points apart.
type spared struct{ *differential.Member }

func (s spared) Fallback(*hook.Turn) hook.Contributions {
	text := func(p hook.Point) string { return s.Name + " is spared at " + p.String() }
	return hook.Contributions{
		TurnPolicy:     []hook.Policy{{Key: text(point.TurnPolicy)}},
		TurnContext:    []hook.ContextBlock{{Text: text(point.TurnContext)}},
		RefineContext:  []hook.ContextBlock{{Text: text(point.RefineContext)}, {Text: "more"}},
		TurnTools:      []hook.ToolChange{{ID: text(point.TurnTools)}},
		PromptSections: []hook.PromptSection{{Text: text(point.PromptSections)}},
	}
}

// spareItems are the contributions of the hook's fallback at the point.
func (s set) spareItems(name string) []string {
	f, ok := s.part(name, nil).(hook.Fallback)
	if !ok {
		return nil
	}
	all := reflect.ValueOf(f.Fallback(nil)).FieldByName(s.point.String())
	return contributed(all.Interface(), nil).items
}

// plays gives the actors their parts, which write the log that is returned.
func (s set) plays(c *cast) *differential.Log {
	log := &differential.Log{}
	for _, name := range s.names {
		c.actors[name].Part = s.part(name, log)
	}
	return log
}

// member is the hook of this name as the oracle sees it, by the tags of Six.
func (s set) member(name string) member {
	m := member{path: name, closed: point.InfoOf(s.point).Closed && name != "C"}
	timed := name == "B" || name == "F" && slices.Contains([]hook.Point{point.BeforeTool, point.AfterTool, point.RewriteArgs, point.TurnContext}, s.point)
	if kind := point.InfoOf(s.point).Kind; kind == "contribute" {
		m.closed, m.spare = name == "E", s.spareItems(name)
		timed = true // by default, if not by the tag
	} else if kind == "observe" {
		timed = false
	}
	switch s.mode[name] {
	case differential.Fails, differential.Panics:
		m.fails = true
	case differential.Hangs:
		m.fails = timed
	}
	if m.fails && point.InfoOf(s.point).Kind != "observe" || s.mode[name] == differential.Silent {
		return m
	}
	if !m.fails {
		alone := &differential.Member{Name: name, Log: &differential.Log{}, Say: s.say[name], Do: map[hook.Point]differential.Mode{s.point: differential.Answers}}
		m.alone = ask(alone, s.point, "start")
	}
	return m
}

// within runs f, in a bubble of its own time if somebody hangs.
func (s set) within(t *testing.T, f func()) {
	for _, m := range s.mode {
		if m == differential.Hangs {
			synctest.Test(t, func(*testing.T) {
				f()
				time.Sleep(time.Minute) // who is late comes back
			})
			return
		}
	}
	f()
}

func (s set) members() []member {
	var out []member
	for _, name := range s.names {
		out = append(out, s.member(name))
	}
	return out
}

// calledIn returns the members that were called, in order.
func calledIn(log *differential.Log) []string {
	var out []string
	for _, line := range log.Lines() {
		name, _, _ := strings.Cut(line, ".")
		out = append(out, name)
	}
	return out
}

// TestLaws1To4 holds both composites to the laws about order, rewriting, severity
// and fail policy, and to law 11 where hooks panic.
func TestLaws1To4And11(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	t.Logf("FIGURE seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pairs, casts := map[string]bool{}, newCasts(t)
	for round := 0; round < *rounds || round%1000 != 0 || round < 10**rounds && len(missing(pairs)) > 0; round++ {
		s := drawSet(r)
		members := s.members()
		note(pairs, s.point, members)
		called, want := expected(s.point, members, "start")
		c := casts.of(s.names)
		for name, h := range c.both() {
			log := s.plays(c)
			var got asked
			s.within(t, func() { got = ask(h, s.point, "start") })
			about := fmt.Sprintf("seed %d, round %d, %s: %s of %+v", seed, round, name, s.point, s)
			require.Equal(t, called, calledIn(log), "who is asked: %s", about)
			require.Equal(t, [3]any{want.Kind, want.By, want.Stop}, [3]any{got.Kind, got.By, got.Stop}, "the answer: %s", about)
			require.Equal(t, want.items, got.items, "what is added: %s", about)
			if want.err == nil {
				require.NoError(t, got.err, about)
				require.Equal(t, want.value, got.value, "what is left: %s", about)
				continue
			}
			var f *hook.Failure
			require.True(t, errors.As(got.err, &f), about)
			require.Equal(t, want.err.(*hook.Failure).Subsystem, f.Subsystem, about)
			require.Equal(t, s.point, f.Point, about)
		}
	}
	assert.Empty(t, missing(pairs), "these answers never stood beside each other")
}

// note notes which answers stood beside each other.
func note(pairs map[string]bool, p hook.Point, members []member) {
	if point.InfoOf(p).Kind != "decide" {
		return
	}
	for i := 1; i < len(members); i++ {
		pairs[fmt.Sprint(p, says(members[i-1]), says(members[i]))] = true
	}
}

func says(m member) string {
	switch {
	case m.fails && m.closed:
		return " closed"
	case m.fails:
		return " open"
	case m.alone.Kind == "":
		return " none"
	}
	return " " + string(m.alone.Kind)
}

// missing are the pairs of answers that never stood beside each other.
func missing(pairs map[string]bool) []string {
	var out []string
	for _, p := range subjects() {
		if point.InfoOf(p).Kind != "decide" {
			continue
		}
		kinds := []string{" none", " closed", " open"}
		for say := range 30 {
			m := differential.Member{Name: "X", Log: &differential.Log{}, Say: say, Do: map[hook.Point]differential.Mode{p: differential.Answers}}
			if k := " " + string(ask(&m, p, "").Kind); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		for _, a := range kinds {
			for _, b := range kinds {
				possible := a != " open" || b != " open" // one field fails open
				if pair := fmt.Sprint(p, a, b); possible && !pairs[pair] {
					out = append(out, pair)
				}
			}
		}
	}
	return out
}

// TestLaw3BlockingDoesNotDependOnTheOrder: of the same hooks in another order the
// same operations are blocked.
func TestLaw3BlockingDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	r, casts := rand.New(rand.NewPCG(needs.Seed(t), 3)), newCasts(t)
	for range *rounds {
		s := drawSet(r)
		if c := point.InfoOf(s.point).Combine; c != "gate" && c != "judge" {
			continue
		}
		for name, m := range s.mode { // time has no part in this
			if m == differential.Hangs {
				s.mode[name] = differential.Answers
			}
		}
		blocked := func(names []string) bool {
			c := casts.of(names)
			s.plays(c)
			return severity(ask(c.ordered(), s.point, "").Kind) >= severity(hook.AnswerAsk)
		}
		other := slices.Clone(s.names)
		r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
		require.Equal(t, blocked(s.names), blocked(other), "%+v in the order %v", s, other)
	}
}
