package guard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/grapnel-go/grapnel/runtime/sandbox/internal/paths"
)

// todos are what git goes on with after an interruption, in a git directory: the directories, which are marked only if they are something
// else, and files in them.
func todos() []string {
	return []string{"rebase-merge", "rebase-apply", "sequencer", "rebase-merge/git-rebase-todo", "rebase-merge/strategy", "sequencer/todo", "sequencer/opts"}
}

func isTodo(rel string) bool {
	return slices.ContainsFunc(todos(), func(name string) bool { return strings.HasSuffix(rel, "/"+name) || rel == name })
}

// runs reports whether what git goes on with has commands in it, or a strategy that is a program of the project.
func (g *Guard) runs(rel string) bool {
	data, err := g.text(rel)
	if err != nil {
		return true
	}
	if name := filepath.Base(rel); name == "strategy" || name == "opts" {
		return slices.ContainsFunc(settings("[x]\n"+data), func(kv setting) bool { return kv.key == "?" || strings.Contains(kv.value, "/") }) ||
			name == "strategy" && strings.Contains(data, "/")
	}
	for line := range strings.Lines(data) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word == "exec" || word == "x" || strings.ContainsRune(word, '\t') {
			return true
		}
	}
	return false
}

// maxConfig bounds a configuration of git that is read.
const maxConfig = 1 << 20

// config reads a configuration of git. It follows no include; what is not understood has the key "?".
func (g *Guard) config(rel string) []setting {
	data, err := g.text(rel)
	if err != nil {
		return nil
	}
	return settings(data)
}

// text reads a small regular file of the project. Another process may put something else in its place at any time, such as a link, or a
// pipe in which nobody writes: nothing follows or waits for that.
func (g *Guard) text(rel string) (string, error) {
	f, err := g.open(rel)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if len(data) > maxConfig {
		err = fs.ErrInvalid
	}
	return string(data), err
}

// open opens a regular file of the project.
func (g *Guard) open(rel string) (*os.File, error) {
	known, err := g.root.Lstat(rel)
	if err != nil {
		return nil, err
	}
	f, err := g.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(known, info)) {
		err = fs.ErrInvalid
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// harmless are the settings of git that start nothing: what init, clone and branches write.
func harmless() []string {
	return []string{
		"core.repositoryformatversion", "core.filemode", "core.bare", "core.logallrefupdates", "core.ignorecase", "core.precomposeunicode",
		"core.symlinks", "core.autocrlf", "core.eol", "core.sharedrepository", "extensions.objectformat", "extensions.refstorage",
		"extensions.partialclone", "remote.url", "remote.fetch", "remote.tagopt", "remote.promisor", "remote.partialclonefilter",
		"branch.remote", "branch.merge", "branch.rebase", "user.name", "user.email", "submodule.url", "submodule.active", "init.defaultbranch",
		"pull.rebase", "commit.gpgsign", "gc.auto",
	}
}

// suspiciousWorktree says why a directory that had no entry .git before runs code when git is used in it; "" if it does not. One whose
// .git is a directory is judged by that; a file or link .git leads to a git directory.
func (g *Guard) suspiciousWorktree(dir string, before, now *View) string {
	git := filepath.Join(dir, ".git")
	if slices.Contains(before.worktrees, dir) || now.marks[git].mode.IsDir() {
		return ""
	}
	if _, target, ok := g.gitFile(git); ok && (slices.Contains(before.gitDirs, target) || slices.Contains(now.gitDirs, target)) {
		return ""
	}
	return "it has a .git that leads to a repository elsewhere"
}

// suspiciousGitDir says why a new git directory runs code when git uses it; "" if it does not. What was in the project before is the
// user's.
func (g *Guard) suspiciousGitDir(dir string, before, now *View) string {
	known := func(name string) bool {
		m, ok := now.marks[filepath.Join(dir, name)]
		return ok && before.knows(m)
	}
	for _, name := range []string{"config", "config.worktree"} {
		at := filepath.Join(dir, name)
		if known(name) {
			continue
		}
		if _, err := g.text(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "it is a new repository whose configuration cannot be read"
		}
		for _, kv := range g.config(at) {
			if !slices.Contains(harmless(), kv.key) {
				return "it is a new repository whose configuration may run programs (" + strings.TrimPrefix(kv.key, ".") + ")"
			}
		}
	}
	if _, err := g.root.Lstat(filepath.Join(dir, "commondir")); err == nil && !g.ownWorktree(dir) && !known("commondir") {
		return "it is a new repository that takes its configuration from elsewhere"
	}
	hooks := filepath.Join(dir, "hooks")
	info, err := g.root.Lstat(hooks)
	if err != nil || known("hooks") {
		return ""
	}
	if !info.IsDir() {
		return "it is a new repository with hooks"
	}
	entries, err := os.ReadDir(filepath.Join(g.o.Project, hooks))
	if err != nil {
		return "it is a new repository whose hooks cannot be read"
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") {
			return "it is a new repository with hooks"
		}
	}
	return ""
}

// ownWorktree reports whether a git directory is that of a worktree of the repository that it lies in, as git makes it. That one is a git
// directory by itself, so it is judged as well.
func (g *Guard) ownWorktree(dir string) bool {
	common, err := g.text(filepath.Join(dir, "commondir"))
	if err != nil || filepath.Base(filepath.Dir(dir)) != "worktrees" || strings.TrimSpace(common) != "../.." {
		return false
	}
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if _, err := g.root.Lstat(filepath.Join(dir, "..", "..", part)); err != nil {
			return false
		}
	}
	return true
}

// gitFile returns the directory that a file .git leads to, relative to the project, and the repository that it belongs to; false if it
// leads out of the project or is none.
func (g *Guard) gitFile(rel string) (own, repository string, ok bool) {
	data, err := g.text(rel)
	if err != nil {
		return "", "", false
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(data), "gitdir:")
	if to = strings.TrimSpace(to); !ok || to == "" {
		return "", "", false
	}
	to, err = filepath.EvalSymlinks(absolute(filepath.Join(g.o.Project, filepath.Dir(rel)), to)) // as git does
	own, ok = paths.Below(g.o.Project, to)
	if err != nil || !ok {
		return "", "", false
	}
	if g.ownWorktree(own) {
		return own, filepath.Dir(filepath.Dir(own)), true
	}
	return own, own, true
}

// accepted reports whether a place that is new belongs to a new repository that was found harmless.
func (g *Guard) accepted(rel string, before, now *View) bool {
	dir := filepath.Dir(rel)
	if filepath.Base(rel) == ".git" {
		return !slices.Contains(before.worktrees, dir) || dir == "." && g.suspiciousGitDir(rel, before, now) == "" && now.marks[rel].mode.IsDir()
	}
	return slices.Contains(now.gitDirs, dir) && !slices.Contains(before.gitDirs, dir) && (filepath.Base(rel) != "commondir" || g.ownWorktree(dir))
}
