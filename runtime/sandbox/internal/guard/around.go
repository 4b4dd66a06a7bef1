package guard

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// What runs code in the project may be named outside of it: by the user's own configuration of git, and by the repository that the
// project is a part of or a worktree of. What is read here cannot be changed by processes.

// global returns the paths inside the project that the user's own configuration names, for all repositories.
func (g *Guard) global() (out []string) {
	if g.o.Home == "" {
		return nil
	}
	for _, rel := range []string{".gitconfig", ".config/git/config"} {
		out = append(out, g.namedOutside(filepath.Join(g.o.Home, filepath.FromSlash(rel)), ".", maxIncludes)...)
	}
	return out
}

// around returns the paths inside the project that the configuration of a repository outside names, to which the project belongs.
func (g *Guard) around() (out []string) {
	worktree := g.o.Project
	git, found := gitDirOf(worktree)
	for !found && filepath.Dir(worktree) != worktree {
		worktree = filepath.Dir(worktree)
		git, found = gitDirOf(worktree)
	}
	if _, in := paths.Below(g.o.Project, git); !found || in {
		return nil
	}
	rel, err := filepath.Rel(g.o.Project, worktree)
	if err != nil {
		return nil
	}
	files := []string{filepath.Join(git, "config.worktree")}
	if text, ok := outside(filepath.Join(git, "commondir")); ok {
		git = absolute(git, strings.TrimSpace(text))
	}
	for _, file := range append(files, filepath.Join(git, "config")) {
		out = append(out, g.namedOutside(file, rel, maxIncludes)...)
	}
	if _, in := paths.Below(g.o.Project, filepath.Join(git, "hooks")); in {
		return out
	}
	return append(out, g.leadIn(filepath.Join(git, "hooks"))...)
}

// namedOutside returns the paths inside the project that a file outside names, and what the files name that it includes. worktree is
// relative to the project.
func (g *Guard) namedOutside(file, worktree string, deep int) []string {
	text, ok := outside(file)
	if !ok {
		return nil
	}
	all := settings(text)
	from, err := filepath.Rel(g.o.Project, filepath.Dir(file))
	if err != nil {
		return nil
	}
	out := g.paths(all, worktree, from)
	for _, kv := range all {
		if kv.key != "include.path" && kv.key != "includeif.path" || deep == 0 {
			continue
		}
		at := absolute(filepath.Dir(file), g.expand(kv.value))
		if rel, in := paths.Below(g.o.Project, at); in {
			out = append(out, g.namedBy(rel, []string{worktree}, deep-1)...)
			continue
		}
		out = append(out, g.namedOutside(at, worktree, deep-1)...)
	}
	return out
}

// leadIn returns the paths inside the project to which links in a directory outside lead.
func (g *Guard) leadIn(dir string) (out []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if rel, ok := paths.Below(g.o.Project, real); err == nil && ok && rel != "." {
			out = append(out, rel)
		}
	}
	return out
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
	text, ok := outside(at)
	to, found := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
	return absolute(dir, strings.TrimSpace(to)), ok && found
}

// outside reads a small regular file that processes cannot change.
func outside(path string) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxConfig {
		return "", false
	}
	data, err := os.ReadFile(path)
	return string(data), err == nil
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
