package guard

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// What runs code in the project may be named by configurations of git: those of its git directories, the user's own, and that of a
// repository outside to which a directory of the project belongs. What is read outside cannot be changed by processes.

// markNamed marks what configurations name.
func (g *Guard) markNamed(v *View) {
	of := map[string][]string{} // the worktrees of each git directory
	for _, dir := range v.gitDirs {
		if filepath.Base(dir) == ".git" {
			of[dir] = []string{filepath.Dir(dir)}
		} else {
			of[dir] = []string{dir}
		}
	}
	global := g.global()
	for _, dir := range v.worktrees {
		for _, file := range global {
			g.named(g.places(file.all, dir, file.dir), namer{worktree: dir}, v)
		}
		own, target, ok := g.gitFile(filepath.Join(dir, ".git"))
		switch {
		case ok:
			of[target] = append(of[target], dir)
			if own != target {
				of[own] = append(of[own], dir)
			}
		case dir == "." || v.marks[filepath.Join(dir, ".git")].mode.IsRegular():
			g.named(g.around(dir), namer{worktree: dir}, v)
		}
	}
	for _, dir := range v.gitDirs {
		for _, worktree := range of[dir] {
			for _, name := range []string{"config", "config.worktree"} {
				g.named(g.namedBy(filepath.Join(dir, name), worktree, maxIncludes), namer{dir, worktree}, v)
			}
		}
	}
}

// maxIncludes is how deep files of configuration include others, as in git.
const maxIncludes = 10

// namedBy returns the places that a configuration in the project names, with what it includes, for a worktree.
func (g *Guard) namedBy(file, worktree string, deep int) []string {
	return g.withIncludes(g.config(file), filepath.Join(g.o.Project, filepath.Dir(file)), worktree, deep)
}

// outside is a configuration outside, and its directory.
type outside struct {
	all []setting
	dir string
}

// global returns the user's own configurations.
func (g *Guard) global() (out []outside) {
	if g.o.Home == "" {
		return nil
	}
	for _, rel := range []string{".gitconfig", ".config/git/config"} {
		file := filepath.Join(g.o.Home, filepath.FromSlash(rel))
		if text, ok := read(file); ok {
			out = append(out, outside{settings(text), filepath.Dir(file)})
		}
	}
	return out
}

// around returns the places that the configuration of a repository outside names, to which a directory of the project belongs.
func (g *Guard) around(rel string) []string {
	worktree := filepath.Join(g.o.Project, rel)
	git, found := gitDirOf(worktree)
	for !found && rel == "." && filepath.Dir(worktree) != worktree {
		worktree = filepath.Dir(worktree)
		git, found = gitDirOf(worktree)
	}
	if _, in := paths.Below(g.o.Project, git); !found || in {
		return nil
	}
	at, err := filepath.Rel(g.o.Project, worktree)
	if err != nil {
		return nil
	}
	files := []string{filepath.Join(git, "config.worktree")}
	if text, ok := read(filepath.Join(git, "commondir")); ok {
		git = absolute(git, strings.TrimSpace(text))
	}
	var out []string
	for _, file := range append(files, filepath.Join(git, "config")) {
		if text, ok := read(file); ok {
			out = append(out, g.withIncludes(settings(text), filepath.Dir(file), at, maxIncludes)...)
		}
	}
	entries, _ := os.ReadDir(filepath.Join(git, "hooks"))
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			out = append(out, g.steps(filepath.Join(git, "hooks", e.Name()))...)
		}
	}
	return out
}

// withIncludes returns the places that settings of a directory name, and what the files name that they include. worktree is relative to
// the project.
func (g *Guard) withIncludes(all []setting, dir, worktree string, deep int) []string {
	out := g.places(all, worktree, dir)
	for _, kv := range all {
		if kv.key != "include.path" && kv.key != "includeif.path" || deep == 0 {
			continue
		}
		at := absolute(dir, g.expand(kv.value))
		if rel, in := paths.Below(g.o.Project, at); in {
			out = append(out, g.namedBy(rel, worktree, deep-1)...)
		} else if text, ok := read(at); ok {
			out = append(out, g.withIncludes(settings(text), filepath.Dir(at), worktree, deep-1)...)
		}
	}
	return out
}

// places returns what of the project settings name, with the links on the way: of hooks relative to the worktree, of others relative to
// the directory of the file. A package for hooks keeps the scripts beside the directory "_" that it names. Any other value may name a
// program of the project.
func (g *Guard) places(all []setting, worktree, dir string) (out []string) {
	tree := filepath.Join(g.o.Project, worktree)
	for _, kv := range all {
		value := g.expand(kv.value)
		switch kv.key {
		case "core.hookspath", "init.templatedir":
			out = append(out, g.hooks(absolute(tree, value))...)
		case "include.path", "includeif.path", "core.attributesfile":
			out = append(out, g.steps(absolute(dir, value))...)
		default:
			first, _, _ := strings.Cut(strings.TrimPrefix(value, "!"), " ")
			if at := absolute(tree, first); strings.Contains(first, "/") && isFile(at) {
				out = append(out, g.steps(at)...)
			}
		}
	}
	return out
}

// hooks returns what a path of hooks names: the directory, or in the place of the project itself the hooks in it.
func (g *Guard) hooks(at string) (out []string) {
	for _, rel := range g.steps(at) {
		switch {
		case rel == ".":
			out = append(out, hookNames()...)
			continue
		case filepath.Base(rel) == "_":
			rel = filepath.Dir(rel)
		}
		out = append(out, rel)
		entries, _ := os.ReadDir(filepath.Join(g.o.Project, rel))
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				out = append(out, g.steps(filepath.Join(g.o.Project, rel, e.Name()))...)
			}
		}
	}
	return out
}

// hookNames are those of githooks(5).
func hookNames() []string {
	return strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
		pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction
		push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist p4-prepare-changelist
		p4-post-changelist p4-pre-submit post-index-change`)
}

// expand replaces ~ by the home directory.
func (g *Guard) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && g.o.Home != "" {
		return filepath.Join(g.o.Home, rest)
	}
	return path
}

// gitDirOf returns the git directory of a directory that has an entry .git.
func gitDirOf(dir string) (string, bool) {
	at := filepath.Join(dir, ".git")
	info, err := os.Stat(at)
	if err != nil {
		return "", false
	}
	if info.IsDir() {
		return at, true
	}
	text, ok := read(at)
	to, found := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	return absolute(dir, strings.TrimSpace(to)), ok && found
}

// read reads a small regular file that processes cannot change.
func read(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return "", false
	}
	data, err := os.ReadFile(path)
	return string(data), err == nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path // not cleaned: what stands before ".." may be a link
}
