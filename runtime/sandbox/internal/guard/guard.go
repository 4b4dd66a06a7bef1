// Package guard keeps processes in a sandbox from leaving something in a project that runs code outside later.
package guard

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/internal/protected"
)

// Guard knows the places in a project from which code is run outside later: by git, by editors, by shells, by this program. Where such
// a place exists, processes cannot change it. What appears at one while a process runs is moved into quarantine when it has ended.
type Guard struct {
	project    string
	home       string
	root       *os.Root
	quarantine string

	mu   sync.Mutex // guards tree, and lets one look at a time
	tree *tree
}

// View is a project at one moment.
type View struct {
	// worktrees and gitDirs are relative paths: of directories with the files of a repository, "." always, and of git directories.
	worktrees, gitDirs []string
	// marks tell what is at each place; a place that is not there is not in it.
	marks map[string]mark
	// names are places that nothing but the configuration of git directories names, with one of those.
	names map[string]string
}

// mark tells whether what is at a path is the same as before.
type mark struct {
	stamp stamp
	mode  fs.FileMode
	links uint64 // the number of its names
	// target is the text of a symbolic link, leads what it leads to in the end: the path, "" if nothing is there, and its stamp.
	target, leads string
	led           identity
}

// Fence is a path of the project, relative to it, that processes cannot move, and with ReadOnly not change either.
type Fence struct {
	Path     string
	ReadOnly bool
}

// Moved is a path that was moved out of the project.
type Moved struct {
	// Path is relative to the project. To is absolute; "" if it could not be moved, and is still there.
	Path, To string
	// Why says what it would have done.
	Why string
}

// New returns a guard for a project. home is the user's home directory, with their configuration of git; "" is none. What the guard moves
// away goes to the directory quarantine, which is outside of the project.
func New(project, home, quarantine string) (*Guard, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	return &Guard{project: project, home: home, root: root, quarantine: quarantine, tree: newTree(project, root)}, nil
}

// Close lets go of the project.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return errors.Join(g.tree.close(), g.root.Close())
}

// Look looks at the places of the project. Of directories that have not changed since the last look it reads nothing.
func (g *Guard) Look() (*View, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.tree.refresh(); err != nil {
		return nil, err
	}
	v := &View{worktrees: []string{"."}, marks: map[string]mark{}, names: map[string]string{}}
	v.gitDirs = g.tree.with(func(f *folder) bool { return f.bare })
	for _, rel := range g.tree.with(func(f *folder) bool { return f.git }) {
		g.repository(rel, v)
	}
	for _, rel := range g.global() {
		g.mark(rel, v)
	}
	for _, dir := range v.worktrees {
		for _, name := range protected.InWorktree() {
			g.mark(filepath.Join(dir, name), v)
		}
	}
	for _, dir := range v.gitDirs {
		for _, name := range protected.InGitDir() {
			g.mark(filepath.Join(dir, name), v)
		}
		for _, rel := range g.linked(filepath.Join(dir, "hooks")) {
			g.mark(rel, v)
		}
		g.mark(filepath.Join(dir, todo), v)
	}
	g.markNamed(v)
	return v, nil
}

// markNamed marks what the configuration of git directories names.
func (g *Guard) markNamed(v *View) {
	of := map[string][]string{} // the worktrees of each git directory
	for _, dir := range v.gitDirs {
		of[dir] = []string{filepath.Dir(dir)}
	}
	for _, dir := range v.worktrees {
		if target, ok := g.gitFile(filepath.Join(dir, ".git")); ok {
			of[target] = append(of[target], dir)
		}
	}
	for _, dir := range v.gitDirs {
		for _, rel := range g.named(dir, of[dir]) {
			if _, known := v.marks[rel]; !known && g.mark(rel, v) {
				v.names[rel] = dir
			}
		}
	}
}

// repository adds a directory that has an entry .git.
func (g *Guard) repository(rel string, v *View) {
	if rel != "." {
		v.worktrees = append(v.worktrees, rel)
	}
	dir := filepath.Join(rel, ".git")
	if g.mark(dir, v) && v.marks[dir].mode.IsDir() && !slices.Contains(v.gitDirs, dir) {
		v.gitDirs = append(v.gitDirs, dir)
	}
}

// mark notes what is at a path, and reports whether anything is.
func (g *Guard) mark(rel string, v *View) bool {
	info, err := os.Lstat(filepath.Join(g.project, rel))
	if err != nil {
		return false
	}
	m := mark{stamp: stampOf(info), mode: info.Mode(), links: namesOf(info)}
	if m.mode&fs.ModeSymlink != 0 {
		full := filepath.Join(g.project, rel)
		m.target, _ = os.Readlink(full)
		if m.leads, err = filepath.EvalSymlinks(full); err == nil {
			if info, err := os.Lstat(m.leads); err == nil {
				m.led = stampOf(info).id
			}
		}
	}
	v.marks[rel] = m
	return true
}

// Fences returns what processes cannot change, outer paths first.
func (g *Guard) Fences(v *View) []Fence {
	var out []Fence
	for rel := range v.marks {
		if strings.HasSuffix(rel, todo) {
			continue // git works with it
		}
		out = append(out, Fence{rel, filepath.Base(rel) != ".git" || !v.marks[rel].mode.IsDir()})
		if v.marks[rel].target == "" {
			continue
		}
		// What a link of such a name leads to counts as well.
		if inside, ok := below(g.project, v.marks[rel].leads); ok && inside != "." && v.marks[rel].leads != "" {
			out = append(out, Fence{inside, true})
		}
	}
	for _, dir := range v.gitDirs {
		out = append(out, Fence{dir, false})
	}
	slices.SortFunc(out, func(a, b Fence) int {
		return cmp.Or(cmp.Compare(len(a.Path), len(b.Path)), cmp.Compare(a.Path, b.Path), boolInt(b.ReadOnly)-boolInt(a.ReadOnly))
	})
	return slices.CompactFunc(out, func(a, b Fence) bool { return a.Path == b.Path }) // the strictest of one path is the first
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Clean moves away what has appeared since a look, or has become something else, and returns it.
func (g *Guard) Clean(before *View) []Moved {
	now, err := g.Look()
	if err != nil {
		return nil // the project is gone, and everything with it
	}
	var out []Moved
	away := func(rel, why string) {
		if slices.ContainsFunc(out, func(m Moved) bool { _, in := below(m.Path, rel); return in }) {
			return // with what is around it
		}
		to, err := g.move(rel)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			to = "" // it is still there
			why += "; it could not be moved: " + err.Error()
		}
		out = append(out, Moved{Path: rel, To: to, Why: why})
	}
	for _, dir := range now.gitDirs {
		if slices.Contains(before.gitDirs, dir) {
			continue
		}
		switch why := g.suspiciousGitDir(dir); {
		case why == "":
		case dir == ".": // the project itself has become one: it is none without its parts
			for _, name := range protected.InGitDir() {
				away(name, why)
			}
		default:
			away(dir, why)
		}
	}
	for _, dir := range now.worktrees {
		if why := g.suspiciousWorktree(dir, before, now); why != "" {
			away(filepath.Join(dir, ".git"), why)
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(now.marks)) { // what is around comes before what is in it
		m := now.marks[rel]
		old, ok := before.marks[rel]
		switch {
		case strings.HasSuffix(rel, todo):
			// It can be changed in its place, because git does so too.
			if changed := !ok || !old.same(m) || old.stamp != m.stamp; changed && g.runs(rel) {
				away(rel, "it runs commands when the rebase is continued")
			}
		case ok && old.same(m), g.accepted(rel, before, now):
		case now.names[rel] != "" && !slices.Contains(before.gitDirs, now.names[rel]):
			// A new git directory names it, and goes because of that. What it names may be the user's own.
		default:
			away(rel, "it runs code outside of the sandbox later")
		}
	}
	slices.SortFunc(out, func(a, b Moved) int { return len(a.Path) - len(b.Path) })
	return out
}

// same reports whether what is at a path is what was there before. Its content does not count, because it was read-only, but that of a
// file with several names: another name may not have been.
func (m mark) same(o mark) bool {
	if m.mode.IsRegular() && (m.links > 1 || o.links > 1) && m.stamp != o.stamp {
		return false
	}
	return m.mode.Type() == o.mode.Type() && m.target == o.target && m.stamp.id == o.stamp.id && m.leads == o.leads && m.led == o.led
}

// move moves a path of the project into quarantine and returns where it is. No link on the way is followed.
func (g *Guard) move(rel string) (to string, err error) {
	parent, err := g.root.Open(filepath.Dir(rel))
	if err != nil {
		return "", err
	}
	defer parent.Close()
	dir, err := os.MkdirTemp(g.quarantine, time.Now().UTC().Format("20060102-150405-"))
	if err != nil {
		return "", err
	}
	to = filepath.Join(dir, filepath.Base(rel))
	if err := rename(parent, filepath.Base(rel), to); err == nil {
		return to, nil
	} else if !acrossDevices(err) {
		_ = os.Remove(dir)
		return "", err
	}
	return g.moveByCopy(rel, dir, to)
}

// moveByCopy first gives the path a name that nothing runs, and then copies it to another file system.
func (g *Guard) moveByCopy(rel, dir, to string) (string, error) {
	harmless := filepath.Base(dir) + ".quarantine"
	if err := g.root.Rename(rel, harmless); err != nil {
		return "", err
	}
	info, err := g.root.Lstat(harmless)
	if err != nil {
		return "", err
	}
	switch {
	case info.IsDir():
		sub, err := g.root.OpenRoot(harmless)
		if err != nil {
			return "", err
		}
		err = os.CopyFS(to, sub.FS())
		_ = sub.Close()
		if err != nil {
			return filepath.Join(g.project, harmless), nil
		}
	case info.Mode().IsRegular():
		data, err := g.root.ReadFile(harmless)
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			return filepath.Join(g.project, harmless), nil
		}
	}
	return to, g.root.RemoveAll(harmless)
}

// below returns the path of p relative to dir, if p is dir or below it.
func below(dir, p string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, p)
	return rel, err == nil && filepath.IsLocal(rel)
}
