package snapshot

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Restore takes back what changed within each of the pairs, in their order: give the latest first. now is a snapshot that was taken just
// before; it says what is there, and it is what an undo of this needs. A path whose state is not that of the end of its pair is a
// conflict and stays. So is one that cannot be written; Restore goes on with the next. The error is that of ctx or of the store. An
// interrupted Restore is continued by a call with the same pairs, after a new Take.
func (s *Store) Restore(ctx context.Context, now ID, pairs ...Pair) (r Result, err error) {
	err = s.exclusive(ctx, func() error {
		p, err := s.plan(now, pairs)
		if err != nil {
			return err
		}
		err = s.apply(ctx, p)
		r = p.result()
		return err
	})
	return r, err
}

// journal says that Restore is at work, or was interrupted.
type journal struct {
	// Own begins the names of its temporary files in the project.
	Own   string
	Pairs [][2]ID
	// Wide are directories that were opened for writing, with the modes that they get again.
	Wide map[string]fs.FileMode
}

const journalFile = "restoring"

func (s *Store) journal() (j journal, err error) {
	f, err := os.Open(s.path(journalFile))
	if err != nil {
		return j, gone(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err == nil {
		err = json.Unmarshal(data, &j)
	}
	return j, err
}

// interrupted returns the prefix of the temporary files that an interrupted Restore may have left in the project; "" for none.
func (s *Store) interrupted() string {
	j, err := s.journal()
	if err != nil {
		return ""
	}
	return j.Own
}

func keys(pairs []Pair) (out [][2]ID) {
	for _, p := range pairs {
		out = append(out, [2]ID{p.Before, p.After})
	}
	return out
}

// resumes reports whether the interrupted Restore had the same pairs.
func (s *Store) resumes(pairs []Pair) (bool, error) {
	j, err := s.journal()
	return j.Own != "" && slices.Equal(j.Pairs, keys(pairs)), err
}

// restorer is one run of Restore.
type restorer struct {
	s   *Store
	p   *plan
	ctx context.Context //nolint:containedctx // of one run
	top *os.Root
	journal
	n int

	// The directory of the last path, since the next one is often in it.
	at   string
	root *os.Root
	dir  *os.File
}

func (s *Store) apply(ctx context.Context, p *plan) (err error) {
	r := &restorer{s: s, p: p, ctx: ctx, journal: journal{Own: ".grapnel-undo-" + rand.Text() + "-", Pairs: keys(p.pairs), Wide: map[string]fs.FileMode{}}}
	old, err := s.journal()
	if err != nil {
		return err
	}
	if old.Own != "" && p.resumed {
		r.Own = old.Own // Take removes what is left of it
		maps.Copy(r.Wide, old.Wide)
	}
	if err := r.save(); err != nil {
		return err
	}
	if r.top, err = os.OpenRoot(s.project); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.leave(), r.top.Close()) }()
	if err := r.run(); err != nil {
		return err
	}
	return os.Remove(s.path(journalFile))
}

func (r *restorer) save() error {
	data, err := json.Marshal(r.journal)
	if err != nil {
		return err
	}
	return r.s.replace(journalFile, data)
}

// replace writes a small file of the store.
func (s *Store) replace(name string, data []byte) error {
	tmp := s.path(tmpDir, name)
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, s.path(name))
}

// run removes first, deepest first, then puts back, and gives directories their modes last.
func (r *restorer) run() error {
	names := r.p.paths()
	var dirs []string
	for _, name := range slices.Backward(names) {
		is, to := r.p.now.at(name), r.p.to[name]
		if r.p.why[name] != "" || is == nil || to != nil && (to.Kind == directory) == (is.Kind == directory) {
			continue
		}
		if err := r.try(name, func(n string) error { return r.remove(n, is) }); err != nil {
			return err
		}
	}
	for _, name := range names {
		is, to := r.p.now.at(name), r.p.to[name]
		if r.p.why[name] != "" || to == nil || same(is, to) {
			continue
		}
		if to.Kind == directory {
			dirs = append(dirs, name)
			if is != nil && is.Kind == directory {
				continue
			}
		}
		if err := r.try(name, func(n string) error { return r.put(n, is, to) }); err != nil {
			return err
		}
	}
	for _, name := range slices.Backward(dirs) {
		if r.p.why[name] != "" {
			continue
		}
		if err := r.try(name, func(n string) error { return r.mode(n, r.p.to[name].Mode) }); err != nil {
			return err
		}
		delete(r.Wide, name)
	}
	for name, mode := range r.Wide {
		if err := r.try(name, func(n string) error { return r.mode(n, mode) }); err != nil {
			return err
		}
	}
	return nil
}

// try calls do in the directory of a path, and makes its error a conflict; the error is that of ctx.
func (r *restorer) try(name string, do func(base string) error) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	err := r.enter(path.Dir(name))
	if err == nil {
		err = do(path.Base(name))
	}
	if errors.Is(err, fs.ErrPermission) && r.widen(path.Dir(name)) == nil {
		err = do(path.Base(name))
	}
	if err != nil {
		r.p.why[name] = reason(err)
	}
	return nil
}

// enter opens the directory of the next paths, through real directories only.
func (r *restorer) enter(dir string) error {
	if r.root != nil && r.at == dir {
		return nil
	}
	if err := r.leave(); err != nil {
		return err
	}
	root, err := r.top.OpenRoot(".")
	if err != nil {
		return err
	}
	if dir != "." {
		for _, name := range strings.Split(dir, "/") {
			next, err := enterOne(root, name)
			if err = errors.Join(err, root.Close()); err != nil {
				return err
			}
			root = next
		}
	}
	if r.dir, err = root.Open("."); err != nil {
		return errors.Join(err, root.Close())
	}
	r.at, r.root = dir, root
	return nil
}

func enterOne(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New(whyNotDir)
	}
	sub, dir, err := openDir(root, name, info)
	if err != nil {
		return nil, err
	}
	return sub, dir.Close()
}

func (r *restorer) leave() error {
	if r.root == nil {
		return nil
	}
	err := errors.Join(r.dir.Close(), r.root.Close())
	r.root, r.dir = nil, nil
	return err
}

// widen makes a directory writable, until the end of the run.
func (r *restorer) widen(dir string) error {
	if r.root == nil || r.at != dir {
		return fs.ErrPermission
	}
	info, err := r.dir.Stat()
	if err != nil {
		return err
	}
	if _, ok := r.Wide[dir]; !ok {
		r.Wide[dir] = info.Mode() & kept
		if err := r.save(); err != nil {
			return err
		}
	}
	return r.dir.Chmod(info.Mode()&kept | 0o700)
}

// unchanged returns an error unless the path is as the present snapshot has it.
func (r *restorer) unchanged(name string, is *entry) error {
	info, err := r.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) && is == nil {
		return nil
	}
	if err != nil {
		return err
	}
	if is == nil {
		return errSwapped
	}
	ok := info.Mode()&kept == is.Mode
	switch is.Kind {
	case directory:
		ok = info.IsDir()
	case link:
		ok = info.Mode()&fs.ModeSymlink != 0
	case file:
		st := statOf(info)
		ok = ok && info.Mode().IsRegular() && info.Size() == is.Size && st.Inode == is.Stat.Inode && st.Mtime == is.Stat.Mtime
	}
	if !ok {
		return errSwapped
	}
	return nil
}

func (r *restorer) remove(name string, is *entry) error {
	if err := r.unchanged(name, is); err != nil {
		return err
	}
	return gone(r.root.Remove(name))
}

// put makes what has to be at a path. Files and links appear whole, by a rename.
func (r *restorer) put(name string, is, to *entry) error {
	if is != nil && (is.Kind == directory) != (to.Kind == directory) {
		is = nil // it was removed
	}
	if err := r.unchanged(name, is); err != nil {
		return err
	}
	if to.Kind == directory {
		return r.root.Mkdir(name, to.Mode.Perm()|0o700)
	}
	r.n++
	tmp := fmt.Sprintf("%s%d", r.Own, r.n)
	if err := r.root.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an interrupted run
		return err
	}
	err := r.make(tmp, to)
	if err == nil {
		err = r.unchanged(name, is)
	}
	if err == nil {
		err = r.root.Rename(tmp, name)
	}
	if err != nil {
		return errors.Join(err, gone(r.root.Remove(tmp)))
	}
	if to.Kind == file {
		return gone(r.root.Remove(tmp)) // rename does nothing where both are one file
	}
	return nil
}

// make makes a file or a link under a temporary name.
func (r *restorer) make(tmp string, to *entry) (err error) {
	if to.Kind == link {
		return r.root.Symlink(to.Content, tmp)
	}
	if strings.HasPrefix(to.Content, linked) && r.relink(tmp, to) {
		return nil
	}
	f, err := r.root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := r.s.get(to, f); err != nil {
		return err
	}
	return f.Chmod(to.Mode)
}

// relink links a git object back into the project. It reports false if that is not possible; then the object is copied.
func (r *restorer) relink(tmp string, to *entry) bool {
	info, err := os.Lstat(r.s.object(to.Content))
	if err != nil || linkKey(info) != to.Content || info.Mode()&kept != to.Mode {
		return false
	}
	links, err := os.Open(r.s.path(linksDir))
	if err != nil {
		return false
	}
	defer links.Close()
	return linkAt(links, to.Content, r.dir, tmp) == nil
}

// mode sets the mode of a directory.
func (r *restorer) mode(name string, mode fs.FileMode) error {
	info, err := r.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errSwapped
	}
	sub, dir, err := openDir(r.root, name, info)
	if err != nil {
		return err
	}
	return errors.Join(dir.Chmod(mode), dir.Close(), sub.Close())
}
