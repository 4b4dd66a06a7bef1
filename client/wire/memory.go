package wire

import "time"

// Memories are the answer of GET /v1/memories. Total is how many match; there may be more than are listed.
type Memories struct {
	Memories []Memory `json:"memories"`
	Total    int      `json:"total"`
}

// Memory is what an agent has remembered, or what waits for review.
type Memory struct {
	// ID names the memory as it is: after a change it has another one.
	ID string `json:"id"`
	// Waiting: it waits for review, and is no memory yet. Replaces is the text that it replaces when it is approved.
	Waiting  bool   `json:"waiting,omitzero"`
	Replaces string `json:"replaces,omitzero"`
	// Of is the owner: "agent NAME", "space NAME", or "project". User: all projects of the user share it.
	Of      string `json:"of"`
	User    bool   `json:"user,omitzero"`
	Name    string `json:"name"`
	Content string `json:"content"`
	// Kind is fact, preference or task.
	Kind string `json:"kind"`
	// Origin is user, model, tool or page, and Trust the weakest label of what went in.
	Origin     string         `json:"origin"`
	Trust      string         `json:"trust"`
	Confidence float64        `json:"confidence"`
	Sources    []MemorySource `json:"sources,omitempty"`
	// Uses counts how often turns have got it, and Used is the last time.
	Uses    int64     `json:"uses,omitzero"`
	Used    time.Time `json:"used,omitzero"`
	Updated time.Time `json:"updated"`
}

// MemorySource is where a memory was written or confirmed.
type MemorySource struct {
	Conversation string `json:"conversation,omitzero"`
	Turn         string `json:"turn,omitzero"`
}

// MemoryChange is the body of PUT /v1/memories/{memory}: exactly one of the two is set.
type MemoryChange struct {
	// Content is the new text of a memory that does not wait.
	Content string `json:"content,omitzero"`
	// Approve makes what waits a memory.
	Approve bool `json:"approve,omitzero"`
}

// MemoryFilter selects memories; empty fields match all.
type MemoryFilter struct {
	// Agent selects memories of this agent, without those that it shares with others.
	Agent string
	// Text is a part of the name or the content, whatever its case.
	Text string
	// Limit is how many there are at most, up to 1,000; 0 is 100.
	Limit int
}
