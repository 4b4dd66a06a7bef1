package composite

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/grapnel-go/grapnel/hook"
)

// memberName is the form of the name of an attached member: that of an exported field.
var memberName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_]{0,63}$`)

// Attached returns the composite with one more member behind the others, as if its struct had
// another field of that name at the end; c stays as it is. Unlike [Composite.With], it takes
// composites that are generated or layered, or made of a single hook. A runtime uses it for
// members that come and go.
//
// It is an error if c is recorded, if the author of c has written methods of points by hand, since
// these decide which members are called, if the name is no exported name of at most 64 characters
// or is taken, or if a static tool of the hook has another owner or a reserved name.
func (c *Composite) Attached(name string, h hook.Hook) (*Composite, error) {
	p := *c.Plan()
	switch {
	case !memberName.MatchString(name):
		return nil, fmt.Errorf("%.80q is no name for a member: write one like Audit, with a capital letter first", name)
	case isNil(h):
		return nil, fmt.Errorf("%s %w", name, nilHook(h))
	case c.rec != nil || c.own != 0:
		return nil, fmt.Errorf("%s cannot get the member %s at run time: it is recorded, or calls its members by methods written by hand", c.name, name)
	case p.Member(name).Type != "" || p.OffBy(name) != "":
		return nil, fmt.Errorf("%s has a member %s already; choose another name", c.name, name)
	}
	alone, err := Of(c.name, Field{Name: name, Hook: h})
	if err != nil {
		return nil, err
	}
	for _, tool := range alone.Plan().Members[0].Tools {
		if owner := p.Owner(tool); owner != "" {
			return nil, fmt.Errorf("%s: the tool %q is one of %s already", name, tool, owner)
		}
	}
	f := alone.fields[0]
	f.Options.Dynamic = true // its tools are routed behind the static ones
	member := alone.Plan().Members[0]
	member.Dynamic = true
	p.Members = append(slices.Clone(p.Members), member)
	out := *c
	out.plan, out.fields, out.members = &p, append(slices.Clone(c.fields), f), slices.Clone(c.members)
	out.problem = nil
	out.add(f, 0)
	if out.problem != nil {
		return nil, out.problem
	}
	out.problem = c.problem
	out.link()
	return &out, nil
}
