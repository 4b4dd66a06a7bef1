// Package api serves a runtime over HTTP, on a unix socket of the user's own:
// agents, conversations, turns, the asks that wait for an answer, and events as
// they happen. docs/openapi.yaml describes it; package wire has its types, and
// package client speaks it.
//
// # Who may ask
//
// Whoever can open the socket acts as the user: the directory is 0700, the
// socket 0600, and on Linux a peer of another user (but root) is refused. No
// browser is served: a request with an Origin, a Referer or a Sec-Fetch-Site,
// or for a host other than "grapnel" and "localhost", is refused. GET changes
// nothing. What runs as the same user can open the socket, too, a command of an
// agent included, unless something outside this package hides the socket from it.
//
// # Events
//
// [Hook] stands in the composite and puts every event, encoded once, into a
// ring: one for each conversation and one for all of them together. A stream is
// a position in a ring, so that a reader costs no memory and a slow one costs the
// turn nothing; this bounds what is kept for each reader, however many there are.
// A reader that the ring has overtaken is told exactly how many events it has
// missed.
//
// The id of a server-sent event is "epoch-sequence". Within a conversation the
// sequence is the event's own. It begins anew when the daemon is started or the
// agent is registered again, and then the epoch is another one: a reader that
// resumes with an id of an old epoch is told "restarted" and gets the new one
// from its beginning. What it missed is in the messages of the conversation,
// which are durable; events are not.
//
// # Asks
//
// Hook answers at the point Approve with what a client answers. It can be made
// to refuse after a time, and refuses when the turn ends.
//
// # Locks
//
// No lock is taken while another is held, and none is held while the runtime or
// the network is waited for.
package api
