package ostools_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	require.NoError(t, os.Link(filepath.Join(out, "secret"), filepath.Join(root, "hard")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644))
	sock, err := net.Listen("unix", filepath.Join(root, "sock"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sock.Close()) })
	o, err = ostools.New(root, nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	return o, root, out
}

func escapePaths(root, out string) []string {
	base := filepath.Dir(root)
	return []string{
		"../out/secret", "..", "../", "./../out/secret", "in/../../out/secret", "in/./../../out/secret", ".././out/secret",
		"../root/../out/secret", "../root-2/secret", "in/../../../" + filepath.Base(base) + "/out/secret",
		filepath.Join(out, "secret"), out, base, root + "/../out/secret", root + "-2/secret", "/", "//", "/etc/passwd", "/proc/self/environ",
		"/proc/self/root" + out + "/secret", "/dev/zero", "/dev/tty",
		"abs", "absdir/secret", "absdir/dir/secret", "rel", "reldir/secret", "reldir/../out/secret", "in/rel", "in/reldir/secret", "chain", "chain2",
		"dots", "dotsdir/out/secret", "dotsdir/root/../out/secret", "proc" + out + "/secret", "self", "ping", "pong/x", "sibling",
		"trailing/secret", "through", "in/deep/secret", "to-chain-dir/secret", "absin",
		"hard", "fifo", "sock", "file/../../out/secret\x00", "~/../../" + out + "/secret",
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	t.Parallel()
	o, root, out := trap(t)
	paths := escapePaths(root, out)
	require.GreaterOrEqual(t, len(paths), 40)
	for _, path := range paths {
		t.Run(fmt.Sprintf("%q", path), func(t *testing.T) {
			r, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
			denied(t, r, err)
			r, err = o.Edit(t.Context(), env, ostools.EditInput{FilePath: path, OldString: "secret", NewString: "gone"})
			denied(t, r, err)
			r, err = o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "canary", Path: path, OutputMode: ostools.ModeContent})
			assert.NotContains(t, r.Text(), secret)
			assertRefusal(t, err)
			r, err = o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**/secret", Path: path})
			assert.NotContains(t, r.Text(), "secret\n")
			assertRefusal(t, err)
		})
	}
	// Writing may replace a name inside the root, but nothing outside of it.
	for _, path := range append(paths, "newfile", "newabs", "reldir/new", "absdir/new", "in/deep/new", "dotsdir/new") {
		_, err := o.Write(t.Context(), env, ostools.WriteInput{FilePath: path, Content: "overwritten"})
		assertRefusal(t, err)
	}
	for _, path := range []string{"out/secret", "out/dir/secret", "root-2/secret"} {
		assert.Equal(t, secret, content(t, filepath.Dir(root), path))
	}
	onlyFiles(t, out, "secret", "dir/secret")
	entries, err := os.ReadDir(filepath.Dir(root))
	require.NoError(t, err)
	assert.Len(t, entries, 3)
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

// While somebody swaps a directory for a link that leads out, no open may get
// there. The naive way, to check and then to open, is raced beside it: it does
// leak, so the race is a real one.
func TestSwappedLinksDoNotLeadOut(t *testing.T) {
	t.Parallel()
	o, root, _ := trap(t)
	fill(t, root, map[string]string{"swap-a/secret": "inside"})
	require.NoError(t, os.Symlink("../out", filepath.Join(root, "swap-b")))
	spot := filepath.Join(root, "spot")
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			_ = os.Rename(filepath.Join(root, "swap-a"), spot)
			_ = os.Rename(spot, filepath.Join(root, "swap-a"))
			_ = os.Rename(filepath.Join(root, "swap-b"), spot)
			_ = os.Rename(spot, filepath.Join(root, "swap-b"))
		}
	})
	var opens, inside, naive int
	begun := time.Now()
	for ; time.Since(begun) < time.Second || (inside == 0 || naive == 0) && time.Since(begun) < time.Minute; opens++ {
		r, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "spot/secret"})
		require.NotContains(t, r.Text(), secret)
		if err == nil {
			inside++
		}
		r, _ = o.Grep(t.Context(), env, ostools.GrepInput{Pattern: "canary", Path: "spot", OutputMode: ostools.ModeContent})
		require.NotContains(t, r.Text(), secret)
		if checkThenOpen(root, "spot/secret") == secret {
			naive++
		}
	}
	stop.Store(true)
	wg.Wait()
	assert.Positive(t, inside, "the race was one")
	assert.Positive(t, naive, "the naive way leaks")
	t.Logf("%d rounds, %d opened inside, the naive way leaked %d times", opens, inside, naive)
}

// checkThenOpen is how it must not be done.
func checkThenOpen(root, name string) string {
	path := filepath.Join(root, name)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(real, root+"/") {
		return ""
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return string(data)
}
