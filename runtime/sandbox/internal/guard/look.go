package guard

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/internal/protected"
)

// tick is more than what the kernel's clock for files is behind.
const tick = 50 * time.Millisecond

// Look looks at the places of the project. Of directories that have not changed since the last look it reads nothing.
func (g *Guard) Look() (*View, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.tree.lock()
	return g.look()
}

// Begin is a Look for a command that begins now. What other commands that run have made is not in it: it is judged again when this one has
// ended. Call Clean, or Leave, afterwards.
func (g *Guard) Begin() (*View, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer g.tree.lock()
	v, err := g.look()
	if err != nil {
		return nil, err
	}
	for _, running := range g.active {
		v.keep(running)
	}
	g.active = append(g.active, v)
	return v, nil
}

// Leave ends what Begin has begun, without a Clean.
func (g *Guard) Leave(v *View) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave(v)
}

func (g *Guard) leave(v *View) {
	g.active = slices.DeleteFunc(g.active, func(o *View) bool { return o == v })
}

// keep drops what was not there in another view.
func (v *View) keep(o *View) {
	maps.DeleteFunc(v.marks, func(rel string, m mark) bool {
		old, ok := o.marks[rel]
		return (!ok || !old.same(m)) && !o.knows(m)
	})
	absent := func(in []string) func(string) bool { return func(rel string) bool { return !slices.Contains(in, rel) } }
	v.worktrees = slices.DeleteFunc(v.worktrees, absent(o.worktrees))
	v.gitDirs = slices.DeleteFunc(v.gitDirs, absent(o.gitDirs))
}

// in returns the marks of a git directory that could run code.
func (v *View) in(dir string) map[string]mark {
	out := map[string]mark{}
	for _, name := range append(protected.InGitDir(), ".") {
		if m, ok := v.marks[filepath.Join(dir, name)]; ok {
			if name == "." || name == "hooks" {
				m.stamp.changed = 0 // git works in it
			}
			out[filepath.Join(dir, name)] = m
		}
	}
	return out
}

func (g *Guard) look() (*View, error) {
	v := &View{worktrees: []string{"."}, marks: map[string]mark{}, names: map[string]namer{}, configs: map[string][]setting{}, taken: time.Now().Add(-tick).UnixNano()}
	if err := g.tree.refresh(); err != nil {
		return nil, err
	}
	v.gitDirs = g.tree.with(func(f *folder) bool { return f.bare })
	for _, rel := range g.tree.with(func(f *folder) bool { return f.git }) {
		g.repository(rel, v)
	}
	for dir, f := range g.tree.folders {
		if !g.o.Once {
			for _, name := range f.settings {
				g.setting(filepath.Join(dir, name), v)
			}
		}
		for _, name := range f.links {
			if rel := filepath.Join(dir, name); g.leaves(rel) {
				g.mark(rel, v)
			}
		}
	}
	for _, dir := range v.worktrees {
		for _, name := range protected.InWorktree() {
			g.setting(filepath.Join(dir, name), v)
		}
	}
	for _, dir := range v.gitDirs {
		g.gitDir(dir, v)
	}
	g.markNamed(v)
	return v, nil
}

// gitDir marks what in a git directory runs code.
func (g *Guard) gitDir(dir string, v *View) {
	for _, name := range protected.InGitDir() {
		g.mark(filepath.Join(dir, name), v)
	}
	for _, name := range []string{"config", "config.worktree"} {
		if rel := filepath.Join(dir, name); v.marks[rel].mode.IsRegular() {
			v.configs[rel] = hashed(g.config(rel))
		}
	}
	g.inside(filepath.Join(dir, "hooks"), namer{gitDir: dir}, v)
	for _, rel := range todos() {
		if rel = filepath.Join(dir, rel); g.mark(rel, v) && v.marks[rel].mode.IsDir() {
			delete(v.marks, rel) // only one that is none
		}
	}
}

// hashed replaces values by their digests: they may have secrets, and a view may be written down.
func hashed(all []setting) (out []setting) {
	for _, kv := range all {
		sum := sha256.Sum256([]byte(kv.value))
		out = append(out, setting{kv.key, hex.EncodeToString(sum[:])})
	}
	return out
}

// setting marks a place from which code is run, with what belongs to it elsewhere.
func (g *Guard) setting(rel string, v *View) {
	if !g.mark(rel, v) {
		return
	}
	g.named(g.steps(filepath.Join(g.o.Project, rel)), namer{}, v)
	if v.marks[rel].mode.IsDir() {
		g.inside(rel, namer{}, v)
	}
}

// maxInside bounds what is looked at in one place.
const maxInside = 2000

// inside marks what belongs to a directory from which code is run and can be changed elsewhere: what links in it lead to, and files with
// another name.
func (g *Guard) inside(dir string, by namer, v *View) {
	n := 0
	_ = filepath.WalkDir(filepath.Join(g.o.Project, dir), func(path string, d fs.DirEntry, err error) error {
		if n++; err != nil || n > maxInside {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(g.o.Project, path)
		if err != nil || rel == dir {
			return nil //nolint:nilerr // it cannot be
		}
		if d.Type()&fs.ModeSymlink != 0 {
			g.named(g.steps(path), by, v)
		} else if info, err := d.Info(); err == nil && info.Mode().IsRegular() && namesOf(info) > 1 {
			g.mark(rel, v)
		}
		return nil
	})
}

// named marks places that something names.
func (g *Guard) named(rels []string, by namer, v *View) {
	for _, rel := range rels {
		if rel == "." {
			continue
		}
		if _, known := v.marks[rel]; !known && g.mark(rel, v) {
			v.names[rel] = by
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
