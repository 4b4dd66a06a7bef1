package differential_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	. "github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// deed is what a member does at a point.
type deed struct {
	member string
	point  hook.Point
	mode   Mode
}

// asked is one step of a program.
type asked struct {
	op  Op
	arg string
}

func newBounded(deeds []deed, say map[string]int) (*Bounded, *Log) {
	l := new(Log)
	m := func(name string) Member {
		do := map[hook.Point]Mode{}
		for _, d := range deeds {
			if d.member == name {
				do[d.point] = d.mode
			}
		}
		return Member{Name: name, Log: l, Say: say[name], Do: do}
	}
	b := &Bounded{
		Slow: &Notes{m("Slow")}, Some: &Files{m("Some")}, Few: &Notes{m("Few")}, Not: &Files{m("Not")},
		Core: &Core{Guard: &Files{m("Guard")}, Notes: &Notes{m("Notes")}},
		Any:  &Late{Member: m("Any"), Names: []string{"anything"}}, Path: NewQuiet(m("Path")),
		More: []hook.Hook{&Late{Member: m("More")}, nil, &Notes{m("Last")}},
	}
	b.Path = &Late{Member: m("Path")}
	return b, l
}

// settled is a call after which all that hang have come back.
func settled(o Op) Op {
	return Op{Name: o.Name, Run: func(w World, arg string) string {
		defer synctest.Wait()
		defer time.Sleep(time.Minute)
		return o.Run(w, arg)
	}}
}

// A composite with timeouts, patterns and points that are left out behaves alike
// in both forms, and recorded, whoever answers, fails, panics or hangs. The clock is the
// bubble's, so what hangs is late and never just in time.
func TestPoliciesAlike(t *testing.T) {
	members := []string{"Slow", "Some", "Few", "Not", "Guard", "Notes", "Any", "Path", "More", "Last"}
	var points []hook.Point
	for p := range point.All() {
		points = append(points, p)
	}
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) {
		var deeds []deed
		say := map[string]int{}
		for _, name := range members {
			say[name] = rapid.IntRange(0, 29).Draw(rt, "say")
			for range rapid.IntRange(0, 6).Draw(rt, "loud points") {
				deeds = append(deeds, deed{name, rapid.SampledFrom(points).Draw(rt, "point"),
					rapid.SampledFrom([]Mode{Answers, Answers, Fails, Panics, Hangs, Hangs}).Draw(rt, "mode")})
			}
		}
		program := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) asked {
			return asked{rapid.SampledFrom(Ops()).Draw(rt, "op"), rapid.SampledFrom(args).Draw(rt, "arg")}
		}), 1, 12).Draw(rt, "program")
		different := ""
		var all []*composite.Composite
		synctest.Test(t, func(t *testing.T) {
			a, la := newBounded(deeds, say)
			b, lb := newBounded(deeds, say)
			c, err := composite.New(b)
			require.NoError(t, err)
			d, ld := newBounded(deeds, say)
			whole, parts := a.Compose(), d.Compose().Recorded(nil)
			all = append(all, whole, c, parts)
			static, dynamic := World{F: whole, Log: la, Host: new(Recorder)}, World{F: c, Log: lb, Host: new(Recorder)}
			recorded := World{F: parts, Log: ld, Host: new(Recorder)}
			for _, s := range program {
				if different = Differ(settled(s.op), s.arg, dynamic, static, recorded); different != "" {
					return
				}
			}
		})
		require.Empty(rt, different)
		for _, c := range all {
			require.Zero(rt, c.LateHooks(), "the bubble ends when all goroutines have")
		}
	})
}

// Both forms have the same plan, but for what cannot be seen at run time: which
// methods of hook.Hook a member overrides.
func TestPoliciesPlannedAlike(t *testing.T) {
	b, _ := newBounded(nil, nil)
	c, err := composite.New(b)
	require.NoError(t, err)
	static, dynamic := b.Compose().Plan(), c.Plan()
	require.Len(t, dynamic.Members, len(static.Members))
	for i, m := range static.Members {
		d := dynamic.Members[i]
		var beside []string
		for _, u := range m.Points {
			if u.Kind != "facade" {
				beside = append(beside, u.String())
			}
		}
		var atRunTime []string
		for _, u := range d.Points {
			atRunTime = append(atRunTime, u.String())
		}
		if len(m.Points) > 0 {
			require.Equal(t, beside, atRunTime, m.Field)
		}
		require.Equal(t, m.Match, d.Match)
		if !m.Dynamic {
			require.Equal(t, m.Tools, d.Tools)
		}
	}
}
