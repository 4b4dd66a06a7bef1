package hook

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
)

// sections are the per-subsystem parts of a configuration, sorted by name.
type sections []section

type section struct {
	name string
	body message.JSON
}

func (s sections) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(s, name, func(s section, n string) int { return strings.Compare(s.name, n) })
}

// WithSection returns c with the section of one subsystem set; body "" removes
// it. The name is the subsystem's, "ostools".
func (c AgentConfig) WithSection(name string, body message.JSON) AgentConfig {
	i, found := c.sections.find(name)
	out := slices.Clone(c.sections)
	switch {
	case found && body == "":
		out = slices.Delete(out, i, i+1)
	case found:
		out[i].body = body
	case body != "":
		out = slices.Insert(out, i, section{name, body})
	}
	c.sections = out
	return c
}

// Sections returns the names of the sections that are set, sorted.
func (c *AgentConfig) Sections() []string {
	names := make([]string, len(c.sections))
	for i, s := range c.sections {
		names[i] = s.name
	}
	return names
}

// SectionOf decodes the section of one subsystem into a T, a struct with json
// tags. Without the section it returns the zero T and false. Decoding is strict:
// an unknown or repeated key, a key in another case, and data after the value
// are errors that name the place. A subsystem calls it in OnBuildAgent, so that a
// wrong section ends the registration.
func SectionOf[T any](c *AgentConfig, name string) (T, bool, error) {
	var v T
	i, found := c.sections.find(name)
	if !found {
		return v, false, nil
	}
	v, err := message.DecodeStrict[T](c.sections[i].body)
	if err != nil {
		return v, true, fmt.Errorf("agent %q: section %s: %w", c.Name, name, err)
	}
	return v, true, nil
}
