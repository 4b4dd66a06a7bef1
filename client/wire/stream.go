package wire

// Values of the field "event" of a server-sent event. Events of the runtime have none; these
// mark notes about the stream.
const (
	// StreamLagged: the events directly before the next one are missing; Lagged has their
	// number.
	StreamLagged = "lagged"
	// StreamRestarted: a process died before it stored its last events. The reader may have
	// events after the id of this note that are not stored, and their numbers are used
	// again. If no events are stored at all, all numbers begin anew. See Restarted.
	StreamRestarted = "restarted"
	// StreamClosed: the daemon is shutting down, and the stream ends here.
	StreamClosed = "closed"
	// StreamWaiting: the turn was interrupted, and waits for a daemon that has its project. See Waiting.
	StreamWaiting = "waiting"
)

// Waiting is the data of StreamWaiting.
type Waiting struct {
	Project string `json:"project"`
}

// Lagged is the data of StreamLagged.
type Lagged struct {
	Missed uint64 `json:"missed"`
	// Kept: the missed events are only deltas and progress, which are not stored.
	Kept bool `json:"kept"`
}

// Restarted is the data of StreamRestarted.
type Restarted struct {
	// Kept: the events up to the id of the note are still valid, and after it only deltas
	// and progress are lost.
	Kept bool `json:"kept"`
}
