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

	"github.com/grapnel-go/grapnel/internal/privatedir"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// For the child that runs as an ordinary user: another user's directory, and a sticky
// directory with links of others to a directory of the child's.
const (
	strangeVariable = "GRAPNEL_TEST_STRANGE"
	linksVariable   = "GRAPNEL_TEST_LINKS"
)

const (
	nobody  = 65534
	another = 65533
)

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
			link(t, "/etc/passwd", dir, "x")
			return dir
		}, "is open to others", "", "is a link or belongs to somebody else"},
		{"writable, with a link in it, behind a link", func(t *testing.T, base string) string {
			link(t, "/etc/passwd", made(t, 0o777, base, "a"), "x")
			return link(t, "a", base, "link")
		}, "is open to others", "", "is a link or belongs to somebody else"},
		{"killed while it was looked through", func(t *testing.T, base string) string {
			dir := made(t, 0o700, base, "a")
			link(t, "/etc/passwd", dir, "x")
			require.NoError(t, os.Chmod(dir, 0o722))
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
			return link(t, "real", base, "link")
		}, "", "", ""},
		{"a link to an open place", func(t *testing.T, base string) string {
			made(t, 0o777, base, "p")
			made(t, 0o700, base, "p", "a")
			return link(t, "p/a", base, "link")
		}, "others can replace", "", "others can replace"},
		{"a link that others can replace", func(t *testing.T, base string) string {
			made(t, 0o777, base, "p")
			made(t, 0o700, base, "real")
			return link(t, "../real", base, "p", "link")
		}, "others can replace", "", "others can replace"},
		{"a link over one that others can replace", func(t *testing.T, base string) string {
			made(t, 0o777, base, "open")
			made(t, 0o700, base, "home", "real")
			link(t, "../home/real", base, "open", "mid")
			return link(t, "../open/mid", base, "home", "link")
		}, "others can replace", "", "others can replace"},
		{"a way out of an open place", func(t *testing.T, base string) string {
			made(t, 0o777, base, "open")
			made(t, 0o700, base, "open", "mid")
			made(t, 0o700, base, "real")
			return link(t, "open/mid/../../real", base, "link")
		}, "others can replace", "", "others can replace"},
		{"a link in a sticky place", func(t *testing.T, base string) string {
			made(t, 0o777|fs.ModeSticky, base, "p")
			made(t, 0o700, base, "real")
			return link(t, filepath.Join(base, "real"), base, "p", "link")
		}, "", "", ""},
		{"links on the way", func(t *testing.T, base string) string {
			made(t, 0o755, base, "run")
			made(t, 0o755, base, "var")
			link(t, "../run", base, "var", "run")
			made(t, 0o700, base, "run", "a")
			link(t, "./var//run/", base, "link")
			return filepath.Join(base, "link", "a")
		}, "", "", ""},
		{"links in a circle", func(t *testing.T, base string) string {
			link(t, "b", base, "a")
			return link(t, "a", base, "b")
		}, "too many levels of symbolic links", "", "mkdir"},
		{"another user's link", func(t *testing.T, base string) string { return filepath.Join(links(t, base), "theirs") },
			"belongs to another user", "", "others can replace"},
		{"a way through another user's directory", func(t *testing.T, base string) string { return filepath.Join(links(t, base), "through") },
			"others can replace", "", "others can replace"},
		{"a link of the system", func(t *testing.T, base string) string { return filepath.Join(links(t, base), "system") }, "", "", ""},
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
			before := mode(dir)
			note, err := privatedir.Repair(dir)
			says(t, c.wrong, err)
			if err != nil {
				_, again := privatedir.Repair(dir)
				assert.Equal(t, err, again, "what is refused is refused until somebody has looked")
				assert.Equal(t, before, mode(dir))
			}
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

// mode returns that of the file; 0 if there is none.
func mode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Mode()
}

// link makes a link to target and returns its path.
func link(t *testing.T, target string, parts ...string) string {
	t.Helper()
	path := filepath.Join(parts...)
	require.NoError(t, os.Symlink(target, path))
	return path
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

// links returns a sticky directory with links to a directory of this user's: theirs, whose
// owner can make another one; through, over a directory of theirs; and system, which is
// root's, like /var/run in Linux and /tmp in macOS.
func links(t *testing.T, base string) string {
	t.Helper()
	if dir := os.Getenv(linksVariable); dir != "" {
		return dir
	}
	if os.Geteuid() != 0 {
		needs.Root(t)
	}
	dir, mine := made(t, 0o777|fs.ModeSticky, base, "links"), made(t, 0o700, base, "mine")
	link(t, mine, dir, "system")
	link(t, "dir/../../mine", dir, "through")
	require.NoError(t, os.Chown(made(t, 0o755, dir, "dir"), another, another))
	require.NoError(t, os.Lchown(link(t, mine, dir, "theirs"), another, another))
	return dir
}

// TestAsAnOrdinaryUser runs TestDirectories as nobody.
func TestAsAnOrdinaryUser(t *testing.T) {
	needs.Root(t) // others have run TestDirectories as an ordinary user
	base, err := os.MkdirTemp("", "privatedir-")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(base)) })
	require.NoError(t, os.Chmod(base, 0o755))
	binary := filepath.Join(base, "test")
	copyFile(t, os.Args[0], binary)
	theirs, temp := made(t, 0o755, base, "theirs"), made(t, 0o700, base, "tmp")
	require.NoError(t, os.Chown(temp, nobody, nobody))
	sticky := links(t, base)
	require.NoError(t, os.Chown(filepath.Join(base, "mine"), nobody, nobody))
	cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestDirectories$", "-test.v")
	cmd.Dir, cmd.Env = base, []string{"TMPDIR=" + temp, strangeVariable + "=" + theirs, linksVariable + "=" + sticky}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"another_user's", "another_user's_link", "a_way_through_another_user's_directory", "a_link_of_the_system"} {
		assert.Contains(t, string(out), "--- PASS: TestDirectories/"+name+" ")
	}
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
