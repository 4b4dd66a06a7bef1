package skills_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/skills"
)

func TestBundled(t *testing.T) {
	t.Parallel()
	s := skills.New(&skills.Options{Bundled: true})
	assert.Equal(t, "code-review release-notes", names(s.All()))
	assert.Empty(t, s.Warnings(), "they keep the format")
	r, err := at(s, "").load(t, "release-notes", "v1.2.0")
	require.NoError(t, err)
	assert.Contains(t, r.Text(), "What to cover (a tag or a range, may be empty): v1.2.0")
	assert.Contains(t, r.Text(), "its files are not on disk")
	assert.NotContains(t, r.Text(), "<file>")
	assert.Contains(t, s.SystemPrompt(agent("")), "<location>built in</location>")
}

func TestWriteBundled(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "skills")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = skills.WriteBundled(dir) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	script := filepath.Join(dir, "release-notes", "scripts", "collect.sh")
	info, err := os.Stat(script)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm()&0o700, "the umask takes from others only")

	require.NoError(t, os.WriteFile(script, []byte("old"), 0o644))
	add(t, dir, map[string]string{"own/SKILL.md": md("own", "O.", "x")})
	require.NoError(t, skills.WriteBundled(dir))
	data, err := os.ReadFile(script)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(data), "#!/bin/sh\n"), "an old version is replaced")

	s := in(dir)
	assert.Equal(t, "code-review own release-notes", names(s.All()), "others are left alone")
	k := s.All()[2]
	assert.Equal(t, []string{"references/format.md", "scripts/collect.sh"}, k.Resources)
	r, err := at(s, "").load(t, "release-notes", "")
	require.NoError(t, err)
	assert.Contains(t, r.Text(), `sh "`+dir+`/release-notes/scripts/collect.sh"`)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		assert.NotContains(t, path, ".tmp")
		return err
	}))
	assert.Error(t, skills.WriteBundled(script), "a file is no directory")
}

// git runs git in a repository of its own, whatever the machine has set.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestCollectScript(t *testing.T) {
	t.Parallel()
	needs.Program(t, "git")
	dir := t.TempDir()
	require.NoError(t, skills.WriteBundled(dir))
	script := filepath.Join(dir, "release-notes", "scripts", "collect.sh")
	repo := t.TempDir()
	collect := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
		cmd.Dir = repo
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(repo))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := collect()
	assert.Error(t, err)
	assert.Equal(t, "collect: this directory is in no git repository\n", out)

	git(t, repo, "init", "-q", "-b", "main")
	out, err = collect()
	assert.Error(t, err)
	assert.Equal(t, "collect: there is no commit HEAD\n", out)
	commit := func(subject string) {
		add(t, repo, map[string]string{"f": subject + "\n"})
		git(t, repo, "add", ".")
		git(t, repo, "commit", "-q", "-m", subject)
	}
	commit("first")
	commit("feat: second")
	out, err = collect()
	require.NoError(t, err)
	assert.Contains(t, out, "range: the beginning..HEAD\n")
	assert.Contains(t, out, "commits: 2\n")
	git(t, repo, "tag", "v1.0.0")
	commit("fix!: third")
	git(t, repo, "tag", "v2.0.0")
	out, err = collect()
	require.NoError(t, err)
	assert.Contains(t, out, "range: v1.0.0..HEAD\n", "a tag on the last commit is the release itself")
	assert.Contains(t, out, "commits: 1\n")
	assert.Contains(t, out, " fix!: third (Ann)\n")
	assert.Equal(t, 2, strings.Count(out, "fix!: third"), "also as breaking")
	assert.Contains(t, out, "2\tf\n")
	assert.NotContains(t, out, "second")
	out, err = collect("v2.0.0")
	require.NoError(t, err)
	assert.Contains(t, out, "commits: 0\n")
	for _, bad := range []string{"v9", "--output=pwned", "-x"} {
		out, err = collect(bad)
		assert.Error(t, err, out)
	}
	assert.NoFileExists(t, filepath.Join(repo, "pwned"))
}
