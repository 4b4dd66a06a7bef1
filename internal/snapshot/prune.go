package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Pruned is what Prune did.
type Pruned struct {
	// Kept is how many of the groups are kept: the first ones.
	Kept int
	// Freed is how many bytes of the store are free now, without those that the project shares.
	Freed int64
}

// unrecorded is how long a snapshot is kept that nobody has a record of.
const unrecorded = 10 * time.Minute

// Prune removes snapshots. Groups are those that belong together, the most valuable first, as the snapshots of one turn. As many groups
// stay as have files of at most limit bytes together; the first one stays always. Of all others, only the newest snapshot and those
// of the last ten minutes stay.
func (s *Store) Prune(ctx context.Context, groups [][]ID, limit int64) (out Pruned, err error) {
	err = s.exclusive(ctx, func() error {
		if err := s.newest(); err != nil {
			return err
		}
		keep, kept := s.choose(groups, limit)
		out.Kept = kept
		ids, err := s.lists()
		if err != nil {
			return err
		}
		keys := map[string]bool{}
		for i, id := range ids {
			info, err := os.Stat(s.path(listsDir, string(id)))
			if err != nil {
				return err
			}
			if keep[id] || i == len(ids)-1 || time.Since(info.ModTime()) < unrecorded {
				if m, err := s.load(id); err == nil {
					add(keys, m)
				}
				continue
			}
			if err := os.Remove(s.path(listsDir, string(id))); err != nil {
				return err
			}
			out.Freed += info.Size()
		}
		freed, err := s.sweep(keys)
		out.Freed += freed
		return err
	})
	return out, err
}

// Size returns how many bytes the store takes, without what the project shares with it.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	err = s.exclusive(ctx, func() error {
		return filepath.WalkDir(s.dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil && shared(info) == 1 {
				size += info.Size()
			}
			return gone(err)
		})
	})
	return size, err
}

// choose returns the snapshots of the groups that stay, and how many groups these are. A snapshot that cannot be read needs no room.
func (s *Store) choose(groups [][]ID, limit int64) (keep map[ID]bool, kept int) {
	keep = map[ID]bool{}
	keys := map[string]bool{}
	var size int64
	for i, ids := range groups {
		for _, id := range ids {
			if m, err := s.load(id); err == nil && !keep[id] {
				size += add(keys, m)
			}
		}
		if i > 0 && size > limit {
			return keep, i
		}
		for _, id := range ids {
			keep[id] = true
		}
	}
	return keep, len(groups)
}

// add adds the objects of a snapshot, and returns the size of those that are new and that the store has for itself.
func add(keys map[string]bool, m *manifest) (size int64) {
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Kind != file || keys[e.Content] {
			continue
		}
		keys[e.Content] = true
		if len(e.Content) == 64 { // not linked
			size += e.Size
		}
	}
	return size
}

// sweep removes the objects that are not among keys.
func (s *Store) sweep(keys map[string]bool) (freed int64, err error) {
	for _, dir := range []string{objectsDir, linksDir} {
		walked := filepath.WalkDir(s.path(dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || keys[d.Name()] {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return gone(err)
			}
			if shared(info) == 1 {
				freed += info.Size()
			}
			return os.Remove(path)
		})
		err = errors.Join(err, walked)
	}
	return freed, err
}
