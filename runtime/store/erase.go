package store

import "context"

// Eraser is implemented by stores that can delete conversations. What it deletes no method
// finds any more, and no later conversation or job gets the number of a deleted one. The ids of
// deleted conversations are never used again: jobs and runs that are written late for them are
// dropped.
type Eraser interface {
	// Erase deletes the conversation with all children below it, in one step: messages,
	// archive and branches, journals, events, states, words of the index, jobs and runs.
	// Leases and running jobs of the owners in gone do not count. The error is a
	// [*LeasedError] while there is another lease on one of the conversations, or a job of
	// one runs; ErrUnknown, also for a child. After an error nothing is deleted.
	Erase(ctx context.Context, id string, gone []string) (Erased, error)
	// EraseProject deletes the jobs and runs of the project that belong to no conversation.
	// Conversations stay. A running job is a [*LeasedError] as in Erase. What was spent stays:
	// it has no texts, and limits count it.
	EraseProject(ctx context.Context, project string, gone []string) (Erased, error)
	// Weigh returns how many bytes the store keeps of the conversation and all children below
	// it, without the index of words. ErrUnknown.
	Weigh(ctx context.Context, id string) (int64, error)
	// Shrink gives the space of what was deleted back to the file system, in steps between
	// which others can write, and removes what was deleted from index and log, so that its
	// bytes are in no file of the store any more. freed is by how many bytes the files became
	// smaller. A second call goes on where one has stopped.
	Shrink(ctx context.Context) (freed int64, err error)
}

// Erased says what was deleted.
type Erased struct {
	// Conversations are the ids, the named one first.
	Conversations []string
	// Messages counts those of the archive and of branches too. Events counts the writes
	// of events: one has one or more.
	Messages, Entries, Events, States, Jobs, Runs int64
	// Bytes are those of Weigh, before.
	Bytes int64
}
