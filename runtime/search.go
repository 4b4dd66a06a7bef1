package runtime

import (
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Search returns the best matches among the messages of this project's conversations, the
// best first; with Query.AllProjects, of all projects. [store.Searcher] documents which
// messages are searched and shown. Search checks no permissions: the caller narrows the
// query to the agents and senders that its user may read. The error is ErrUnsupported if
// the store cannot search, ErrNotOpen, ErrClosed, or that of the store.
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
