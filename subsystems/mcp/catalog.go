package mcp

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/mcp/internal/schema"
)

// catalog is a snapshot of the tools of all servers; it is never changed.
type catalog struct {
	offered []message.Tool
	index   map[string]*tool
}

// rebuild replaces the catalog by the servers' current tools.
func (m *MCP) rebuild() {
	m.building.Lock()
	defer m.building.Unlock()
	c := &catalog{index: map[string]*tool{}}
	for _, s := range m.declared() {
		s.mu.Lock()
		for _, t := range s.shown.sorted() {
			c.index[t.Name] = t
			if t.unusable == "" {
				c.offered = append(c.offered, t.Tool)
			}
		}
		s.mu.Unlock()
	}
	c.offered = slices.Clip(c.offered)
	m.catalog.Store(c)
}

// tool is one tool of a server. It is never changed.
type tool struct {
	message.Tool
	server *server
	remote string // the server's own name for it
	schema *schema.Schema
	// unusable says why the tool is disabled; "" if it is not. An agent may still have
	// the tool: its calls are bound, and answered with the reason.
	unusable string
}

// without returns the tool, disabled for the reason.
func (t *tool) without(reason string) *tool {
	out := *t
	out.unusable = reason
	return &out
}

// pin is the hash of a tool's name, description and schema.
type pin [sha256.Size]byte

func (t *tool) pin() pin {
	return sha256.Sum256([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.Input)))
}

// RefusedTool is a listed tool that agents do not get.
type RefusedTool struct {
	// Name is the server's own name for it.
	Name   string
	Reason string
}

// tools are the tools that one server has listed; server.mu guards them.
type tools struct {
	byName  map[string]*tool // by public name; also disabled ones
	refused []RefusedTool
	pins    map[string]pin // of every tool when it was first seen or accepted
	changed map[string]*tool
}

const (
	reasonGone    = "the server does not offer this tool any more"
	reasonChanged = "the server changed its description or schema since it was first seen; " +
		"it is out of use until a person accepts the change"
)

// replace takes over the server's new list. It disables tools that the list no longer has,
// or has with changes.
func (ts *tools) replace(s *server, listed []*sdk.Tool) {
	if ts.byName == nil {
		ts.byName = map[string]*tool{}
	}
	if ts.pins == nil {
		ts.pins = map[string]pin{}
	}
	for name, t := range ts.byName {
		ts.byName[name] = t.without(reasonGone)
	}
	ts.refused, ts.changed = nil, map[string]*tool{}
	times := map[string]int{}
	for _, t := range listed {
		times[t.Name]++
	}
	for _, l := range listed {
		n := times[l.Name]
		times[l.Name] = 0
		if n > 1 {
			ts.refuse(l.Name, fmt.Sprintf("the server lists it %d times", n))
		}
		if n != 1 {
			continue
		}
		t, err := newTool(s, l)
		if err != nil {
			ts.refuse(l.Name, err.Error())
			continue
		}
		ts.take(t)
	}
	slices.SortFunc(ts.refused, func(a, b RefusedTool) int { return cmp.Compare(a.Name, b.Name) })
}

func (ts *tools) refuse(name, reason string) {
	ts.refused = append(ts.refused, RefusedTool{Name: name, Reason: reason})
}

func (ts *tools) take(t *tool) {
	have, seen := ts.pins[t.Name]
	if !seen || have == t.pin() {
		ts.pins[t.Name] = t.pin()
		ts.byName[t.Name] = t
		return
	}
	ts.changed[t.Name] = t
	ts.byName[t.Name] = t.without(reasonChanged)
	ts.refuse(t.remote, reasonChanged)
}

// accept enables a changed tool again; false if it has not changed.
func (ts *tools) accept(name string) bool {
	t := ts.changed[name]
	if t == nil {
		return false
	}
	delete(ts.changed, name)
	ts.pins[name], ts.byName[name] = t.pin(), t
	ts.refused = slices.DeleteFunc(ts.refused, func(r RefusedTool) bool { return r.Name == t.remote })
	return true
}

func (ts *tools) sorted() []*tool {
	out := make([]*tool, 0, len(ts.byName))
	for _, t := range ts.byName {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *tool) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Accept enables a tool again that was disabled because its server changed its description
// or schema. name is the public one. A person must have seen the change. Registered agents
// keep the old description until they are built again.
func (m *MCP) Accept(name string) error {
	t, ok := m.catalog.Load().index[name]
	if !ok {
		return fmt.Errorf("mcp: no tool %q is known", name)
	}
	t.server.mu.Lock()
	accepted := t.server.shown.accept(name)
	t.server.mu.Unlock()
	if !accepted {
		return fmt.Errorf("mcp: the tool %q has not changed", name)
	}
	m.rebuild()
	return nil
}
