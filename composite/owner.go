package composite

import (
	"context"
	"fmt"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
)

// Binds returns an error unless the member at the path takes the call: that there is
// no such member, or that its Dispatch says the tool is not its own. "" is c itself,
// and a path is one as composites write it, Core.Store or Extra[0]. The call's name is
// the public one; each prefix on the way is taken off it. Members are asked directly,
// so nothing of it is recorded.
func (c *Composite) Binds(ctx context.Context, path string, call *hook.ToolCall) error {
	var owner hook.Hook = c
	local := call.Name()
	for rest := path; rest != ""; {
		in, ok := owner.(*Composite)
		if !ok {
			return fmt.Errorf("there is no subsystem %s", path)
		}
		m, behind := in.memberAt(rest)
		if m == nil {
			return fmt.Errorf("there is no subsystem %s", path)
		}
		if local, ok = m.local(local); !ok {
			return fmt.Errorf("%s has no tools of that name: they begin with its prefix", path)
		}
		owner, rest = m.hook, behind
	}
	if local != call.Name() {
		call = call.As(local)
	}
	if _, ok := owner.Dispatch(ctx, call); !ok {
		if path == "" {
			path = "who contributes it"
		}
		return fmt.Errorf("%s does not take calls of it", path)
	}
	return nil
}

// memberAt returns the member with which the path begins, and what is left of the path;
// nil if there is none.
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
