package conffile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/conffile"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// bombVariable says what the process of a bomb reads, and how.
const bombVariable = "GRAPNEL_CONFFILE_BOMB"

const (
	bombCap  = 64               // MiB that a process may take
	bombTime = 10 * time.Second // that it may take, on a busy machine
)

// readers are the one of this package, and one as people write it: it has to be found.
func readers() map[string]func(path string) error {
	return map[string]func(path string) error{
		"bounded": func(path string) error {
			_, err := conffile.Read(path, &conffile.Options{JSON: true})
			return err
		},
		"naive": func(path string) error {
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = io.ReadAll(io.LimitReader(f, 100<<20)) // the machine is to survive
			return err
		},
	}
}

// TestBombs: what is no file of configuration costs neither time nor memory. Each is read
// in a process of its own.
func TestBombs(t *testing.T) {
	needs.Proof(t)
	if what := os.Getenv(bombVariable); what != "" {
		reader, path, _ := strings.Cut(what, " ")
		assert.Error(t, readers()[reader](path))
		return
	}
	dir := t.TempDir()
	bombs := map[string]func(path string) error{
		"endless": func(path string) error { return os.Symlink("/dev/zero", path) },
		"pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"stdin":   func(path string) error { return os.Symlink("/dev/stdin", path) },
		"sparse":  func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<30)) },
		"depth":   func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("[", 100_000)), 0o600) },
	}
	harmed := map[string]int{}
	for name, put := range bombs {
		path := filepath.Join(dir, name)
		require.NoError(t, put(path))
		for reader := range readers() {
			if what := harm(t, reader, path); what != "" {
				harmed[reader]++
				t.Logf("%s: %s: %s", reader, name, what)
			}
		}
	}
	assert.Zero(t, harmed["bounded"])
	assert.GreaterOrEqual(t, harmed["naive"], 4)
	t.Logf("FIGURE bombs=%d files, none of which took %d MiB or %s", len(bombs), bombCap, bombTime)
	t.Logf("FIGURE bad.naive=%d files that did, or were read without an error", harmed["naive"])
}

// harm reads the path in a process of its own and says what is wrong with that; "" if
// nothing.
func harm(t *testing.T, reader, path string) string {
	most := bombTime
	if reader == "naive" {
		most = 2 * time.Second // it is not to take longer than it must
	}
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBombs$", "-test.count=1")
	cmd.Env = append(os.Environ(), bombVariable+"="+reader+" "+path)
	stdin, _, err := os.Pipe() // nothing comes from it, and it does not end
	require.NoError(t, err)
	defer stdin.Close()
	cmd.Stdin = stdin
	err = cmd.Run()
	peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	switch {
	case ctx.Err() != nil:
		return "it waits"
	case peak > bombCap:
		return fmt.Sprintf("it takes %d MiB", peak)
	case err != nil:
		return "it is read without an error"
	}
	return ""
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	write := func(path, text string, mode fs.FileMode) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	secret := write(filepath.Join(out, "secret"), "{}", 0o600)
	require.NoError(t, os.Symlink(secret, filepath.Join(dir, "away")))
	require.NoError(t, os.Symlink("f", filepath.Join(dir, "alias")))
	require.NoError(t, os.Symlink(out, filepath.Join(dir, "d")))
	require.NoError(t, os.Link(secret, filepath.Join(dir, "hard")))
	write(filepath.Join(dir, "f"), "{\n}", 0o600)
	in := &conffile.Options{Within: dir, JSON: true}
	for _, c := range []struct {
		name string
		o    *conffile.Options
		want string
	}{
		{"f", in, ""}, {"alias", in, ""}, {"away", nil, ""}, {"hard", nil, ""}, {"d/secret", nil, ""},
		{"away", in, "leads through a link out of " + dir + ", or one with an absolute target, which is not followed; put what it leads to in its place"},
		{"d/secret", in, "leads through a link out of " + dir + ", or one with an absolute target, which is not followed; put what it leads to in its place"},
		{"hard", in, "has 2 names, and the others may be outside of " + dir + "; put a copy in its place"},
		{"none", in, "does not exist"},
		{".", in, "is a directory, no regular file; put a file with the text in its place"},
		{"f", &conffile.Options{Max: 2}, "has more than 2 bytes, which is the limit; make it shorter"},
		{"f", &conffile.Options{Private: true}, ""},
	} {
		_, err := conffile.Read(filepath.Join(dir, c.name), c.o)
		if c.want == "" {
			assert.NoError(t, err, c.name)
			continue
		}
		assert.EqualError(t, err, filepath.Join(dir, c.name)+": "+c.want)
		assert.Equal(t, c.want, conffile.Reason(err))
		assert.Equal(t, c.name == "none", errors.Is(err, fs.ErrNotExist))
	}
	for text, want := range map[string]string{
		"a\nb\x00": "is no text: line 2 has a NUL byte; write it as UTF-8 text", "a\n\xff": "is no UTF-8: line 2 has another encoding; convert it to UTF-8",
		strings.Repeat("[", 101): "nests deeper than 100 levels in line 1; make it flatter", strings.Repeat("[]", 101): "", strings.Repeat("[", 100): "",
		`"` + strings.Repeat("[", 101) + `\""`: "",
	} {
		_, err := conffile.Read(write(filepath.Join(dir, "t"), text, 0o600), in)
		if want == "" {
			assert.NoError(t, err, "%.20q", text)
		} else {
			assert.Equal(t, want, conffile.Reason(err))
		}
	}
	_, err := conffile.Read(write(filepath.Join(dir, "loose"), "{}", 0o666), &conffile.Options{Private: true})
	assert.ErrorContains(t, err, "belongs to another user, or others can write it (mode 0666); look at what it says, then run chmod go-w on it, or delete it")
}

// TestALinkThatIsSwappedLeadsNowhere: the directory of a project that becomes a link while
// it is read gives nothing from elsewhere.
func TestALinkThatIsSwappedLeadsNowhere(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, "f"), []byte("stolen"), 0o600))
	own, link, name := filepath.Join(dir, "own"), filepath.Join(dir, "link"), filepath.Join(dir, "d")
	require.NoError(t, os.Mkdir(own, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(own, "f"), []byte("own"), 0o600))
	require.NoError(t, os.Symlink(out, link))
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = errors.Join(os.Rename(own, name), os.Rename(name, own), os.Rename(link, name), os.Rename(name, link))
			}
		}
	}()
	read := 0
	for range 3000 {
		data, err := conffile.Read(filepath.Join(name, "f"), &conffile.Options{Within: dir})
		if err == nil {
			read++
			assert.Equal(t, "own", string(data))
		}
		if root, err := conffile.OpenDir(name, dir); err == nil {
			data, err := conffile.ReadIn(root, "f", nil)
			assert.True(t, err != nil || string(data) == "own")
			assert.NoError(t, root.Close())
		}
	}
	close(stop)
	<-stopped
	t.Logf("read %d times", read)
}
