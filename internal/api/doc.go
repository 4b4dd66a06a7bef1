// Package api serves a runtime over HTTP, on a unix socket of the user's own:
// agents, conversations, turns, what waits for a person's answer, and events as
// they happen. docs/openapi.yaml describes it; package wire has its types, and
// package client speaks it.
//
// # Who may ask
//
// Whoever can open the socket acts as the user: the directory is 0700, the
// socket 0600, and on Linux a peer of another user (but root) is refused. Package
// client holds the daemon to the same before it sends anything. No
// browser is served: a request with an Origin, a Referer or a Sec-Fetch-Site,
// or for a host other than "grapnel" and "localhost", is refused. GET changes
// nothing. What runs as the same user can open the socket, too, a command of an
// agent included, unless something outside this package hides the socket from it.
//
// # Events
//
// A stream is a [runtime.Reader], so that a slow one costs a turn
// nothing, and an event is encoded once for all of them. The id of a server-sent
// event is "epoch-sequence", the event's own. It stays valid when the daemon is
// started again: a reader that resumes gets what the database has kept, which is
// everything but deltas and progress, and is told which of its events were not.
//
// # Asks and inquiries
//
// Calls that need approval, which clients know as asks, and questions of agents wait
// in the runtime's one list of requests. Clients list and answer them, questions also
// before they are put. After a restart those of a turn that is resumed are put
// again: a question under the same id, an ask under another one.
//
// # Locks
//
// No lock is taken while another is held, and none is held while the runtime or
// the network is waited for.
package api
