package protected_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/internal/protected"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMatch(t *testing.T) {
	t.Parallel()
	const (
		hooks, config, repository = "git runs its hooks", "git's configuration names programs that git runs", "git takes the repository from it"
		editor, program, agents   = "an editor takes tasks and settings from it", "it configures this program", "it configures programs that run agents"
	)
	for path, want := range map[string]string{
		".git": repository, "a/b/.git": repository, ".git/hooks": hooks, ".git/hooks/pre-commit": hooks, ".git/config": config,
		".git/config.worktree": config, ".git/commondir": config, ".git/modules/a/b/config": config, ".git/modules/a/hooks/x": hooks,
		".git/worktrees/w/config.worktree": config, "vendor/x/.git/hooks/x": hooks, ".git/x/.git": repository,
		".gitmodules": "git takes submodules from it", "sub/.gitmodules": "git takes submodules from it",
		".grapnel": program, ".grapnel/policy.json": program, "a/.agents/skills/x/SKILL.md": program,
		".claude/settings.json": agents, "a/.mcp.json": agents, ".envrc": "shells run it", "a/.envrc": "shells run it",
		".vscode/tasks.json": editor, ".idea/workspace.xml": editor,

		".GIT/HOOKS/x": hooks, ".Git/Config": config, ".VSCode/x": editor, ".g\u200cit/hooks/x": hooks, ".git\ufeff": repository,
		".git./config": config, ".git /config": config, ".git::$INDEX_ALLOCATION/config": config, "GIT~1/config": config, "git~2": repository,
		"GRAPNE~1/x": program, "MCP~1.JSO": agents, `a\.git\hooks\x`: hooks, ".envrc:x": "shells run it", ".git/hoo\u212as/x": hooks,

		"": "", ".": "", "a": "", "git": "", ".gitignore": "", ".github/workflows/x.yml": "", "hooks/x": "", "config": "", "a/config": "",
		".git/index": "", ".git/HEAD": "", ".git/refs/heads/main": "", ".env": "", ".mcp.jsonl": "", "envrc": "", "git~10": "", "~1": "", "vscode": "",
	} {
		reason, ok := protected.Match(path)
		assert.Equal(t, want, reason, "%q", path)
		assert.Equal(t, want != "", ok, "%q", path)
	}
}

func TestEveryNameIsAMatch(t *testing.T) {
	t.Parallel()
	names := protected.Names()
	assert.Len(t, names, 1+len(protected.InWorktree())+len(protected.InGitDir()))
	for _, name := range protected.InWorktree() {
		for _, path := range []string{name, name + "/x", "a/b/" + name, strings.ToUpper(name)} {
			_, ok := protected.Match(path)
			assert.True(t, ok, path)
		}
	}
	for _, name := range protected.InGitDir() {
		_, ok := protected.Match(".git/" + name)
		assert.True(t, ok, name)
		_, ok = protected.Match(name)
		assert.False(t, ok, name)
	}
}

func TestGitDirs(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"./a"}, protected.GitDirs("a/hooks/x"))
	assert.Equal(t, []string{"."}, protected.GitDirs("CONFIG"))
	assert.Equal(t, []string{"./a", "./a/hooks"}, protected.GitDirs("a/hooks/config"))
	assert.Empty(t, protected.GitDirs("a/b"))
	for path, want := range map[string]bool{"HEAD": true, "a/head": true, ".git/HEAD": false, ".git/modules/a/HEAD": false, "a/HEAD/x": false, "": false} {
		assert.Equal(t, want, protected.MakesGitDir(path), path)
	}
}
