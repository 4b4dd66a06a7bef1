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
	"sync"

	"github.com/grapnel-go/grapnel/internal/protected"
	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// Guard knows the places in a project from which code is run outside later: by git, by editors, by shells, by this program. Where such
// a place exists, processes cannot change it. What appears at one while a process runs is moved into quarantine when it has ended.
type Guard struct {
	o    Options
	root *os.Root

	mu   sync.Mutex // guards what follows, and lets one look at a time
	tree *tree
	// active are the views of commands that run.
	active []*View
	// made are the git directories that commands have made and that were found harmless, with what is in them that could run code.
	made map[string]map[string]mark
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
	// names are places that only something else names, which may be the user's own.
	names map[string]namer
	// configs are the configurations of git directories, with digests of their values.
	configs map[string][]setting
	// taken is when the look began, on the clock of the kernel.
	taken int64
}

// namer is what names a place: the configuration or a link in a git directory, for a worktree. Each is "" if there is none.
type namer struct{ gitDir, worktree string }

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
	// Number is the file's own: that of another one says that the project has changed since.
	Number uint64
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
	if real, err := filepath.EvalSymlinks(o.State); err == nil {
		o.State = real
	}
	g := &Guard{o: o, root: root, tree: &tree{project: o.Project, root: root, folders: map[string]*folder{}}, made: map[string]map[string]mark{}}
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

// maxPath is about how long a path can be for the kernel. No program finds what is deeper by its path.
const maxPath = 4000

// Fences returns what processes cannot change, outer paths first.
func (g *Guard) Fences(v *View) []Fence {
	var out []Fence
	add := func(rel string, readOnly bool, number uint64) {
		if path := filepath.Join(g.o.Project, rel); len(path) < maxPath {
			out = append(out, Fence{path, readOnly, number})
		}
	}
	for rel, m := range v.marks {
		if isTodo(rel) {
			continue // git works with it
		}
		if m.mode&fs.ModeSymlink == 0 {
			add(rel, m.fenced(rel), m.stamp.id.number)
			continue
		}
		// Nothing can be mounted on a link, so one that was changed is found by Clean. What it leads to counts as well.
		if inside, ok := paths.Below(g.o.Project, m.leads); m.leads != "" && ok && inside != "." {
			add(inside, true, m.led.number)
		}
	}
	for _, dir := range v.gitDirs {
		if info, err := os.Lstat(filepath.Join(g.o.Project, dir)); err == nil && dir != "." {
			add(dir, false, stampOf(info).id.number)
		}
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

// Clean moves away what has appeared since Begin, or has become something else, and returns it.
func (g *Guard) Clean(before *View) []Moved {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.tree.lock()
	g.leave(before)
	now, err := g.look()
	if err != nil {
		return nil // the project is gone, and everything with it
	}
	c := &cleaning{g: g, before: before, now: now, gone: map[string]bool{}}
	c.removed()
	c.gitDirsAndWorktrees()
	for _, rel := range slices.Sorted(maps.Keys(now.marks)) { // what is around comes before what is in it
		c.place(rel)
	}
	slices.SortFunc(c.moved, func(a, b Moved) int { return len(a.Path) - len(b.Path) })
	return c.moved
}

// cleaning is one Clean.
type cleaning struct {
	g           *Guard
	before, now *View
	moved       []Moved
	gone        map[string]bool // the paths in moved
}

func (c *cleaning) away(rel, why string) {
	for at := rel; at != "."; at = filepath.Dir(at) {
		if c.gone[at] {
			return // with what is around it
		}
	}
	to, err := c.g.move(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		to = "" // it is still there
		why += "; it could not be moved: " + err.Error()
	}
	c.moved = append(c.moved, Moved{Path: rel, To: to, Why: why})
	c.gone[rel] = true
}

// removed takes away what is left of repositories that commands have made, and that a command has removed but for what it cannot change.
func (c *cleaning) removed() {
	for dir, what := range c.g.made {
		now := c.now.in(dir)
		if !maps.EqualFunc(now, what, func(a, b mark) bool { return a.same(b) && a.stamp.is(b.stamp) }) {
			delete(c.g.made, dir) // it is gone, or a person has changed it
			continue
		}
		left, err := os.ReadDir(filepath.Join(c.g.o.Project, dir))
		if err != nil || slices.ContainsFunc(left, func(e fs.DirEntry) bool { return !slices.Contains(protected.InGitDir(), e.Name()) }) {
			continue
		}
		_ = c.g.root.RemoveAll(dir)
		if up := filepath.Dir(dir); up != "." && c.g.root.Remove(up) == nil {
			c.now.worktrees = slices.DeleteFunc(c.now.worktrees, func(w string) bool { return w == up })
		}
		for rel := range now {
			delete(c.now.marks, rel)
		}
		delete(c.g.made, dir)
	}
}

func (c *cleaning) gitDirsAndWorktrees() {
	elsewhere := map[string]string{} // before what they lead to is moved
	for _, dir := range c.now.worktrees {
		if why := c.g.suspiciousWorktree(dir, c.before, c.now); why != "" {
			elsewhere[filepath.Join(dir, ".git")] = why
		}
	}
	for _, dir := range c.now.gitDirs {
		if slices.Contains(c.before.gitDirs, dir) {
			continue
		}
		switch why := c.g.suspiciousGitDir(dir, c.before, c.now); {
		case why == "":
			c.g.made[dir] = c.now.in(dir)
		case dir == ".": // the project itself has become one: it is none without its parts
			for _, name := range protected.InGitDir() {
				c.away(name, why)
			}
		default:
			c.away(dir, why)
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(elsewhere)) {
		c.away(rel, elsewhere[rel])
	}
}

// place looks at one place.
func (c *cleaning) place(rel string) {
	m := c.now.marks[rel]
	old, ok := c.before.marks[rel]
	by, named := c.now.names[rel]
	switch {
	case isTodo(rel):
		// It can be changed in its place, because git does so too.
		if changed := !ok || !old.same(m) || !old.stamp.is(m.stamp); changed && c.g.runs(rel) {
			c.away(rel, "it runs commands when git goes on with what was interrupted")
		}
	case ok && old.same(m), !ok && c.before.knows(m), c.g.accepted(rel, c.before, c.now):
	case named && by.gitDir != "" && !slices.Contains(c.before.gitDirs, by.gitDir):
		// A new git directory names it, and goes because of that. What it names may be the user's own.
	case named && by.worktree != "" && !slices.Contains(c.before.worktrees, by.worktree):
		c.away(filepath.Join(by.worktree, ".git"), "git would run "+rel+" in it")
	case named && m.stamp.changed < c.before.taken:
		// It was there, and is as it was.
	case c.harmlessChange(rel):
	default:
		c.away(rel, "it runs code outside of the sandbox later")
	}
}

// harmlessChange reports whether a configuration of git that was replaced, as git does when a person changes it, has nothing new in it
// that may run programs.
func (c *cleaning) harmlessChange(rel string) bool {
	all, ok := c.now.configs[rel]
	if !ok || !slices.Contains(c.before.gitDirs, filepath.Dir(rel)) || !c.now.marks[rel].mode.IsRegular() {
		return false
	}
	for _, kv := range all {
		if !slices.Contains(c.before.configs[rel], kv) && !slices.Contains(harmless(), kv.key) {
			return false
		}
	}
	return true
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
		if old.fenced(rel) && !isTodo(rel) && old.same(m) {
			return true
		}
	}
	return false
}
