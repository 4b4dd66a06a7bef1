// Package dispatch answers each request on the node where it belongs: here, or on another one of those that share the
// store. It knows no operation of the API: a handler that it is given answers here.
//
// A request about a conversation is answered by the node that has its lease, because there the turn runs. Nodes die
// and come while a request is on its way. So a node that is not the right one refuses, and the sender looks again,
// until [Options.Wait] is over. Only requests that a node has refused, or cannot have got, are sent again.
package dispatch
