package differential_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/composite"
	. "github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// A composite in which members are turned off answers every program as one in which
// their fields are nil, whichever form it has and whether it is recorded.
func TestOffIsAsNil(t *testing.T) {
	rapid.Check(needs.Seeded(t), func(rt *rapid.T) {
		s := drawScript(rt, "")
		off := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"First", "Core", "Core.Guard", "Core.Notes", "Users", "Front", "Plain.Guard",
			"Quiet", "Run", "Any", "Extra"}), 1, 4, rapid.ID[string]).Draw(rt, "off")
		settings := map[string]string{}
		for _, name := range off {
			settings[name] = "off"
		}
		layer, err := composite.NewLayer("test", settings)
		require.NoError(rt, err)
		lay := func(f Facade) Facade {
			c, err := f.(*composite.Composite).Layered(layer)
			require.NoError(rt, err)
			return c
		}
		static, mixed, dynamic, recorded := build(rt, s, func(w *Welded) Facade { return lay(w.Compose()) })
		for _, w := range []*World{&mixed, &dynamic, &recorded} {
			w.F = lay(w.F)
		}
		without := bare(rt, s, off)
		ops := slices.DeleteFunc(Ops(), func(o Op) bool { return o.Name == "Ready" }) // what is off need not be there, a nil field may have to
		for range rapid.IntRange(1, 12).Draw(rt, "length") {
			o := rapid.SampledFrom(ops).Draw(rt, "op")
			arg := rapid.SampledFrom(args).Draw(rt, "arg")
			require.Empty(rt, Differ(o, arg, without, static, mixed, dynamic, recorded), "0 is over the generated composite, 1 over the dynamic one, 2 over dynamic ones, 3 over the recording twin")
		}
	})
}

// bare is the dynamic composite without the members that are off.
func bare(t require.TestingT, s script, off []string) World {
	w, log := s.weld()
	in := &twin{First: w.First, Users: w.Users, Front: w.Front, Quiet: w.Quiet, Run: w.Run, Any: w.Any, Extra: w.Extra}
	for _, name := range off {
		switch name {
		case "First":
			in.First = nil
		case "Core":
			w.Core = nil
		case "Core.Guard":
			if w.Core != nil {
				w.Core.Guard = nil
			}
		case "Core.Notes":
			if w.Core != nil {
				w.Core.Notes = nil
			}
		case "Users":
			in.Users = nil
		case "Front":
			in.Front = nil
		case "Plain.Guard":
			w.Plain.Guard = nil
		case "Quiet":
			in.Quiet = nil
		case "Run":
			in.Run = nil
		case "Any":
			in.Any = nil
		case "Extra":
			in.Extra = nil
		}
	}
	var err error
	if w.Core != nil {
		in.Core, err = composite.New(w.Core)
		require.NoError(t, err)
	}
	in.Plain, err = composite.New(&w.Plain)
	require.NoError(t, err)
	c, err := composite.New(in)
	require.NoError(t, err)
	s.run(w)
	return World{F: c, Log: log, Host: new(Recorder)}
}
