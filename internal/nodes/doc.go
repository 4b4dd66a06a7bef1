// Package nodes is the membership of a daemon among the daemons that share its store, and says on which of
// them a conversation runs. It moves nothing itself: package internode below it carries requests from node to node.
//
// Each tenant of a daemon is a node of its own, with the URL of the daemon: the name of its project has its owner.
//
// # Alive
//
// A node lives as long as the store gets its beats: only the clock of the store decides, so no two machines'
// clocks are ever compared. A node cannot know what the store thinks of it while it cannot reach the store. So it
// measures by its own monotonic clock how long ago its last successful beat was sent. After two thirds of the TTL
// it counts its leases as lost: its turns have to end before others may take their conversations. The epoch of a
// lease stops late writes, but not what commands do. A store that does not run gives no lease away: then the node
// keeps its turns, for ten TTLs at most. If the store refuses this node alone, others take them meanwhile, and only the epoch
// keeps the two apart.
//
// The monotonic clock of Linux stands still while the machine is suspended. Then the node learns from the answer
// to its next beat that it was late.
//
// # Locks
//
// Lock Members.checking, which is held during calls of Lost, or Members.readings.one, which is held during calls of Died, before
// Members.mu, which is held during no call.
package nodes
