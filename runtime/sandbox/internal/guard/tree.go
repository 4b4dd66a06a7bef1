package guard

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/internal/protected"
)

// tree is what is known of the directories of a project: where repositories are. The kernel tells which directories have changed; where
// it cannot, every directory is asked for its time.
type tree struct {
	project string
	folders map[string]*folder // by relative path
	watch   *watcher           // nil: the kernel does not tell
	root    *os.Root
	// opened are the directories that were closed to everybody, with their modes, while they are looked into; inner ones come later.
	opened []opened
}

type opened struct {
	rel  string
	mode fs.FileMode
}

// folder is a directory of the project.
type folder struct {
	stamp stamp
	// below are the names of directories in it.
	below []string
	// settings are the names in it from which code is run outside; links are those of links that leave the directory.
	settings, links []string
	// git: it has an entry .git. bare: it is a git directory, by what is in it. closed: it could not be read.
	git, bare, closed bool
}

func (t *tree) close() error { return t.watch.close() }

// with returns the directories that a function chooses, sorted.
func (t *tree) with(choose func(*folder) bool) (out []string) {
	for rel, f := range t.folders {
		if choose(f) {
			out = append(out, rel)
		}
	}
	slices.Sort(out)
	return out
}

// refresh brings the tree up to date. Call lock afterwards.
func (t *tree) refresh() error {
	if _, err := os.Lstat(t.project); err != nil {
		return err
	}
	changed, gone, complete := t.watch.changed()
	if !complete || t.folders["."] == nil {
		seen := map[string]*folder{}
		t.walk(".", seen)
		t.folders = seen
		return nil
	}
	t.forget(gone)
	// Who closes a directory may open it again, with other things in it.
	for _, rel := range t.with(func(f *folder) bool { return f.closed }) {
		changed[rel] = true
	}
	for _, rel := range slices.Sorted(maps.Keys(changed)) {
		if t.folders[rel] != nil {
			t.again(rel)
		}
	}
	return nil
}

// walk looks at a directory and what is below it. A directory that cannot be read, or is gone, has nothing in it.
func (t *tree) walk(rel string, seen map[string]*folder) {
	t.watch.add(filepath.Join(t.project, rel), rel)
	info, err := os.Lstat(filepath.Join(t.project, rel))
	if err != nil || !info.IsDir() {
		return
	}
	now := stampOf(info)
	f := t.folders[rel]
	if f == nil || f.stamp != now || f.closed || now.fresh() {
		f = t.read(rel, now)
	}
	seen[rel] = f
	for _, name := range f.below {
		t.walk(filepath.Join(rel, name), seen)
	}
}

// again reads a directory that has changed, and all that is new below it.
func (t *tree) again(rel string) {
	old := t.folders[rel]
	now := t.read(rel, old.stamp)
	t.folders[rel] = now
	gone := map[string]bool{}
	for _, name := range old.below {
		child := filepath.Join(rel, name)
		info, err := os.Lstat(filepath.Join(t.project, child))
		if err != nil || !info.IsDir() || t.folders[child] == nil || stampOf(info).id != t.folders[child].stamp.id {
			gone[child] = true
		}
	}
	t.forget(gone)
	for _, name := range now.below {
		if child := filepath.Join(rel, name); t.folders[child] == nil {
			t.walk(child, t.folders)
		}
	}
}

// forget drops directories and what is below them.
func (t *tree) forget(gone map[string]bool) {
	if len(gone) == 0 {
		return
	}
	maps.DeleteFunc(t.folders, func(at string, _ *folder) bool {
		for at != "." {
			if gone[at] {
				return true
			}
			at = filepath.Dir(at)
		}
		return false
	})
}

// unlock opens a directory that its owner has closed to themselves, in part or whole, until lock. Who opens it later would find what was
// put there, and from one that cannot be changed nothing can be moved away.
func (t *tree) unlock(rel string, info fs.FileInfo) (*os.File, error) {
	if err := t.chmod(rel, 0o700); err != nil {
		return nil, err
	}
	t.opened = append(t.opened, opened{rel, info.Mode().Perm()})
	return os.OpenFile(filepath.Join(t.project, rel), os.O_RDONLY, 0)
}

func (t *tree) chmod(rel string, mode fs.FileMode) error {
	if rel == "." {
		return os.Chmod(t.project, mode) // no link leads there
	}
	return t.root.Chmod(rel, mode)
}

// lock closes what unlock has opened, inner directories first.
func (t *tree) lock() {
	for _, o := range slices.Backward(t.opened) {
		_ = t.chmod(o.rel, o.mode)
	}
	t.opened = nil
}

// open opens a directory to read it.
func (t *tree) open(rel string, f *folder) (*os.File, error) {
	path := filepath.Join(t.project, rel)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fs.ErrInvalid
	}
	if info.Mode().Perm()&0o700 == 0o700 || os.Geteuid() == 0 {
		return os.OpenFile(path, os.O_RDONLY, 0)
	}
	f.closed = true
	dir, err := t.unlock(rel, info)
	if err != nil { // it is somebody else's
		return os.OpenFile(path, os.O_RDONLY, 0)
	}
	t.watch.add(path, rel) // it could not be watched while it was closed
	return dir, nil
}

// read reads the entries of a directory.
func (t *tree) read(rel string, now stamp) *folder {
	f := &folder{stamp: now}
	dir, err := t.open(rel, f)
	if err != nil {
		return f
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1) // what could be read counts
	has := map[string]bool{}
	for _, e := range entries {
		has[e.Name()] = true
		if e.Type()&fs.ModeSymlink != 0 {
			if to, err := os.Readlink(filepath.Join(t.project, rel, e.Name())); err != nil || strings.ContainsRune(to, filepath.Separator) {
				f.links = append(f.links, e.Name())
			}
		}
		if e.IsDir() {
			f.below = append(f.below, e.Name())
		}
	}
	// git takes what is missing from where commondir says (gitrepository-layout).
	f.git, f.bare = has[".git"], has["HEAD"] && (has["objects"] && has["refs"] || has["commondir"])
	slices.Sort(f.below)
	if !foreign(rel) {
		f.settings = slices.DeleteFunc(protected.InWorktree(), func(name string) bool { return !has[name] })
	}
	return f
}

// foreign reports whether a directory has packages of others, which come with such settings. Nobody works in one.
func foreign(rel string) bool {
	for part := range strings.SplitSeq(rel, string(filepath.Separator)) {
		switch part {
		case "node_modules", "site-packages", "vendor":
			return true
		}
	}
	return false
}
