package ostools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

type tree struct {
	root *os.Root
	// path is absolute and without links; given is absolute, but may have links.
	path, given string
}

func openTree(dir string) (tree, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return tree{}, err
	}
	path, err := filepath.EvalSymlinks(given)
	if err != nil {
		return tree{}, err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return tree{}, err
	}
	return tree{root: root, path: path, given: given}, nil
}

// inside returns the path below the tree that an absolute path means.
func (t tree) inside(abs string) (string, bool) {
	for _, base := range []string{t.path, t.given} {
		if rel, err := filepath.Rel(base, abs); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// place is a path that a call may use. Use it with root, never with package os.
type place struct {
	root *os.Root
	rel  string
	// base is the absolute path of root; shown is the prefix of paths below root for the
	// model.
	base, shown string
	// done closes a root that was opened for this call.
	done func()
}

// maxPath limits the path of a call in bytes, and maxParts in parts, also when links are followed. A root opens a path part by part, so
// that the links of a path with n parts take n² steps.
const maxPath, maxParts = 4096, 256

// name returns the model's name of a path below the place's root.
func (p place) name(rel string) string { return filepath.ToSlash(filepath.Join(p.shown, rel)) }

// locate returns the place of a path in a call. It opens no file but the root of a grant.
// The caller calls done.
func (o *OS) locate(grant hook.Grant, path string, write bool) (place, error) {
	switch {
	case grant.Void || write && grant.ReadOnly:
		return place{}, failf(message.FailDenied, "this call may not %s files", map[bool]string{true: "change", false: "read"}[write])
	case len(path) > maxPath:
		return place{}, failf(message.FailArguments, "the path has %d bytes; the limit is %d", len(path), maxPath)
	case path == "":
		return place{}, failf(message.FailArguments, "the path is empty; give one below %s", o.main.path)
	case strings.ContainsRune(path, 0):
		return place{}, failf(message.FailArguments, "the path has a NUL byte in it")
	}
	p, err := o.find(path, write)
	if err != nil {
		return place{}, err
	}
	if n := len(split(p.rel)); n > maxParts {
		return place{}, failf(message.FailArguments, "the path has %d parts; the limit is %d", n, maxParts)
	}
	return p.narrow(grant.Root, path)
}

func (o *OS) find(path string, write bool) (place, error) {
	if !filepath.IsAbs(path) {
		rel := filepath.Clean(path)
		if !filepath.IsLocal(rel) {
			return place{}, outside(path, o.main.path)
		}
		return place{root: o.main.root, rel: rel, base: o.main.path, done: func() {}}, nil
	}
	clean := filepath.Clean(path)
	if rel, ok := o.main.inside(clean); ok {
		return place{root: o.main.root, rel: rel, base: o.main.path, done: func() {}}, nil
	}
	for _, t := range o.readable {
		rel, ok := t.inside(clean)
		switch {
		case ok && write:
			return place{}, failf(message.FailDenied, "%s can be read but not changed", path)
		case ok:
			return place{root: t.root, rel: rel, base: t.path, shown: t.path, done: func() {}}, nil
		}
	}
	return place{}, outside(path, o.main.path)
}

// narrow applies the root of a grant: it becomes the place's root, so that links cannot
// lead out of it.
func (p place) narrow(limit, path string) (place, error) {
	if limit == "" {
		return p, nil
	}
	limit = filepath.FromSlash(limit)
	if rel, err := filepath.Rel(limit, p.base); err == nil && filepath.IsLocal(rel) {
		return p, nil
	}
	sub, err := filepath.Rel(p.base, limit)
	if err != nil || !filepath.IsLocal(sub) {
		return place{}, outside(path, limit)
	}
	if p.rel == "." {
		p.rel = sub
	}
	rel, err := filepath.Rel(sub, p.rel)
	if err != nil || !filepath.IsLocal(rel) {
		return place{}, outside(path, limit)
	}
	root, err := p.root.OpenRoot(sub)
	if err != nil {
		return place{}, pathError(sub, err)
	}
	return place{
		root: root, rel: rel, base: filepath.Join(p.base, sub), shown: filepath.Join(p.shown, sub),
		done: func() { _ = root.Close() },
	}, nil
}

func outside(path, root string) error {
	return failf(message.FailDenied, "%s is outside of %s; use a path below that directory", path, root)
}

// escapes is the text of [os.Root]'s error for a path out of it; the error itself is not
// exported.
const escapes = "path escapes from parent"

// pathError returns an error about a file without the names of system calls.
func pathError(name string, err error) error {
	cause := err
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		cause = pe.Err
	case errors.As(err, &le):
		cause = le.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failf(message.FailNotFound, "%s does not exist", name)
	case cause.Error() == escapes:
		return failf(message.FailDenied, "%s leads out of the directory that may be used, through a link or ..", name)
	}
	return failf(message.FailOperation, "%s: %v", name, cause)
}

func failf(kind message.FailureKind, format string, args ...any) error {
	return &hook.ToolError{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// maxLinks limits the symbolic links in a path.
const maxLinks = 40

// resolve follows the links of a place and returns the path that they lead to; the file
// may not exist yet. The path may be outdated when it is used. It serves to find the lock
// and the name to rename to; root keeps the file inside.
func (p place) resolve() (string, error) {
	var done []string
	links := 0
	for todo := split(p.rel); len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(done) == 0 {
				return "", &fs.PathError{Op: "resolve", Path: p.rel, Err: errors.New(escapes)}
			}
			done = done[:len(done)-1]
			continue
		}
		name := filepath.Join(append(done[:len(done):len(done)], part)...)
		target, err := p.link(name)
		if err != nil {
			return "", err
		}
		if target == "" {
			done = append(done, part)
			continue
		}
		todo = append(split(target), todo...)
		if links++; links > maxLinks || filepath.IsAbs(target) || len(done)+len(todo) > maxParts {
			return "", &fs.PathError{Op: "resolve", Path: p.rel, Err: errors.New(escapes)}
		}
	}
	return filepath.Join(append([]string{"."}, done...)...), nil
}

// link returns the target of the symbolic link; "" if name is no link.
func (p place) link(name string) (string, error) {
	info, err := p.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", err
	}
	return p.root.Readlink(name)
}

func split(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

// locks are one lock per file that is being changed.
type locks struct {
	mu   sync.Mutex
	held map[string]*held
}

type held struct {
	mu   sync.Mutex
	want int
}

// lock waits for the lock of the file. No foreign code runs while it is held.
func (l *locks) lock(path string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*held{}
	}
	h := l.held[path]
	if h == nil {
		h = &held{}
		l.held[path] = h
	}
	h.want++
	l.mu.Unlock()
	h.mu.Lock()
	return func() {
		h.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.want--; h.want == 0 {
			delete(l.held, path)
		}
	}
}
