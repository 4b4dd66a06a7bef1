package anthropic

import (
	"strings"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"
)

// lookback is the number of blocks in front of a breakpoint at which the cache is looked up.
const lookback = 20

// usage returns the members of a usage that count the input. They are those of u if it has
// any; else the server counts four bytes as a token, and keeps a cache by the breakpoints.
func (a *answer) usage(u message.Usage) wire.M {
	if u.Input > 0 {
		return wire.M{"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite}
	}
	read, written, all := a.cache()
	return wire.M{"input_tokens": all/4 - written/4, "cache_read_input_tokens": read / 4, "cache_creation_input_tokens": written/4 - read/4}
}

// cache looks up and writes the cache. It returns how many bytes it held, how many it holds
// now, and how many there are.
func (a *answer) cache() (read, written, all int) {
	type place struct {
		digest string
		size   int
	}
	var prefix strings.Builder
	var places []place
	add := func(cached bool, parts ...string) {
		for _, part := range parts {
			prefix.WriteString(part)
		}
		places = append(places, place{wire.Digest(a.ask.Model + prefix.String()), prefix.Len()})
		if !cached {
			return
		}
		for i := len(places) - 1; i >= max(0, len(places)-lookback); i-- {
			if _, held := a.ask.Memory.Noted("cache " + places[i].digest); held {
				read = max(read, places[i].size)
				break
			}
		}
		written = prefix.Len()
	}
	root := a.ask.Root
	var breakpoints []int
	walk(root, func(b wire.Node, role string) {
		cached := b.Get("cache_control").Kind > wire.Null
		add(cached, role, b.Without("cache_control"))
		if cached {
			breakpoints = append(breakpoints, len(places)-1)
		}
	})
	if root.Get("cache_control").Kind > wire.Null && len(places) > 0 {
		add(true)
		breakpoints = append(breakpoints, len(places)-1)
	}
	for _, i := range breakpoints {
		a.ask.Memory.Note("cache "+places[i].digest, "")
	}
	return read, written, prefix.Len()
}

// walk visits the parts of a request in the order of the cache.
func walk(root wire.Node, visit func(b wire.Node, role string)) {
	for _, t := range root.Get("tools").List {
		visit(t, "tool")
	}
	content := func(n wire.Node, role string) {
		if n.Kind == wire.Text {
			visit(n, role)
		}
		for i := range n.List {
			visit(n.List[i], role)
		}
	}
	content(root.Get("system"), "system")
	for _, m := range root.Get("messages").List {
		content(m.Get("content"), m.Get("role").Text)
	}
}
