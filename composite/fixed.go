package composite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// fixed is a hook whose Schema never changes but is unknown to the generator.
// [Composite.Ready] compares the names of its tools with all others, so that duplicates are
// found before an agent is registered.
type fixed interface {
	hook.Hook
	FixedTools()
}

// owned is a tool by its public name, with the path of its owner.
type owned struct{ name, path string }

func (m *member) fixedTools() []owned {
	var out []owned
	switch h := m.hook.(type) {
	case *Composite:
		for i := range h.members {
			for _, t := range h.members[i].fixedTools() {
				out = append(out, owned{m.prefix + t.name, m.path + "." + t.path})
			}
		}
	case fixed:
		for _, t := range h.Schema() {
			out = append(out, owned{m.prefix + t.Name, m.path})
		}
	}
	return out
}

// ambiguous returns an error for fixed tools whose names another member has too or the
// runtime reserves. A nested composite checks its own members.
func (c *Composite) ambiguous() error {
	var errs []error
	first := map[string]owned{}
	member := map[string]int{}
	for i := range c.members {
		m := &c.members[i]
		if !m.routed() {
			continue
		}
		for _, t := range m.fixedTools() {
			other, taken := first[t.name]
			taken = taken && member[t.name] != i
			if j := c.owner(t.name); j >= 0 && j != i {
				other, taken = owned{t.name, c.members[j].path}, true
			}
			switch {
			case taken:
				errs = append(errs, fmt.Errorf("%s: tool %q is provided by both %s and %s; give one of the fields a prefix, or the tool another name", c.name, t.name, other.path, t.path))
			case slices.Contains(strings.Fields(hook.ReservedTools), t.name):
				errs = append(errs, fmt.Errorf("%s: tool %q of %s: the runtime reserves that name", c.name, t.name, t.path))
			}
			first[t.name], member[t.name] = t, i
		}
	}
	return errors.Join(errs...)
}
