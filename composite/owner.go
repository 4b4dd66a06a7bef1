package composite

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// Binds returns an error unless the member at the path takes the call: that there is
// no such member, or that its Dispatch says the tool is not its own. "" is h itself,
// and a path is one as composites write it, Core.Store or Extra[0]. The call's name is
// the public one; each prefix on the way is taken off it. Members are asked directly,
// so nothing of it is recorded.
func Binds(ctx context.Context, h hook.Hook, path string, call *hook.ToolCall) error {
	owner, local := h, call.Name()
	for rest := path; rest != ""; {
		member, name, behind := memberAt(owner, rest)
		if member == nil {
			return fmt.Errorf("there is no subsystem %s", path)
		}
		ok := true
		if local, ok = strings.CutPrefix(local, prefixOf(owner, name)); !ok {
			return fmt.Errorf("%s has no tools of that name: they begin with its prefix", path)
		}
		owner, rest = member, behind
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

// memberAt returns the member with which the path begins, its name, and what is left
// of the path; nil if there is none.
func memberAt(h hook.Hook, path string) (member hook.Hook, name, rest string) {
	c, ok := h.(interface {
		Members() iter.Seq2[string, hook.Hook]
	})
	if !ok {
		return nil, "", ""
	}
	for name, member := range c.Members() {
		if name == path {
			return member, name, ""
		}
		if rest, ok := strings.CutPrefix(path, name+"."); ok {
			return member, name, rest
		}
	}
	return nil, "", ""
}

// prefixOf returns the prefix of the tools of a member.
func prefixOf(h hook.Hook, name string) string {
	p, ok := h.(interface{ Plan() *plan.Plan })
	if !ok {
		return ""
	}
	field, _, _ := strings.Cut(name, "[")
	return p.Plan().Member(field).Prefix
}
