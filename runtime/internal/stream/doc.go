// Package stream lets any number of readers follow the events of conversations,
// each at its own pace and none at the cost of a turn.
//
// A [Hub] has one ring for each conversation that somebody follows and one for
// all events together. A ring has each event once, and a reader is a position in
// it: a hundred readers cost what one costs, and a reader that takes nothing
// costs nothing. What a ring has is bounded in number and bytes.
//
// # What a reader gets
//
// Every event exactly once and in order, or exactly how many it has missed. A
// reader that the ring has overtaken, or that comes back after the process was
// started again, is given what the store has kept, and then goes on with the
// ring. The store keeps everything but deltas and progress, so these are all that
// such a reader misses, and it is told so: [Item.Kept]. Where no events are kept,
// it misses what the ring does not have any more.
//
// # Numbers
//
// A [Position] is the epoch of the lease under which an event happened and its
// sequence in the conversation. Sequences go on over restarts behind the last
// event that was kept. An event that was told and not yet kept when the process
// died has its number given again, in a later epoch; so a reader whose last event
// was such a one is told that it restarted, and from where.
//
// # Locks
//
// The lock of a hub is taken before that of a ring, and none is held while a
// store or a source is waited for.
package stream
