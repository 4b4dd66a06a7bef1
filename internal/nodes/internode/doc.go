// Package internode carries requests from one node to another, with who sent them.
//
// # Trust
//
// Nodes on several machines speak TLS 1.3, and both ends show a certificate of the nodes' own authority, which signs
// nothing else: whoever has such a certificate is a node, and may say in whose name a request comes. Nodes of one
// machine may speak over unix sockets, where the system says who is at the other end: the same user, or root.
// Nothing else is dialled, whatever URL the store has: see [Client.Do]. No proxy of the environment is used, and no
// redirect is followed.
//
// The node that a client speaks to checks the client's token and its scopes. It passes on the token's id, name and
// scopes, and those of its projects that the other node has, never the token, in the header [HeaderCaller], which counts between nodes only. The node that gets it checks the scopes
// again.
//
// # One hop
//
// A request names the node that is meant, in the header [HeaderNode]. That node answers it or refuses it with
// 421 (Misdirected Request); it passes it on to nobody, so no request goes round in circles.
package internode
