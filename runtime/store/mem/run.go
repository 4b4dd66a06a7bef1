package mem

import (
	"context"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

var _ store.Runs = (*Store)(nil)

// WriteRuns implements store.Runs.
func (s *Store) WriteRuns(_ context.Context, runs []store.Run) error {
	for _, r := range runs {
		if err := store.CheckRun(r); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	for _, r := range runs {
		if s.erasedLocked(r.Conversation) {
			continue
		}
		i := slices.IndexFunc(s.runs, func(o store.Run) bool { return o.Project == r.Project && o.ID == r.ID })
		if i >= 0 {
			s.runs[i] = store.MergeRun(s.runs[i], r).Bounded()
			continue
		}
		s.runs = append(s.runs, r.Bounded())
		n := 0
		for _, o := range s.runs {
			if o.Project == r.Project {
				n++
			}
		}
		if n > store.MaxRuns {
			i := slices.IndexFunc(s.runs, func(o store.Run) bool { return o.Project == r.Project })
			s.runs = slices.Delete(s.runs, i, i+1)
		}
	}
	return nil
}

// Runs implements store.Runs.
func (s *Store) Runs(_ context.Context, f store.RunFilter) ([]store.Run, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, store.ErrClosed
	}
	var out []store.Run
	for _, r := range slices.Backward(s.runs) {
		if f.Match(r) {
			r.Attempts = slices.Clone(r.Attempts)
			if out = append(out, r); f.Limit > 0 && len(out) == f.Limit {
				break
			}
		}
	}
	return out, nil
}
