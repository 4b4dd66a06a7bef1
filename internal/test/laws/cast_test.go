package laws_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/internal/test/laws"
)

// cast is the composites of the same actors. Each is composed once, which is what
// takes the time; the actors play other parts in each round.
type cast struct {
	t      *testing.T
	names  []string
	actors map[string]*laws.Actor
	made   map[string]*composite.Composite
}

// casts are those of one test, by the names of the actors.
type casts struct {
	t    *testing.T
	made map[string]*cast
}

func newCasts(t *testing.T) *casts { return &casts{t: t, made: map[string]*cast{}} }

// of returns the cast of the actors of these names, A to F.
func (cs *casts) of(names []string) *cast {
	key := strings.Join(names, "")
	c := cs.made[key]
	if c == nil {
		c = &cast{t: cs.t, names: names, actors: map[string]*laws.Actor{}, made: map[string]*composite.Composite{}}
		for _, name := range names {
			c.actors[name] = &laws.Actor{Part: silent{}}
		}
		cs.made[key] = c
	}
	return c
}

// once composes what has not been composed yet.
func (c *cast) once(name string, compose func() (*composite.Composite, error)) *composite.Composite {
	if c.made[name] == nil {
		made, err := compose()
		require.NoError(c.t, err)
		c.made[name] = made
	}
	return c.made[name]
}

// six is the generated composite of the fields.
func (c *cast) six() *composite.Composite {
	return c.once("generated", func() (*composite.Composite, error) { return c.fields().Compose(), nil })
}

// fields has the actors in the fields of their names.
func (c *cast) fields() *laws.Six {
	a := c.actors
	return &laws.Six{A: a["A"], B: a["B"], C: a["C"], D: a["D"], E: a["E"], F: a["F"]}
}

// nest has the actors of Six, in the composite and the group of Nest.
func (c *cast) nest() *laws.Nest {
	a := c.actors
	n := &laws.Nest{A: a["A"], F: a["F"]}
	if a["B"] != nil || a["C"] != nil {
		n.Core = &laws.Core{B: a["B"], C: a["C"]}
	}
	for _, name := range []string{"D", "E"} {
		if a[name] != nil {
			n.Extra = append(n.Extra, a[name])
		}
	}
	return n
}

// both are Six, generated and dynamic.
func (c *cast) both() map[string]hook.Hook {
	dynamic := c.once("dynamic", func() (*composite.Composite, error) { return composite.New(c.fields()) })
	return map[string]hook.Hook{"generated": c.six(), "dynamic": dynamic}
}

// recording is the recording twin of Six, as the runtime makes it.
func (c *cast) recording() hook.Hook {
	return c.once("recording", func() (*composite.Composite, error) {
		return c.six().Recorded(nil), nil
	})
}

// subjects are the composites that have to keep a law: both, and in one round of
// forty also those that are made of them.
func (c *cast) subjects(round int) map[string]hook.Hook {
	all := c.both()
	if round%40 == 0 {
		for name, h := range c.bothNests() {
			all[name+" nest"] = h
		}
		all["recording"] = c.recording()
	}
	return all
}

// bothNests are Nest, generated and dynamic.
func (c *cast) bothNests() map[string]hook.Hook {
	nest := c.nest()
	dynamic := c.once("nest", func() (*composite.Composite, error) { return composite.New(nest) })
	return map[string]hook.Hook{"generated": nest.Compose(), "dynamic": dynamic}
}

// ordered is the dynamic composite of the actors in the order of their names here,
// without the tags of Six.
func (c *cast) ordered() hook.Hook {
	return c.once("ordered", func() (*composite.Composite, error) {
		var fields []composite.Field
		for _, name := range c.names {
			fields = append(fields, composite.Field{Name: name, Hook: c.actors[name]})
		}
		return composite.Of("Any", fields...)
	})
}
