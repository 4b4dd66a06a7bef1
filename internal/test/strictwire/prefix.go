package strictwire

import "github.com/grapnel-go/grapnel/internal/test/strictwire/internal/wire"

// Prefix compares a request with the one before: what a prompt cache can use of it. Cache
// breakpoints do not count, because they are no part of what is cached.
type Prefix struct {
	// Bytes is the length of what both bodies begin with.
	Bytes int
	// Tools and System: the tools, and the standing instructions, are the same.
	Tools, System bool
	// Kept is the number of messages, from the first one, that are the same; Before is the
	// number of messages that the request before has.
	Kept, Before int
}

// Stable reports whether the request continues the one before: the same tools, the same
// instructions, and every message of it.
func (p Prefix) Stable() bool { return p.Tools && p.System && p.Kept == p.Before }

func (h *Handler) prefix(before, now string) Prefix {
	var p Prefix
	for p.Bytes < min(len(before), len(now)) && before[p.Bytes] == now[p.Bytes] {
		p.Bytes++
	}
	old, fault := new(wire.Parser).Parse(before)
	root, newFault := new(wire.Parser).Parse(now)
	if fault != "" || newFault != "" {
		return p
	}
	same := func(a, b wire.Node) bool { return a.Without("cache_control") == b.Without("cache_control") }
	tools, system, messages := h.wire.vendor.Cached(root)
	oldTools, oldSystem, oldMessages := h.wire.vendor.Cached(old)
	p.Tools, p.System, p.Before = same(tools, oldTools), same(system, oldSystem), len(oldMessages)
	for p.Kept < min(len(messages), len(oldMessages)) && same(messages[p.Kept], oldMessages[p.Kept]) {
		p.Kept++
	}
	return p
}

// keep keeps a request and returns its number.
func (h *Handler) keep(c *wire.Check, body string) int {
	r := Request{Model: c.Model, Body: body}
	if broken := c.Broken(); len(broken) > 0 {
		r.Refusal = &broken[0]
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.requests); n > 0 {
		r.Prefix = h.prefix(h.requests[n-1].Body, body)
	}
	if h.requests = append(h.requests, r); len(h.requests) > maxRequests {
		h.requests = h.requests[1:]
	}
	h.total++
	return h.total
}
