//go:build unix

package privatedir_test

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/needs"
	"github.com/grapnel-go/grapnel/internal/privatedir"
)

// Another user's directory for the child that runs as an ordinary user.
const strangeVariable = "GRAPNEL_TEST_STRANGE"

const nobody = 65534

func made(t *testing.T, mode fs.FileMode, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Chmod(dir, mode))
	return dir
}

// TestDirectories runs as whoever runs the tests; TestAsAnOrdinaryUser runs it as nobody.
func TestDirectories(t *testing.T) {
	for _, c := range []struct {
		name               string
		make               func(t *testing.T, base string) string
		check, note, wrong string // what Check, and Repair, say
	}{
		{"new", func(_ *testing.T, base string) string { return filepath.Join(base, "a", "b") }, "", "", ""},
		{"private", func(t *testing.T, base string) string { return made(t, 0o700, base, "a") }, "", "", ""},
		{"readable", func(t *testing.T, base string) string { return made(t, 0o755, base, "a") }, "is open to others (mode 0755)", "was open to others (mode 0755)", ""},
		{"writable", func(t *testing.T, base string) string { return made(t, 0o777, base, "a") }, "is open to others", "and everything in it is yours", ""},
		{"writable with a link in it", func(t *testing.T, base string) string {
			dir := made(t, 0o777, base, "a")
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "x")))
			return dir
		}, "is open to others", "", "is a link or belongs to somebody else"},
		{"a parent for everybody", func(t *testing.T, base string) string {
			made(t, 0o777, base, "p")
			return made(t, 0o700, base, "p", "a")
		}, "others can replace", "", "others can replace"},
		{"a parent far above", func(t *testing.T, base string) string {
			made(t, 0o777, base, "p")
			return made(t, 0o700, base, "p", "q", "r", "a")
		}, "others can replace", "", "others can replace"},
		{"a sticky parent", func(t *testing.T, base string) string {
			made(t, 0o777|fs.ModeSticky, base, "p")
			return made(t, 0o700, base, "p", "a")
		}, "", "", ""},
		{"a link", func(t *testing.T, base string) string {
			made(t, 0o700, base, "real")
			require.NoError(t, os.Symlink("real", filepath.Join(base, "link")))
			return filepath.Join(base, "link")
		}, "", "", ""},
		{"a link to an open place", func(t *testing.T, base string) string {
			made(t, 0o777, base, "p")
			made(t, 0o700, base, "p", "a")
			require.NoError(t, os.Symlink("p/a", filepath.Join(base, "link")))
			return filepath.Join(base, "link")
		}, "others can replace", "", "others can replace"},
		{"a link that others can replace", func(t *testing.T, base string) string {
			made(t, 0o777, base, "p")
			made(t, 0o700, base, "real")
			require.NoError(t, os.Symlink("../real", filepath.Join(base, "p", "link")))
			return filepath.Join(base, "p", "link")
		}, "others can replace", "", "others can replace"},
		{"a file", func(t *testing.T, base string) string {
			require.NoError(t, os.WriteFile(filepath.Join(base, "f"), nil, 0o600))
			return filepath.Join(base, "f")
		}, "is no directory", "", "is no directory"},
		{"another user's", func(t *testing.T, base string) string { return strange(t, base) }, "belongs to another user", "", "belongs to another user"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.make(t, t.TempDir())
			if c.name != "new" {
				says(t, c.check, privatedir.Check(dir))
			}
			note, err := privatedir.Repair(dir)
			says(t, c.wrong, err)
			if c.note == "" && c.wrong == "" {
				assert.Empty(t, note)
			}
			assert.Contains(t, note, c.note)
			if c.wrong == "" {
				require.NoError(t, privatedir.Check(dir))
				info, err := os.Stat(dir)
				require.NoError(t, err)
				assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm())
			}
		})
	}
}

func says(t *testing.T, want string, err error) {
	t.Helper()
	if want == "" {
		assert.NoError(t, err)
		return
	}
	assert.ErrorContains(t, err, want)
}

// strange returns a directory of another user's.
func strange(t *testing.T, base string) string {
	t.Helper()
	if dir := os.Getenv(strangeVariable); dir != "" {
		return dir
	}
	if os.Geteuid() != 0 {
		needs.Lacking(t, "this is not root, so no directory can be given to another user")
	}
	dir := made(t, 0o700, base, "a")
	require.NoError(t, os.Chown(dir, nobody, nobody))
	return dir
}

// TestAsAnOrdinaryUser runs TestDirectories as nobody.
func TestAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		return // TestDirectories has run as an ordinary user
	}
	base, err := os.MkdirTemp("", "privatedir-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(base)) })
	require.NoError(t, os.Chmod(base, 0o755))
	binary := filepath.Join(base, "test")
	copyFile(t, os.Args[0], binary)
	theirs, temp := made(t, 0o755, base, "theirs"), made(t, 0o700, base, "tmp")
	require.NoError(t, os.Chown(temp, nobody, nobody))
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestDirectories$", "-test.v")
	cmd.Dir, cmd.Env = base, []string{"TMPDIR=" + temp, strangeVariable + "=" + theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestDirectories/another_user's")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}
