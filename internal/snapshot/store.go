package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/privatedir"
)

// Options are limits of a store. A zero value means the default.
type Options struct {
	// FileBytes is the size of the largest file that is copied. Default 64 MiB.
	FileBytes int64
	// IgnoredBytes and IgnoredFiles limit what .gitignore files exclude, in all: an ignored file or directory that does not fit into
	// the rest is left out as a whole. Default 200 MiB and 20,000.
	IgnoredBytes int64
	IgnoredFiles int
	// GitBytes limits the git objects that are copied, because they cannot be linked. Default 512 MiB.
	GitBytes int64
	// Files and Bytes limit the whole: a larger project is [ErrTooLarge]. Default 200,000 entries and 4 GiB of copied files.
	Files int
	Bytes int64
	// Exclude are directories that are no part of the project although they are in it, such as the one that the store is in.
	Exclude []string
}

func (o *Options) withDefaults() Options {
	out := Options{}
	if o != nil {
		out = *o
	}
	set(&out.FileBytes, 64<<20)
	set(&out.IgnoredBytes, 200<<20)
	set(&out.IgnoredFiles, 20_000)
	set(&out.GitBytes, 512<<20)
	set(&out.Files, 200_000)
	set(&out.Bytes, 4<<30)
	return out
}

func set[T int | int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// ErrTooLarge says that a project has more than a snapshot may have.
var ErrTooLarge = errors.New("the project is too large for snapshots")

// ID names a snapshot within its store. Later snapshots have larger ids. Two snapshots between which nothing changed may have the same.
type ID string

// LeftOut is something that a snapshot does not have.
type LeftOut struct {
	// Path is relative to the project, with slashes. It may have any bytes but NUL. Everything below it is left out too.
	Path string
	// Bytes is its size, for a directory over a limit what was counted until then; 0 if unknown.
	Bytes int64
	// Why is the reason, as words for people.
	Why string
}

// Report is what Take says of a snapshot.
type Report struct {
	// Entries is the number of files, links and directories.
	Entries int
	// Copied is how many bytes were added to the store.
	Copied int64
	// LeftOut is sorted by path.
	LeftOut []LeftOut
}

// Store keeps snapshots of one project in a directory. It is safe for concurrent use, also by several processes; operations follow one
// another. Open makes one.
type Store struct {
	o       Options
	project string
	dir     string
	lock    *flock.Flock

	mu   sync.Mutex
	last *manifest // the newest snapshot, once it was read; nil for none
}

// Open returns the store in dir for the project, and makes dir, for the user alone, if it is missing. dir must not be in the project,
// unless it is in an excluded directory.
func Open(project, dir string, o *Options) (*Store, error) {
	info, err := os.Stat(project)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory", project)
	}
	excluded := o != nil && slices.ContainsFunc(o.Exclude, func(part string) bool { return within(part, dir) })
	if within(project, dir) && !excluded {
		return nil, fmt.Errorf("the snapshots of %s cannot be kept in it (%s)", project, dir)
	}
	if err := privatedir.Make(dir); err != nil {
		return nil, err
	}
	for _, sub := range []string{objectsDir, linksDir, listsDir, tmpDir} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	return &Store{o: o.withDefaults(), project: project, dir: dir, lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))}, nil
}

// The parts of a store.
const (
	objectsDir = "objects"   // contents, by checksum
	linksDir   = "links"     // git objects, shared with the project
	listsDir   = "snapshots" // one list of entries for each snapshot
	tmpDir     = "tmp"       // files that are not complete; empty but for the operation that runs
)

// within reports whether dir is root or below it, as far as names and links say.
func within(root, dir string) bool {
	resolve := func(path string) string {
		for rest := ""; ; {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				return filepath.Join(real, rest)
			}
			if up := filepath.Dir(path); up != path {
				path, rest = up, filepath.Join(filepath.Base(path), rest)
				continue
			}
			return filepath.Join(path, rest)
		}
	}
	rel, err := filepath.Rel(resolve(root), resolve(dir))
	return err == nil && filepath.IsLocal(rel)
}

// exclusive calls f while no other operation runs on the store, and empties tmp before.
func (s *Store) exclusive(ctx context.Context, f func() error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for the store of snapshots: %w", err)
	}
	defer func() { err = errors.Join(err, s.lock.Unlock()) }()
	old, err := os.ReadDir(s.path(tmpDir))
	if err != nil {
		return err
	}
	for _, e := range old {
		if err := os.Remove(s.path(tmpDir, e.Name())); err != nil {
			return err
		}
	}
	return f()
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}
