// Package leasemodel has a model of how several daemons share conversations over one
// database, and a search that visits every state of it. Its tests are the reason that
// package durable and the stores do what they do in that order.
//
// [Lease] is one conversation with one turn, which makes one tool call with a side effect.
// Nodes beat, claim, write and run the call. Faults kill, stop and cut off nodes, stop the
// database and lose answers, at any moment, as many as [Lease.Faults]. [Wakes] is a reader
// on another node that is woken by notifications.
//
// In no state two nodes have the same epoch, an acknowledged write is gone, a write of an old
// epoch or a second copy of one is stored, or the call has run twice. No node loses a conversation
// as long as it beats, or would if the database ran. A node that is cut off begins no call after
// another one has taken over; one that was stopped (SIGSTOP) may, before it notices. And while any
// node runs, it can end the turn within the TTL and a beat.
//
// Most fields of Lease and Wakes take one rule away from the protocol. The tests show for each
// that the search then finds a history in which something goes wrong, and print it: that is
// what the rule is for.
//
// The model has one clock, the database's, in seconds: a node beats once a second while it
// runs and reaches the database. A write is one atomic step that carries the epoch and what
// its writer believes to be stored. Left out: several conversations, a second turn, a second call
// at the same time, and a database that loses what it has acknowledged.
package leasemodel
