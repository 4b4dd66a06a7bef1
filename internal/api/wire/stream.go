package wire

// Names of what a stream has besides events, as the field "event" of a
// server-sent event. Events themselves have none.
const (
	// StreamLagged: events directly before what follows are not there any more; Lagged
	// says how many.
	StreamLagged = "lagged"
	// StreamRestarted: what the reader has behind the id of this part was told by a
	// process that died before it was kept; its numbers are given again. Where no
	// events are kept, all numbers have begun anew. See Restarted.
	StreamRestarted = "restarted"
	// StreamClosed: the daemon is ending; this is the last of the stream.
	StreamClosed = "closed"
)

// Lagged is the data of StreamLagged.
type Lagged struct {
	Missed uint64 `json:"missed"`
	// Kept: they were deltas and progress, which are not kept; nothing else is lost.
	Kept bool `json:"kept"`
}

// Restarted is the data of StreamRestarted.
type Restarted struct {
	// Kept: what the reader has up to the id of the part is still true, and nothing
	// behind it is lost but deltas and progress.
	Kept bool `json:"kept"`
}
