package wire

import "time"

// NewLink is what a link is for.
type NewLink struct {
	// Scopes are what the page may do: some of read, converse, approve and administer. None is all that the maker may.
	Scopes []string `json:"scopes,omitempty"`
}

// Link is a link by which a page can be entered once.
type Link struct {
	// URLs are the link under each address of the daemon.
	URLs []string `json:"urls"`
	// Expires is when the link ends if nobody uses it.
	Expires time.Time `json:"expires"`
}

// Me is who sends a request.
type Me struct {
	// Name is that of the token; left out for the user of the daemon.
	Name string `json:"name,omitzero"`
	// Scopes are what it may do: read, converse, approve, administer.
	Scopes []string `json:"scopes"`
}
