package wire

// Deletion is the body of POST /v1/deletions. Exactly one of Conversation, Sender and Project is
// set.
type Deletion struct {
	// Conversation is the id of one conversation.
	Conversation string `json:"conversation,omitzero"`
	// Sender names whose conversations of all projects are deleted.
	Sender string `json:"sender,omitzero"`
	// Project is the directory of a project, of which everything is deleted; ProjectBefore is what
	// is older than projects.
	Project string `json:"project,omitzero"`
	// DryRun says what would be deleted, and deletes nothing.
	DryRun bool `json:"dry_run,omitzero"`
}

// Deleted is what was deleted, or would be.
type Deleted struct {
	DryRun bool `json:"dry_run"`
	// Conversations are the ids, those of delegated tasks too.
	Conversations []string `json:"conversations"`
	// Places are those that have something of the subject, or keep it.
	Places []DeletedPlace `json:"places"`
	// Freed is by how many bytes the files of the conversations became smaller.
	Freed int64 `json:"freed"`
}

// DeletedPlace is what one place has deleted and what it keeps.
type DeletedPlace struct {
	Place string `json:"place"`
	// Deleted counts what What names.
	Deleted int64  `json:"deleted"`
	What    string `json:"what,omitzero"`
	// Bytes is the size of that; 0 if nobody has counted.
	Bytes int64 `json:"bytes,omitzero"`
	// Kept says what stays there and why; "" is nothing.
	Kept string `json:"kept,omitzero"`
}
