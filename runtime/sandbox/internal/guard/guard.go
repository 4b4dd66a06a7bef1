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

	"github.com/grapnel-go/grapnel/internal/protected"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// Guard knows the places in a project from which code is run outside later: by git, by editors, by shells, by this program. Where such
// a place exists, processes cannot change it. What appears at one while a process runs is moved into quarantine when it has ended.
type Guard struct {
	o    Options
	root *os.Root

	mu   sync.Mutex // guards tree, and lets one look at a time
	tree *tree
}

// Options of a Guard. All paths are absolute and without links.
type Options struct {
	// Project is the directory that is guarded. It must exist.
	Project string
	// Home is the user's home directory, with their configuration of git; "" is none.
	Home string
	// State has directories in which processes write outside of the project. No new link may lead there.
	State string
	// Quarantine is the directory outside of the project to which things are moved.
	Quarantine string
	// Once: there will be few looks, so the kernel is not asked to tell of changes.
	Once bool
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

// Fence is an absolute path in the project that processes cannot move, and with ReadOnly not change either.
type Fence struct {
	Path     string
	ReadOnly bool
}

// Moved is a path that was moved out of the project.
type Moved struct {
	// Path is relative to the project, or absolute if it is not in it. To is absolute; "" if it could not be moved, and is still there.
	Path, To string
	// Why says what it would have done.
	Why string
}

// New returns a guard. The caller closes it.
func New(o Options) (*Guard, error) {
	root, err := os.OpenRoot(o.Project)
	if err != nil {
		return nil, err
	}
	g := &Guard{o: o, root: root, tree: &tree{project: o.Project, root: root, folders: map[string]*folder{}}}
	if !o.Once {
		g.tree.watch = newWatcher()
	}
	return g, nil
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
	defer g.tree.lock()
	return g.look()
}

func (g *Guard) look() (*View, error) {
	if err := g.tree.refresh(); err != nil {
		return nil, err
	}
	v := &View{worktrees: []string{"."}, marks: map[string]mark{}, names: map[string]string{}}
	v.gitDirs = g.tree.with(func(f *folder) bool { return f.bare })
	for _, rel := range g.tree.with(func(f *folder) bool { return f.git }) {
		g.repository(rel, v)
	}
	for _, rel := range slices.Concat(g.global(), g.around()) {
		g.mark(rel, v)
	}
	for dir, f := range g.tree.folders {
		for _, name := range f.settings {
			g.mark(filepath.Join(dir, name), v)
		}
		for _, name := range f.links {
			if rel := filepath.Join(dir, name); g.leaves(rel) {
				g.mark(rel, v)
			}
		}
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
	info, err := os.Lstat(filepath.Join(g.o.Project, rel))
	if err != nil {
		return false
	}
	m := mark{stamp: stampOf(info), mode: info.Mode(), links: namesOf(info)}
	if m.mode&fs.ModeSymlink != 0 {
		full := filepath.Join(g.o.Project, rel)
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
		out = append(out, Fence{rel, v.marks[rel].fenced(rel)})
		if v.marks[rel].target == "" {
			continue
		}
		// What a link of such a name leads to counts as well.
		if inside, ok := paths.Below(g.o.Project, v.marks[rel].leads); ok && inside != "." && v.marks[rel].leads != "" {
			out = append(out, Fence{inside, true})
		}
	}
	for _, dir := range v.gitDirs {
		out = append(out, Fence{dir, false})
	}
	for i := range out {
		out[i].Path = filepath.Join(g.o.Project, out[i].Path)
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
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.tree.lock()
	now, err := g.look()
	if err != nil {
		return nil // the project is gone, and everything with it
	}
	var out []Moved
	away := func(rel, why string) {
		if slices.ContainsFunc(out, func(m Moved) bool { _, in := paths.Below(m.Path, rel); return in }) {
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
		switch why := g.suspiciousGitDir(dir, before, now); {
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
			if changed := !ok || !old.same(m) || !old.stamp.is(m.stamp); changed && g.runs(rel) {
				away(rel, "it runs commands when the rebase is continued")
			}
		case ok && old.same(m), !ok && before.knows(m), g.accepted(rel, before, now):
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
	if m.mode.IsRegular() && (m.links > 1 || o.links > 1) && !m.stamp.is(o.stamp) {
		return false
	}
	return m.mode.Type() == o.mode.Type() && m.target == o.target && m.stamp.id.is(o.stamp.id) && m.leads == o.leads && m.led.is(o.led)
}

// fenced reports whether what is at the path cannot be changed in its place.
func (m mark) fenced(rel string) bool {
	return filepath.Base(rel) != ".git" || !m.mode.IsDir()
}

// knows reports whether something was in the project already, perhaps under another name: with a directory around it, it can be moved.
func (v *View) knows(m mark) bool {
	for rel, old := range v.marks {
		if old.fenced(rel) && !strings.HasSuffix(rel, todo) && old.same(m) {
			return true
		}
	}
	return false
}

// leaves reports whether a link leads into the state directory, also if what it names is not there yet: processes can make it at any time.
func (g *Guard) leaves(rel string) bool {
	at := filepath.Join(g.o.Project, rel)
	text, err := os.Readlink(at)
	if err != nil || g.o.State == "" {
		return false
	}
	if !filepath.IsAbs(text) {
		text = filepath.Dir(at) + "/" + text // not cleaned: what stands before ".." may be a link
	}
	parts := strings.Split(text, "/")
	for n := len(parts); n > 1; n-- {
		if real, err := filepath.EvalSymlinks(strings.Join(parts[:n], "/")); err == nil {
			_, in := paths.Below(g.o.State, filepath.Join(real, filepath.Join(parts[n:]...)))
			return in
		}
	}
	return false
}
