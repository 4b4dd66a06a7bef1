package differential_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
	. "github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

var (
	_ Facade = (*composite.Composite)(nil)
)

// twin is Welded for the dynamic composite, with a dynamic composite nested in it
// as well. The tags must be those of Welded.
type twin struct {
	First *Files    `hook:"optional; AfterTool: failopen"`
	Core  hook.Hook `hook:"prefix=core_"`
	Users *Notes    `hook:"prefix=users_; BeforeTool: failopen; RewriteArgs: failopen; WrapTool: failopen; WrapModel: failopen; Preprocess: failopen"`
	Front *Notes    `hook:"before=First"`
	Plain hook.Hook `hook:"prefix=plain_"`
	Quiet *Quiet    `hook:"optional"`
	Run   *Late     `hook:"dynamic"`
	Any   hook.Hook `hook:"optional"`
	Extra []hook.Hook
}

// script is the random part of a run: which members there are and what they do.
type script struct {
	first, quiet, any, extra bool
	broken                   bool
	say                      map[string]int
	do                       map[string]map[hook.Point]Mode
	names                    []string
}

var memberNames = []string{"First", "CoreGuard", "CoreNotes", "Users", "Front", "PlainGuard", "PlainNotes", "Quiet", "Run", "Any", "Extra0", "Extra2"}

// drawScript draws what members do; at the point of that name, if there is one, all of them may do something.
func drawScript(t *rapid.T, focus string) script {
	s := script{
		first: rapid.Bool().Draw(t, "first"), quiet: rapid.Bool().Draw(t, "quiet"),
		any: rapid.Bool().Draw(t, "any"), extra: rapid.Bool().Draw(t, "extra"), broken: rapid.IntRange(0, 9).Draw(t, "broken") == 9,
		say: map[string]int{}, do: map[string]map[hook.Point]Mode{},
		names: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"late", "read", "users_add", "core_add", "other"}), 0, 3, rapid.ID).Draw(t, "run-time tools"),
	}
	var points []hook.Point
	for p := range point.All() {
		points = append(points, p)
	}
	for _, name := range memberNames {
		s.say[name] = rapid.IntRange(0, 29).Draw(t, "say")
		s.do[name] = map[hook.Point]Mode{}
		for range rapid.IntRange(0, 6).Draw(t, "loud points") {
			p := rapid.SampledFrom(points).Draw(t, "point")
			s.do[name][p] = rapid.SampledFrom([]Mode{Answers, Answers, Fails, Panics}).Draw(t, "mode")
		}
		for _, p := range points {
			if p.String() == focus {
				s.do[name][p] = rapid.SampledFrom([]Mode{Silent, Silent, Answers, Fails, Panics}).Draw(t, "mode")
			}
		}
	}
	return s
}

// weld makes the members and their log.
func (s script) weld() (*Welded, *Log) {
	l := new(Log)
	m := func(name string) Member { return Member{Name: name, Log: l, Say: s.say[name], Do: s.do[name]} }
	w := &Welded{
		Core:  &Core{Guard: &Files{m("CoreGuard")}, Notes: &Notes{m("CoreNotes")}},
		Users: &Notes{m("Users")}, Front: &Notes{m("Front")},
		Plain: Core{Guard: &Files{m("PlainGuard")}, Notes: &Notes{m("PlainNotes")}},
		Run:   &Late{Member: m("Run")},
	}
	if s.first {
		w.First = &Files{m("First")}
	}
	if s.quiet {
		w.Quiet = NewQuiet(m("Quiet"))
	}
	if s.any {
		w.Any = &Late{Member: m("Any"), Names: []string{"anything"}}
	}
	if s.extra {
		w.Extra = []hook.Hook{&Late{Member: m("Extra0")}, nil, &Late{Member: m("Extra2"), Names: []string{"late", "extra"}}}
	}
	return w, l
}

// run says what Run has once composites have been made of it.
func (s script) run(w *Welded) { w.Run.Names, w.Run.Broken = s.names, s.broken }

func build(t require.TestingT, s script, generated func(*Welded) Facade) (static, mixed, dynamic, recorded World) {
	a, la := s.weld()
	static = World{generated(a), la, new(Recorder)}

	b, lb := s.weld()
	c, err := composite.New(b)
	require.NoError(t, err)
	mixed = World{F: c, Log: lb, Host: new(Recorder)}

	d, ld := s.weld()
	core, err := composite.New(d.Core)
	require.NoError(t, err)
	plain, err := composite.New(&d.Plain)
	require.NoError(t, err)
	e, err := composite.New(&twin{
		First: d.First, Core: core, Users: d.Users, Front: d.Front, Plain: plain, Quiet: d.Quiet, Run: d.Run, Any: d.Any, Extra: d.Extra,
	})
	require.NoError(t, err)
	dynamic = World{F: e, Log: ld, Host: new(Recorder)}

	r, lr := s.weld()
	recorded = World{F: r.Compose().Recorded(nil), Log: lr, Host: new(Recorder)}
	for _, w := range []*Welded{a, b, d, r} {
		s.run(w)
	}
	return static, mixed, dynamic, recorded
}

func TestEveryFacadeMethodAndPointIsCompared(t *testing.T) {
	have := map[string]bool{}
	for _, o := range Ops() {
		have[o.Name] = true
	}
	for p := range point.All() {
		require.True(t, have[p.String()], "no operation calls %s", p)
	}
}

// The generated composite, the dynamic one over the same struct, the dynamic one
// with dynamic ones nested in it, and the recording twin answer every program
// alike.
func TestGeneratedAndDynamicAnswerAlike(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) { compare(rt, "", func(w *Welded) Facade { return w.Compose() }) })
}

// compare runs one random program, much of it about the method in focus. generated returns the composite that is on trial.
func compare(rt *rapid.T, focus string, generated func(*Welded) Facade) {
	static, mixed, dynamic, recorded := build(rt, drawScript(rt, focus), generated)
	ops := Ops()
	for range rapid.IntRange(1, 12).Draw(rt, "length") {
		o := rapid.SampledFrom(ops).Draw(rt, "op")
		if i := slices.IndexFunc(ops, func(o Op) bool { return o.Name == focus }); i >= 0 && rapid.Bool().Draw(rt, "focus") {
			o = ops[i]
		}
		arg := rapid.SampledFrom(args).Draw(rt, "arg")
		require.Empty(rt, Differ(o, arg, dynamic, static, mixed, recorded), "0 is the generated composite, 1 the dynamic one over generated ones, 2 the recording twin")
	}
}

var args = []string{"read", "write", "add", "core_g_read", "core_add", "users_add", "plain_g_write", "hush", "late", "other", "anything", "extra", "nobody", "all"}
