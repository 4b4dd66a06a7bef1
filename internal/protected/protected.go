// Package protected names the places in a project from which programs outside of a sandbox run code later: git, editors, shells, and
// programs like this one. A command or a tool that writes there would run code without being asked.
//
// It is for what confines commands and for what judges calls of tools, so that both mean the same places. It looks at names only, and
// knows no files: a build file, which runs code when somebody builds, is not among them.
package protected

import (
	"slices"
	"strings"
)

// gitName is the name of the directory, or of the file that leads to one, by which git finds a repository.
const gitName = ".git"

// InWorktree returns the names that run code outside, in the project's directory and in every directory below it. A name is that of a
// file, or of a directory and everything in it. .git is not among them: see [InGitDir]. The caller owns the result.
func InWorktree() []string {
	return []string{".gitmodules", ".grapnel", ".claude", ".agents", ".mcp.json", ".envrc", ".vscode", ".idea"}
}

// InGitDir returns the names that run code outside in a git directory, which is .git, a bare repository, or the directory of a submodule
// or a worktree below .git. The caller owns the result.
func InGitDir() []string { return []string{"hooks", "config", "config.worktree", "commondir"} }

// Names returns all names: .git, those of [InWorktree] and those of [InGitDir]. The caller owns the result.
func Names() []string {
	return slices.Concat([]string{gitName}, InWorktree(), InGitDir())
}

// Match reports whether a path runs code outside, and why: a clause without a full stop, that names who runs it. The path is relative to
// the project and clean, with slashes; a backslash counts as a slash. It need not exist. All levels count: a/.vscode/tasks.json and
// a/.git/hooks are matches. Of .git itself, only the name is one, and what is in it by [InGitDir]; index and refs are none.
//
// Names are compared as the most tolerant file systems do: without case, without characters that do not show, without blanks and dots
// at the end, without the name of a stream, and by the short names of Windows. So it may report a file that no program reads.
func Match(rel string) (reason string, ok bool) {
	parts := split(rel)
	for i, part := range parts {
		if same(part, gitName) {
			if i == len(parts)-1 {
				return "git takes the repository from it", true
			}
			if at := slices.IndexFunc(parts[i+1:], gitDirName); at >= 0 {
				return inGitDir(parts[i+1+at]), true
			}
		}
		for _, name := range InWorktree() {
			if same(part, name) {
				return inWorktree(name), true
			}
		}
	}
	return "", false
}

// GitDirs returns the directories of a path that would make it run code if they were git directories without the name .git, such as bare
// repositories: "a" for a/hooks/post-commit, and "." for config. A git directory has the file HEAD.
func GitDirs(rel string) []string {
	var out []string
	parts := split(rel)
	for i, part := range parts {
		if gitDirName(part) {
			out = append(out, strings.Join(append([]string{"."}, parts[:i]...), "/"))
		}
	}
	return out
}

// MakesGitDir reports whether the file of the path makes its directory one that git may take for a repository: HEAD, outside of .git.
func MakesGitDir(rel string) bool {
	parts := split(rel)
	last := len(parts) - 1
	return same(parts[last], "HEAD") && !slices.ContainsFunc(parts[:last], func(part string) bool { return same(part, gitName) })
}

func inWorktree(name string) string {
	switch name {
	case ".gitmodules":
		return "git takes submodules from it"
	case ".grapnel", ".agents":
		return "it configures this program"
	case ".claude", ".mcp.json":
		return "it configures programs that run agents"
	case ".envrc":
		return "shells run it"
	}
	return "an editor takes tasks and settings from it"
}

func inGitDir(part string) string {
	if same(part, "hooks") {
		return "git runs its hooks"
	}
	return "git's configuration names programs that git runs"
}

func gitDirName(part string) bool {
	return slices.ContainsFunc(InGitDir(), func(name string) bool { return same(part, name) })
}

func split(rel string) []string { return strings.Split(strings.ReplaceAll(rel, `\`, "/"), "/") }

// same reports whether a part of a path may be the name on some file system.
func same(part, name string) bool {
	part = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1 // HFS+ ignores them
		}
		return r
	}, part)
	part, _, _ = strings.Cut(part, ":")
	part = strings.TrimRight(part, ". ")
	return strings.EqualFold(part, name) || short(part, name)
}

// short reports whether part is a short name of Windows for name: GIT~1 for .git, MCP~1.JSO for .mcp.json.
func short(part, name string) bool {
	stem, extension, _ := strings.Cut(strings.TrimPrefix(name, "."), ".")
	begin, end, found := strings.Cut(part, "~")
	number, rest, _ := strings.Cut(end, ".")
	return found && len(number) == 1 && number[0] >= '1' && number[0] <= '9' &&
		strings.EqualFold(begin, stem[:min(6, len(stem))]) && strings.EqualFold(rest, extension[:min(3, len(extension))])
}
