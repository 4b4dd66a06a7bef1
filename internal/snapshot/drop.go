package snapshot

import (
	"context"
	"os"
)

// Drop removes snapshots, also recent ones and the newest. Their objects go with the next Prune,
// unless another snapshot has them. Unknown ones are ignored.
func (s *Store) Drop(ctx context.Context, ids ...ID) error {
	return s.exclusive(ctx, func() error {
		for _, id := range ids {
			if err := gone(os.Remove(s.path(listsDir, string(id)))); err != nil {
				return err
			}
			if s.last != nil && s.last.ID == id {
				s.last = nil
			}
		}
		return nil
	})
}
