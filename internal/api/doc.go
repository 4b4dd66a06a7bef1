// Package api serves a runtime over HTTP, on a unix socket of the user and through
// doors over TCP: agents, conversations, turns, requests for a person's answer, and a stream of events.
// docs/openapi.yaml describes the API, package wire has its types, and package
// client calls it.
//
// # Access
//
// A process that can open the socket acts as the user. The directory has mode 0700
// and the socket 0600. On Linux, connections of other users except root are
// refused; package client checks the daemon's user in the same way before it sends
// anything. Browsers are not served there: a request with an Origin, a Referer or a
// Sec-Fetch-Site, or for a host other than "grapnel" and "localhost", is refused.
// GET changes nothing, but that of a link, which can be used once. Through a [Door]
// package access says who sends a request, and the route what they need. Other processes of the same user can open the socket too,
// also a command that an agent runs, unless something outside this package hides
// the socket from it.
//
// # Events
//
// A stream is a [runtime.Reader]: a slow stream does not slow a turn, and each event
// is encoded once for all streams. The id of a server-sent event is the event's
// "epoch-sequence". It stays valid after a restart of the daemon. A client that
// resumes a stream gets the stored events, which are all but deltas and progress,
// and learns which of the events that it has were not stored.
//
// # Asks and inquiries
//
// Asks are tool calls that need approval; inquiries are questions of agents. Both
// are in the runtime's list of requests. Clients list and answer them; an inquiry can
// be answered before the agent asks. After a restart a resumed turn asks again: an
// inquiry has the same id, an ask a new one.
//
// # Locks
//
// No lock is taken while another is held, or held during a call of the runtime or
// the network.
package api
