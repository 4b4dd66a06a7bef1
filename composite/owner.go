package composite

import (
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Binds returns an error unless the member at the path binds the call: if there is no such
// member, or if its Dispatch returns false. "" is c itself; other paths are like Core.Store
// or Extra[0]. The call has the public name of its tool; Binds removes the prefixes on the
// way. It calls the member directly, so no hook run is recorded.
func (c *Composite) Binds(ctx context.Context, path string, call *hook.ToolCall) error {
	var owner hook.Hook = c
	local := call.Name()
	for rest := path; rest != ""; {
		in, ok := owner.(*Composite)
		if !ok {
			return fmt.Errorf("there is no subsystem %s", path)
		}
		m, tail := in.memberAt(rest)
		if m == nil {
			return fmt.Errorf("there is no subsystem %s", path)
		}
		if local, ok = m.local(local); !ok {
			return fmt.Errorf("%s has no tools of that name: they begin with its prefix", path)
		}
		owner, rest = m.hook, tail
	}
	if local != call.Name() {
		call = call.As(local)
	}
	if _, ok := owner.Dispatch(ctx, call); !ok {
		if path == "" {
			path = "its contributor"
		}
		return fmt.Errorf("%s does not bind calls of it", path)
	}
	return nil
}

// memberAt returns the member with which the path begins, and the rest of the path; nil if
// there is none.
func (c *Composite) memberAt(path string) (m *member, rest string) {
	for i := range c.members {
		m := &c.members[i]
		if m.path == path {
			return m, ""
		}
		if rest, ok := strings.CutPrefix(path, m.path+"."); ok {
			return m, rest
		}
	}
	return nil, ""
}
