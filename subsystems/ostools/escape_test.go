package ostools_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

const secret = "the secret canary"

// trap makes a root that is full of ways out, and beside it what they lead to.
func trap(t *testing.T) (o *ostools.OS, root, out string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root, out = filepath.Join(base, "root"), filepath.Join(base, "out")
	fill(t, base, map[string]string{"out/secret": secret, "out/dir/secret": secret, "root-2/secret": secret, "root/in/file": "inside", "root/file": "inside"})
	for name, target := range map[string]string{
		"abs":          filepath.Join(out, "secret"),
		"absdir":       out,
		"rel":          "../out/secret",
		"reldir":       "../out",
		"in/rel":       "../../out/secret",
		"in/reldir":    "../../out",
		"chain":        "chain2",
		"chain2":       "in/reldir/secret",
		"dots":         "in/../../out/secret",
		"dotsdir":      "in/../..",
		"proc":         "/proc/self/root",
		"self":         "self",
		"ping":         "pong",
		"pong":         "ping",
		"sibling":      "../root-2/secret",
		"newfile":      "../out/new",
		"newabs":       filepath.Join(out, "new"),
		"absin":        filepath.Join(root, "file"),
		"trailing":     "../out/",
		"through":      "reldir/../out/secret",
		"in/deep":      "../reldir/dir",
		"to-chain-dir": "absdir",
		"procfd":       "/proc/self/fd",
		"devfd":        "/dev/fd",
		"stdin":        "/dev/stdin",
		"zero":         "/dev/zero",
		"empty-target": "./../out/.",
		"up-and-in":    "../root/file",
		"inlink":       "in",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	require.NoError(t, os.Link(filepath.Join(out, "secret"), filepath.Join(root, "hard")))
	require.NoError(t, os.Link(filepath.Join(out, "dir", "secret"), filepath.Join(root, "in", "hard-twin")))
	fill(t, root, map[string]string{"in/own": "inside"})
	require.NoError(t, os.Link(filepath.Join(root, "in", "own"), filepath.Join(root, "in", "hard-inside")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	sock, err := net.Listen("unix", filepath.Join(root, "sock"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sock.Close()) })
	o, err = ostools.New(root, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	return o, root, out
}

// way is a path that may lead out, and how a read of it ends: with a failure of this kind, or "" if it stays inside and is read.
type way struct {
	path string
	kind message.FailureKind
}

func ways(root, out string) []way {
	const denied, notFound, arguments, operation = message.FailDenied, message.FailNotFound, message.FailArguments, message.FailOperation
	base := filepath.Dir(root)
	long := strings.Repeat("n", 300)
	return []way{
		// .. and absolute paths
		{"../out/secret", denied}, {"..", denied}, {"../", denied}, {"./../out/secret", denied}, {"in/../../out/secret", denied},
		{"in/./../../out/secret", denied}, {".././out/secret", denied}, {"../root/../out/secret", denied}, {"../root-2/secret", denied},
		{"in/../../../" + filepath.Base(base) + "/out/secret", denied}, {strings.Repeat("../", 100) + out[1:] + "/secret", denied},
		{"..//..//out/secret", denied}, {"missing/../../out/secret", denied}, {"file/../../out/secret", denied}, {"...", notFound}, {".../secret", notFound},
		{filepath.Join(out, "secret"), denied}, {out, denied}, {base, denied}, {root + "/../out/secret", denied}, {root + "-2/secret", denied},
		{"/", denied}, {"//", denied}, {"//etc/passwd", denied}, {"/etc/passwd", denied}, {"/." + out + "/secret", denied}, {"/../.." + out + "/secret", denied},
		{"/proc/self/environ", denied}, {"/proc/self/root" + out + "/secret", denied}, {"/proc/self/fd/0", denied}, {"/proc/self/cwd/escape_test.go", denied},
		{"/dev/zero", denied}, {"/dev/tty", denied}, {"/dev/fd/0", denied}, {"/dev/stdin", denied},
		{"~/../../" + out + "/secret", denied}, {"~", notFound}, {"~root/.profile", notFound}, {"$HOME/.profile", notFound}, {"file://" + out + "/secret", notFound},
		{`..\out\secret`, notFound}, {"..%2fout%2fsecret", notFound}, {"\u2025/out/secret", notFound}, {"．．/out/secret", notFound},
		// links
		{"abs", denied}, {"absdir/secret", denied}, {"absdir/dir/secret", denied}, {"rel", denied}, {"reldir/secret", denied}, {"reldir/../out/secret", notFound},
		{"in/rel", denied}, {"in/reldir/secret", denied}, {"chain", denied}, {"chain2", denied}, {"dots", denied}, {"dotsdir/out/secret", denied},
		{"dotsdir/root/../out/secret", denied}, {"proc" + out + "/secret", denied}, {"procfd/0", denied}, {"devfd/0", denied}, {"stdin", denied}, {"zero", denied},
		{"self", operation}, {"ping", operation}, {"pong/x", operation}, {"sibling", denied}, {"trailing/secret", denied}, {"trailing/", denied}, {"through", denied},
		{"in/deep/secret", denied}, {"to-chain-dir/secret", denied}, {"absin", denied}, {"empty-target/secret", denied}, {"up-and-in", denied},
		{"inlink/file", ""}, {"inlink/../file", ""},
		// names
		{"file/../../out/secret\x00", arguments}, {"file\x00/../../out/secret", arguments}, {"\x00", arguments}, {"file\n", notFound}, {"file\r\n../out/secret", notFound},
		{"\xff\xfe/secret", notFound}, {"file\xff", notFound}, {long, operation}, {"in/" + long + "/secret", operation}, {long + "/../../out/secret", denied},
		{strings.Repeat("in/../", 600) + "../out/secret", denied}, {strings.Repeat("d/", 2500) + "secret", arguments}, {strings.Repeat("d/", 300) + "secret", arguments},
		{"file/", ""}, {"file/.", ""}, {"file/..", operation}, {"file/secret", operation}, {"in//file", ""}, {".//in/./file", ""}, {root + "//file", ""}, {root + "/./in/../file", ""},
		{"file ", notFound}, {"file.", notFound}, {"FILE", notFound}, {"In/File", notFound}, {strings.ToUpper(root) + "/file", denied}, {"file:secret", notFound}, {"file::$DATA", notFound},
		// hard links and what is no regular file
		{"hard", denied}, {"in/hard-twin", denied}, {"in/hard-inside", denied}, {"fifo", operation}, {"sock", operation}, {"in", operation}, {".", operation},
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	t.Parallel()
	o, root, out := trap(t)
	table := ways(root, out)
	require.GreaterOrEqual(t, len(table), 60)
	_, err := os.Stat(strings.ToUpper(filepath.Join(root, "file")))
	tellsCase := err != nil
	leaks := 0
	for _, w := range table {
		t.Run(fmt.Sprintf("%.80q", w.path), func(t *testing.T) {
			r, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: w.path})
			leaks += strings.Count(r.Text(), secret)
			if tellsCase {
				assert.Equal(t, w.kind, kindOf(t, err), "%v", err)
			}
			r, err = o.Edit(t.Context(), env, ostools.EditInput{FilePath: w.path, OldString: "secret", NewString: "gone"})
			denied(t, r, err)
			r, err = o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "canary", Path: w.path, OutputMode: ostools.ModeContent})
			leaks += strings.Count(r.Text(), secret)
			assertRefusal(t, err)
			r, err = o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**/secret", Path: w.path})
			leaks += strings.Count(r.Text(), "secret\n")
			assertRefusal(t, err)
		})
	}
	// Writing may replace a name inside the root, but nothing outside of it.
	for _, path := range []string{"newfile", "newabs", "reldir/new", "absdir/new", "in/deep/new", "dotsdir/new"} {
		table = append(table, way{path: path})
	}
	for _, w := range table {
		_, err := o.Write(t.Context(), env, ostools.WriteInput{FilePath: w.path, Content: "overwritten"})
		assertRefusal(t, err)
	}
	for _, path := range []string{"out/secret", "out/dir/secret", "root-2/secret"} {
		assert.Equal(t, secret, content(t, filepath.Dir(root), path))
	}
	onlyFiles(t, out, "secret", "dir/secret")
	entries, err := os.ReadDir(filepath.Dir(root))
	require.NoError(t, err)
	assert.Len(t, entries, 3)
	assert.Zero(t, leaks)
	t.Logf("FIGURE paths=%d, each read, edited, searched, listed and written", len(table))
	t.Logf("FIGURE paths.escapes=%d", leaks)
}

// kindOf returns the kind of a failure, "" for none.
func kindOf(t *testing.T, err error) message.FailureKind {
	t.Helper()
	if err == nil {
		return ""
	}
	kind, _ := failure(t, err)
	return kind
}

func denied(t *testing.T, r message.ToolResult, err error) {
	t.Helper()
	assert.Error(t, err)
	assert.NotContains(t, r.Text(), secret)
	assertRefusal(t, err)
}

// assertRefusal fails unless an error, if there is one, is a sentence for the
// model that does not quote what is outside.
func assertRefusal(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	_, text := failure(t, err)
	assert.NotContains(t, text, secret)
	assert.NotEmpty(t, text)
}

func TestEscapesAreTold(t *testing.T) {
	t.Parallel()
	o, root, out := trap(t)
	for path, want := range map[string]string{
		"../out/secret":              "../out/secret is outside of " + root + "; use a path below that directory",
		filepath.Join(out, "secret"): filepath.Join(out, "secret") + " is outside of " + root + "; use a path below that directory",
		"rel":                        "rel leads out of the directory that may be used, through a link or ..",
		"hard":                       "hard is a hard link: it has 2 names, and the others may be outside of the root",
		"fifo":                       "fifo is no regular file (a named pipe)",
	} {
		_, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
		_, text := failure(t, err)
		assert.Equal(t, want, text)
	}
	allowed, err := ostools.New(root, &ostools.Options{HardLinks: true})
	require.NoError(t, err)
	defer allowed.Close()
	r, err := allowed.Read(t.Context(), env, ostools.ReadInput{FilePath: "hard"})
	require.NoError(t, err)
	assert.Contains(t, r.Text(), secret, "who allows hard links gets them")
}
