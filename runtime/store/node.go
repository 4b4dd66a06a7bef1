package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Node is one of several daemons over one store.
type Node struct {
	// ID is the owner of the node's leases and jobs. A daemon that was started again is another
	// node.
	ID string `json:"id"`
	// URL is where the other nodes reach it: https://host:port, or unix:/path on the same machine.
	URL string `json:"url"`
	// Version is that of the program, for people.
	Version string `json:"version,omitzero"`
	// TTL is how long the node counts as alive after a beat; from a millisecond to an hour.
	TTL time.Duration `json:"ttl"`
	// Projects are those whose directories the node has.
	Projects []NodeProject `json:"projects,omitzero"`
	// Seen is when the store got the last beat, by the store's clock. Beat ignores it, as Alive.
	Seen time.Time `json:"seen,omitzero"`
	// Alive: by the store's clock no TTL has passed since the last beat, or the store itself was away meanwhile.
	Alive bool `json:"alive,omitzero"`
}

// NodeProject is a project on the disk of a node.
type NodeProject struct {
	// ID is the Project of keys.
	ID string `json:"id"`
	// Root is its directory there.
	Root string `json:"root"`
	// Fingerprint is equal on two nodes if agents see the same there.
	Fingerprint string `json:"fingerprint,omitzero"`
}

// Check returns an error if the node cannot beat. Stores call it.
func (n Node) Check() error {
	if n.ID == "" || n.TTL < time.Millisecond || n.TTL > time.Hour {
		return fmt.Errorf("store: a node has to have an ID and a TTL from a millisecond to an hour, not %v", n.TTL)
	}
	return nil
}

// ErrLate: the beat came later than the TTL after the one before, or the node has left. The node is
// alive again, but others may have taken its leases and jobs in the meantime.
var ErrLate = errors.New("store: the node was not seen for longer than its TTL: others may have taken its conversations")

// ErrDown: the store does not run, as its address says, so it gives no lease away. When it runs again
// no node dies before its TTL is over.
var ErrDown = errors.New("store: the database does not run")

// Presence is implemented by stores that several daemons share. Only the clock of the store
// decides who is alive, never that of a daemon.
//
// A lease whose owner is a node that is not alive can be claimed before its end, and its Until is
// zero in records. A running job of such a node can be taken. An owner that is no node lives until
// its leases end. While nobody can reach the store no node dies: one is dead only when another one has
// beaten for TTL without a gap since its last beat.
type Presence interface {
	// Beat says that the node lives, and replaces what was known of it. ErrLate and ErrDown as they
	// say.
	Beat(ctx context.Context, n Node) error
	// Leave says that the node ends: its leases can be claimed and its jobs taken at once.
	Leave(ctx context.Context, id string) error
	// Nodes returns the nodes by their ids, also those that have died, until nobody needs to
	// know any more. Those that have left are not among them.
	Nodes(ctx context.Context) ([]Node, error)
}

// Waker is implemented by stores that tell of the writes of other processes.
type Waker interface {
	// Watch calls changed with the ids of conversations that were written to, soon after, until
	// ctx ends; its error is the cause of ctx. Some calls may be missing, so who waits reads the
	// store now and then without one. changed must not block.
	Watch(ctx context.Context, changed func(id string)) error
}

// Unfinished is implemented by stores that find turns that have not ended without looking at all
// conversations.
type Unfinished interface {
	// Unfinished returns the conversations that have a journal, without children, in no order. Their
	// leases say whether a turn runs.
	Unfinished(ctx context.Context) ([]Record, error)
}
