// Package stream emits the events of conversations to hooks, observers and any
// number of readers. Each reader reads at its own pace and never delays a turn.
//
// A [Log] numbers and delivers the events of one conversation. A [Hub] has one ring
// for each conversation with readers, and one for all events together. A ring has
// each event once, and a reader is a position in it: a hundred readers cost as much
// as one, and an idle reader costs nothing. A ring is bounded in events and bytes.
//
// # What a reader gets
//
// A reader gets every event exactly once and in order, or the exact number of events
// that it missed. A reader that the ring has overtaken, or that returns after a
// restart of the process, gets the stored events first and then continues with the
// ring. The store keeps all events but deltas and progress, so such a reader misses
// only those; [Item.Kept] says so. Without a store it misses the events that the
// ring has dropped.
//
// # Numbers
//
// A [Position] is the epoch of the lease under which an event happened, and its
// sequence in the conversation. After a restart sequences continue behind the last
// stored event. If a process dies after it delivered an event and before it stored
// it, a later epoch uses the same number again. A reader whose last event was such
// an event gets an item that says so: [Item.Restarted].
//
// # Several processes
//
// Processes that share a store emit the events of a conversation one after the other, each under an
// epoch of its own. A ring has only those of its process. A reader whose position has a newer epoch
// reads the store, and [Hub.Wake] makes those of an older one do so. Deltas of another process are
// in no store: who wants them reads there.
//
// # Locks
//
// Lock Hub.mu before ring.mu. Neither is held during a call of a store or a source.
// The locks of a log are described at [Log].
package stream
