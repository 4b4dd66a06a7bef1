package wire

import "time"

// Nodes are the daemons that share a store, sorted by id.
type Nodes struct {
	Nodes []Node `json:"nodes"`
}

// Node is one of several daemons over one store.
type Node struct {
	ID      string `json:"id"`
	URL     string `json:"url"` // where the other daemons reach it
	Version string `json:"version,omitzero"`
	// Seen is when the store heard of it last, by the clock of the store, and Alive whether that is recent enough.
	Seen  time.Time `json:"seen,omitzero"`
	Alive bool      `json:"alive"`
	// Self: it has answered this request.
	Self bool `json:"self,omitzero"`
	// Turns is how many turns it runs; nil if it did not answer.
	Turns    *int          `json:"turns,omitempty"`
	Projects []NodeProject `json:"projects"`
}

// NodeProject is a project on the disk of a node.
type NodeProject struct {
	// Project is its name, which is a directory, and Root the directory there.
	Project string `json:"project"`
	Root    string `json:"root"`
	// Fingerprint is equal on two nodes if agents see the same there. Differs: it is another one than that of another live node.
	Fingerprint string `json:"fingerprint,omitzero"`
	Differs     bool   `json:"differs,omitzero"`
}
