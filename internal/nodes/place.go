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

// Place returns where the conversation of the record runs. The first row of this table that is true decides:
//
//	this node has the lease                    here, Held
//	another live node with a URL has it        there, Held
//	this node is a candidate                   here
//	the last holder of the lease is one        there
//	there are candidates                       the one that all nodes choose
//	there are none                             nowhere
//
// Candidates are this node and the other live nodes with a URL that have the project, without those in except. If agents
// see the same files on some of them as on the last holder, which their fingerprints show, only those are candidates.
//
// The lease of a node without a URL, such as that of a command, does not count: who claims finds out that it is held.
func (m *Members) Place(rec store.Record, except ...string) Place {
	self, all := m.Self(), m.Nodes()
	last, held := byID(all, rec.Lease.Owner), !rec.Lease.Until.IsZero()
	switch {
	case rec.Lease.Owner == self.ID && held:
		return Place{Here: true, Held: true}
	case rec.Lease.Owner == self.ID:
		last = self
	case held && reachable(last):
		return Place{Node: last, Held: true}
	}
	others := slices.DeleteFunc(all, func(n store.Node) bool { return n.ID == self.ID || !reachable(n) })
	live := slices.DeleteFunc(append(others, self), func(n store.Node) bool { return slices.Contains(except, n.ID) })
	candidates := alike(live, last, rec.Key.Project)
	switch {
	case byID(candidates, self.ID).ID != "":
		return Place{Here: true}
	case byID(candidates, last.ID).ID != "":
		return Place{Node: last}
	case len(candidates) == 0:
		return Place{}
	}
	return Place{Node: slices.MaxFunc(candidates, func(a, b store.Node) int { return cmp.Compare(weight(a.ID, rec.ID), weight(b.ID, rec.ID)) })}
}

// alike returns those of the nodes that have the project with the fingerprint of last, or, if none has, all that have it.
func alike(all []store.Node, last store.Node, project string) []store.Node {
	var having, same []store.Node
	before, known := projectOf(last, project)
	for _, n := range all {
		now, has := projectOf(n, project)
		if has {
			having = append(having, n)
		}
		if has && known && now.Fingerprint == before.Fingerprint {
			same = append(same, n)
		}
	}
	if len(same) > 0 {
		return same
	}
	return having
}

// byID returns the node of that id; one without an ID if there is none.
func byID(all []store.Node, id string) store.Node {
	for _, n := range all {
		if n.ID == id {
			return n
		}
	}
	return store.Node{}
}

// reachable reports whether requests can be sent to the node. A command that uses the store has no URL.
func reachable(n store.Node) bool { return n.Alive && n.URL != "" }

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
	if byID(m.Nodes(), rec.Lease.Owner).ID == "" {
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
