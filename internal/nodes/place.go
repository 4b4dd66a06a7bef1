package nodes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Place is where a conversation runs.
type Place struct {
	// Here: on this node.
	Here bool
	// Held: Node, or this one, has the lease of the conversation.
	Held bool
	// Node is another live node; without an ID if there is none.
	Node store.Node
}

// Nowhere: no live node has the project, so that no turn can run.
func (p Place) Nowhere() bool { return !p.Here && p.Node.ID == "" }

// Place returns where the conversation of the record runs. A node that has its lease comes first.
// If none has, it is a live node that has the project: this one, before the one that had the lease last, before any
// other. Nodes in except do not count, unless they have the lease. Nodes without a URL never do: that a command has the
// conversation is found out here.
//
// Agents of two nodes may see different files, which their fingerprints show. Then only nodes count
// that have the fingerprint of the last holder of the lease, as long as such a node lives.
func (m *Members) Place(rec store.Record, except ...string) Place {
	self, all := m.Self(), m.Nodes()
	held := !rec.Lease.Until.IsZero()
	if held && rec.Lease.Owner == self.ID {
		return Place{Here: true, Held: true}
	}
	var last store.Node // the last holder, dead or alive
	for _, n := range all {
		if n.ID == rec.Lease.Owner {
			last = n
		}
	}
	if held && last.Alive && last.ID != self.ID && last.URL != "" {
		return Place{Node: last, Held: true}
	}
	if last.ID == self.ID || rec.Lease.Owner == self.ID {
		last = self
	}
	self.Alive = true
	candidates := append(slices.DeleteFunc(all, func(n store.Node) bool { return n.ID == self.ID }), self)
	candidates = slices.DeleteFunc(candidates, func(n store.Node) bool {
		return !n.Alive || n.URL == "" && n.ID != self.ID || slices.Contains(except, n.ID)
	})
	return free(rec, candidates, self.ID, last)
}

// free returns which of the live nodes a conversation without a holder runs on. last had its lease last.
func free(rec store.Record, live []store.Node, self string, last store.Node) Place {
	project := rec.Key.Project
	with := func(fits func(store.NodeProject) bool) []store.Node {
		return slices.DeleteFunc(slices.Clone(live), func(n store.Node) bool { p, has := projectOf(n, project); return !has || !fits(p) })
	}
	candidates := with(func(store.NodeProject) bool { return true })
	if before, has := projectOf(last, project); has {
		if same := with(func(p store.NodeProject) bool { return p.Fingerprint == before.Fingerprint }); len(same) > 0 {
			candidates = same
		}
	}
	for _, id := range []string{self, last.ID} {
		i := slices.IndexFunc(candidates, func(n store.Node) bool { return n.ID == id })
		if i >= 0 {
			if id == self {
				return Place{Here: true}
			}
			return Place{Node: candidates[i]}
		}
	}
	if len(candidates) == 0 {
		return Place{}
	}
	return Place{Node: slices.MaxFunc(candidates, func(a, b store.Node) int { return cmp.Compare(weight(a.ID, rec.ID), weight(b.ID, rec.ID)) })}
}

// weight spreads conversations over nodes so that all nodes choose the same one (rendezvous hashing).
func weight(node, conversation string) uint64 {
	sum := sha256.Sum256([]byte(node + "\x00" + conversation))
	return binary.BigEndian.Uint64(sum[:])
}

func projectOf(n store.Node, project string) (store.NodeProject, bool) {
	i := slices.IndexFunc(n.Projects, func(p store.NodeProject) bool { return p.ID == project })
	if i < 0 {
		return store.NodeProject{}, false
	}
	return n.Projects[i], true
}

// Holder returns the other live node that has the lease of the conversation; false if none has. It reads the nodes
// again if the owner is one that it does not know.
func (m *Members) Holder(ctx context.Context, rec store.Record) (store.Node, bool) {
	if rec.Lease.Until.IsZero() || rec.Lease.Owner == m.o.Node.ID {
		return store.Node{}, false
	}
	known := func() int {
		return slices.IndexFunc(m.Nodes(), func(n store.Node) bool { return n.ID == rec.Lease.Owner })
	}
	if known() < 0 {
		_ = m.Refresh(ctx) // without an answer it stays unknown
	}
	p := m.Place(rec)
	return p.Node, p.Held && !p.Here
}

// compare logs, once, that another node's agents see something else in a project than those of this one.
func (m *Members) compare(all []store.Node) {
	self, now := m.Self(), map[string]bool{}
	for _, n := range all {
		if !n.Alive || n.ID == self.ID {
			continue
		}
		for _, own := range self.Projects {
			if p, has := projectOf(n, own.ID); has && p.Fingerprint != own.Fingerprint {
				now[fmt.Sprintf("the agents of the project %s differ on the node %s (%s there, %s here): give both the same files, then reload both; `grapnel nodes` lists them",
					own.ID, n.ID, short(p.Fingerprint), short(own.Fingerprint))] = true
			}
		}
	}
	m.mu.Lock()
	before := m.differences
	m.differences = now
	m.mu.Unlock()
	for _, text := range slices.Sorted(maps.Keys(now)) {
		if !before[text] {
			m.o.Log(text)
		}
	}
}

// Differs reports whether a live node has the project with another fingerprint.
func Differs(all []store.Node, of store.NodeProject) bool {
	return slices.ContainsFunc(all, func(n store.Node) bool {
		p, has := projectOf(n, of.ID)
		return n.Alive && has && p.Fingerprint != of.Fingerprint
	})
}

// short is the beginning of a fingerprint.
func short(fingerprint string) string { return fingerprint[:min(len(fingerprint), 12)] }
