package snapshot

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// kind is what an entry is.
type kind byte

const (
	file kind = iota + 1
	directory
	link
)

// kept are the bits of a mode that a snapshot has.
const kept = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// entry is one file, directory or link. Fields are exported for gob.
type entry struct {
	// Path is relative to the project, with slashes, in any bytes.
	Path string
	Kind kind
	Mode fs.FileMode // kept bits; 0 for a link
	Size int64       // of a file
	// Content is the key of the file's object, or the target of a link.
	Content string
	Stat    stat
	// Fresh: the file had changed so shortly before that its times cannot show a further change.
	Fresh bool
}

// stat is what shows that a file may have changed. Change and Inode are 0 on systems without them.
type stat struct {
	Mtime, Change int64 // in nanoseconds since 1970
	Inode         uint64
}

// same reports whether two entries have the same state; nil is one of a path where nothing is.
func same(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Mode == b.Mode && a.Content == b.Content && (a.Kind != file || a.Size == b.Size)
}

// manifest is a snapshot: a list of entries, and what was left out, each sorted by path.
type manifest struct {
	ID      ID
	Entries []entry
	LeftOut []leftOut

	byPath map[string]*entry // filled by index
}

// leftOut is a [LeftOut] with the state of a directory over its limit, which need not be counted again while that is the same.
type leftOut struct {
	LeftOut
	Over bool
	Stat stat
}

func (m *manifest) index() {
	m.byPath = make(map[string]*entry, len(m.Entries))
	for i := range m.Entries {
		m.byPath[m.Entries[i].Path] = &m.Entries[i]
	}
}

// at returns the entry of a path; nil without one, and in a nil manifest.
func (m *manifest) at(path string) *entry {
	if m == nil {
		return nil
	}
	return m.byPath[path]
}

// unknown reports whether the path, or a directory above it, was left out. A directory that could not be read is known itself.
func (m *manifest) unknown(p string) bool {
	if len(m.LeftOut) == 0 {
		return false
	}
	if m.at(p) != nil {
		p = path.Dir(p)
	}
	for ; p != "."; p = path.Dir(p) {
		if m.left(p) != nil {
			return true
		}
	}
	return false
}

func (m *manifest) left(p string) *leftOut {
	if m == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(m.LeftOut, p, func(l leftOut, p string) int { return strings.Compare(l.Path, p) })
	if !ok {
		return nil
	}
	return &m.LeftOut[i]
}

// like reports whether two snapshots are the same, but for their ids and for which files are fresh.
func (m *manifest) like(o *manifest) bool {
	return o != nil && slices.Equal(m.LeftOut, o.LeftOut) && slices.EqualFunc(m.Entries, o.Entries, func(a, b entry) bool {
		a.Fresh = b.Fresh
		return a == b
	})
}

func (m *manifest) sort() {
	slices.SortFunc(m.Entries, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(m.LeftOut, func(a, b leftOut) int { return strings.Compare(a.Path, b.Path) })
}

// format begins each list.
const format = "grapnel snapshot 1\n"

// maxList bounds the file of a list, which only this package writes.
const maxList = 1 << 30

// save writes the list, and gives it an id that is larger than that of the last one.
func (s *Store) save(m *manifest) error {
	id := ulid.Make()
	for s.last != nil && ID(id.String()) <= s.last.ID { // within one millisecond, or the clock was set back
		last, err := ulid.ParseStrict(string(s.last.ID))
		if err != nil {
			return err
		}
		if err := id.SetTime(last.Time() + 1); err != nil {
			return err
		}
	}
	m.ID = ID(id.String())
	f, err := os.CreateTemp(s.path(tmpDir), "list")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	_, err = w.WriteString(format)
	if err == nil {
		err = gob.NewEncoder(w).Encode(m)
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path(listsDir, string(m.ID)))
}

// ErrNoSnapshot says that the store does not have a snapshot (any more), or cannot read it.
var ErrNoSnapshot = errors.New("the snapshot is not kept any more")

// load returns a snapshot. Its error wraps [ErrNoSnapshot].
func (s *Store) load(id ID) (*manifest, error) {
	if s.last != nil && s.last.ID == id {
		return s.last, nil
	}
	if _, err := ulid.ParseStrict(string(id)); err != nil {
		return nil, fmt.Errorf("%q: %w", id, ErrNoSnapshot)
	}
	f, err := os.Open(s.path(listsDir, string(id)))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSnapshot, err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.LimitReader(f, maxList), 1<<16)
	head := make([]byte, len(format))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != format {
		return nil, fmt.Errorf("%s: %w: its list is damaged", id, ErrNoSnapshot)
	}
	m := &manifest{}
	if err := gob.NewDecoder(r).Decode(m); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", id, ErrNoSnapshot, err)
	}
	m.ID = id
	m.index()
	return m, nil
}

// newest fills s.last from the store, if another process has written a newer list, or this one has read none yet. A list that cannot be
// read counts as none: every file is read again.
func (s *Store) newest() error {
	ids, err := s.lists()
	if err != nil || len(ids) == 0 {
		s.last = nil
		return err
	}
	id := ids[len(ids)-1]
	if s.last != nil && s.last.ID == id {
		return nil
	}
	s.last = nil
	if m, err := s.load(id); err == nil {
		s.last = s.intact(m)
	}
	return nil
}

// intact returns the snapshot without the files whose objects the store lacks, as after a loss of power.
func (s *Store) intact(m *manifest) *manifest {
	for i := range m.Entries {
		if e := &m.Entries[i]; e.Kind == file && !s.has(e.Content, e.Size) {
			e.Fresh = true
		}
	}
	return m
}

// lists returns the ids of all snapshots, oldest first.
func (s *Store) lists() ([]ID, error) {
	names, err := os.ReadDir(s.path(listsDir))
	var out []ID
	for _, n := range names {
		if _, err := ulid.ParseStrict(n.Name()); err == nil {
			out = append(out, ID(n.Name()))
		}
	}
	return out, err
}

// touch protects a snapshot that nobody has a record of yet from Prune.
func (s *Store) touch(id ID) error {
	now := time.Now()
	return os.Chtimes(s.path(listsDir, string(id)), now, now)
}
