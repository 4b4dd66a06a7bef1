package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Search returns the messages of this project's conversations that match best, the
// best first; store.Searcher says what is looked at and what is never shown.
// Query.AllProjects searches the others too. Search does not know who may see what:
// narrow the query to the agents and senders that the asker may read.
// ErrUnsupported if the store cannot search.
func (r *Runtime) Search(ctx context.Context, q store.Query) ([]store.Match, error) {
	if err := r.checkOpen(); err != nil {
		return nil, err
	}
	s, ok := r.o.Store.(store.Searcher)
	if !ok {
		return nil, fmt.Errorf("%w: searching", ErrUnsupported)
	}
	q.Project = r.o.Project
	found, err := s.Search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("search conversations: %w", err)
	}
	return found, nil
}
