package escape

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Identity is the user that a world belongs to.
type Identity struct{ UID, GID int }

// Myself is who runs the test.
func Myself() Identity { return Identity{os.Getuid(), os.Getgid()} }

// Nobody is an ordinary user without a name; only root may use it.
func Nobody() Identity { return Identity{65534, 65534} }

// inert returns the reason why an escape cannot work for this user.
func (id Identity) inert(c *Case) string {
	if id.UID == 0 {
		return c.Inert.Root
	}
	return c.Inert.User
}

// Machine is what the worlds of one user share. Make it with [Prepare]. It is safe for concurrent use.
type Machine struct {
	id       Identity
	dir      string // with the worlds
	attacker string
	modules  string // a module cache with example.com/greet
	goCache  string
	source   string // this project
	modCache string // of whoever runs the test
	path     string // of the user

	mu      sync.Mutex
	missing map[string]bool // needs that were looked for
}

// Prepare builds the attacker and looks at what the kernel offers. dir is a directory of the caller's, which the user may search; the
// worlds are made below it. It should not lie below /tmp, which a sandbox hides anyway.
func Prepare(ctx context.Context, dir string, id Identity) (*Machine, error) {
	m := &Machine{id: id, dir: dir, attacker: filepath.Join(dir, "attacker"), missing: map[string]bool{}}
	m.modules, m.goCache = filepath.Join(dir, "modules"), filepath.Join(dir, "gocache")
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user searches it
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", m.attacker, "github.com/grapnel-go/grapnel/internal/test/escape/attacker")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the attacker: %w: %s", err, out)
	}
	if err := m.findPrograms(ctx); err != nil {
		return nil, err
	}
	if err := os.Mkdir(m.goCache, 0o755); err != nil { //nolint:gosec // as above
		return nil, err
	}
	if err := m.fillModules(ctx); err != nil {
		return nil, fmt.Errorf("fill the module cache: %w", err)
	}
	if err := m.template(ctx); err != nil {
		return nil, fmt.Errorf("make the project: %w", err)
	}
	if err := m.ask(ctx); err != nil {
		return nil, err
	}
	m.probe(ctx)
	return m, m.own(dir)
}

// ask asks the go command where this project and the caches of whoever runs the test are. Another user gets a build cache of his own.
func (m *Machine) ask(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOMODCACHE", "GOCACHE").Output()
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 {
		return fmt.Errorf("go env prints %q", out)
	}
	m.source, m.modCache = filepath.Dir(lines[0]), lines[1]
	if m.id == Myself() {
		m.goCache = lines[2]
	}
	return nil
}

// findPrograms makes the PATH of the user: the usual directories, and those of the go command and of cargo.
func (m *Machine) findPrograms(ctx context.Context) error {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	m.path = strings.TrimSpace(string(root)) + "/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
	if rust, err := exec.CommandContext(ctx, "rustc", "--print", "sysroot").Output(); err == nil {
		m.path += ":" + strings.TrimSpace(string(rust)) + "/bin"
	}
	return nil
}

// features are commands that succeed where the kernel offers what escapes need.
func features() map[string]string {
	return map[string]string{
		"kernel:userns":  "unshare -Urm true",
		"kernel:mptcp":   "grep -q 1 /proc/sys/net/mptcp/enabled",
		"kernel:vsock":   "test -e /dev/vsock",
		"kernel:uring":   "! grep -q '[^0]' /proc/sys/kernel/io_uring_disabled",
		"kernel:int80":   "{{attacker}} int80 /nowhere x 2>&1 | grep -q 'no such file'",
		"kernel:tiocsti": "! grep -q 0 /proc/sys/dev/tty/legacy_tiocsti",
		"kernel:ipv6":    "test -e /proc/net/if_inet6 && grep -q 00000000000000000000000000000001 /proc/net/if_inet6",
		"kernel:cgroup":  "test -w /sys/fs/cgroup/pids || test -w /sys/fs/cgroup/cgroup.procs",
		"kernel:uffd":    "{{attacker}} userfaultfd",
		"kernel:perf":    "{{attacker}} perf",
		"kernel:keyctl":  "{{attacker}} keyctl probe",
		"kernel:nodump":  "touch {{probe}} && {{attacker}} flags {{probe}}",
		"kernel:xattr":   "touch {{probe}} && {{attacker}} xattr {{probe}} probe",
	}
}

// probe finds out what the kernel lacks.
func (m *Machine) probe(ctx context.Context) {
	place := filepath.Join(m.dir, "probe")
	if os.Mkdir(place, 0o700) != nil || m.own(place) != nil {
		return
	}
	fill := strings.NewReplacer("{{attacker}}", m.attacker, "{{probe}}", filepath.Join(place, "file"))
	for name, command := range features() {
		cmd := m.command(ctx, m.dir, fill.Replace(command))
		cmd.Env = []string{"PATH=" + m.path}
		m.missing[name] = cmd.Run() != nil
	}
}

// Lacks returns the first of the needs of a case that this machine does not have for the user; "" if there is none.
func (m *Machine) Lacks(ctx context.Context, c *Case) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, need := range c.Needs {
		missing, known := m.missing[need]
		switch {
		case known:
		case need == "myself":
			missing = m.id != Myself()
		case strings.HasPrefix(need, "kernel:"):
			missing = true // nobody knows what that is
		default:
			cmd := m.command(ctx, m.dir, "command -v -- "+need)
			cmd.Env = []string{"PATH=" + m.path}
			missing = cmd.Run() != nil
		}
		m.missing[need] = missing
		if missing {
			return need
		}
	}
	return ""
}

// Inert returns why an escape reaches nothing for this user even without a sandbox; "" if it does.
func (m *Machine) Inert(c *Case) string { return m.id.inert(c) }

// command runs a line of bash as the user, in a process group of its own that ends with ctx.
func (m *Machine) command(ctx context.Context, dir, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if m.id != Myself() {
		cmd.SysProcAttr.Credential = m.id.Credential()
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// Credential is the user for a process that root starts.
func (id Identity) Credential() *syscall.Credential {
	return &syscall.Credential{Uid: uint32(id.UID), Gid: uint32(id.GID)} //nolint:gosec // ids of users
}

// own gives a tree to the user.
func (m *Machine) own(dir string) error {
	if m.id == Myself() {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, m.id.UID, m.id.GID))
	})
}

// greet is the source of the one module in the module cache.
const greet = "package greet\n\n// Hello is a greeting.\nfunc Hello() string { return \"hello from the module\" }\n"

// fillModules makes a module cache with example.com/greet, from a proxy in a directory.
func (m *Machine) fillModules(ctx context.Context) error {
	proxy := filepath.Join(m.dir, "proxy", "example.com", "greet", "@v")
	mod := "module example.com/greet\n\ngo 1.21\n"
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"go.mod": mod, "greet.go": greet} {
		w, err := z.Create("example.com/greet@v1.0.0/" + name)
		if err != nil {
			return err
		}
		if _, err := w.Write([]byte(text)); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	err := write(proxy, map[string]string{
		"list": "v1.0.0\n", "v1.0.0.info": `{"Version":"v1.0.0"}`, "v1.0.0.mod": mod, "v1.0.0.zip": archive.String(),
		"app/go.mod": "module app\n\ngo 1.21\n\nrequire example.com/greet v1.0.0\n",
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", "example.com/greet@v1.0.0")
	cmd.Dir = filepath.Join(proxy, "app")
	cmd.Env = slices.Concat(os.Environ(), []string{"GOMODCACHE=" + m.modules, "GOPROXY=file://" + filepath.Join(m.dir, "proxy"),
		"GOFLAGS=-modcacherw", "GONOSUMDB=*", "GONOSUMCHECK=1", "GOTOOLCHAIN=local", "GOWORK=off"})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// template makes the project that every world copies: a repository with a commit, app (which uses example.com/greet), and lib, a
// repository of its own without hooks.
func (m *Machine) template(ctx context.Context) error {
	dir := filepath.Join(m.dir, "template")
	err := write(dir, map[string]string{
		"README.md": "# Project\n", ".gitignore": "/bin/\n/lib/\n", "notes.txt": "one\ntwo\nthree\n", "docs/index.md": "# Documents\n",
		"app/go.mod":  "module app\n\ngo 1.21\n\nrequire example.com/greet v1.0.0\n",
		"app/main.go": "package main\n\nimport \"example.com/greet\"\n\nfunc main() { println(greet.Hello()) }\n",
		"lib/lib.txt": "a library\n",
	})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "bash", "-ec", `
		(cd app && go mod tidy)
		git init -q --template= . && mkdir .git/hooks && git add . && git commit -qm first
		cd lib && git init -q --template= . && git add . && git commit -qm first`)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{
		"GOMODCACHE=" + m.modules, "GOPROXY=off", "GOFLAGS=-mod=mod", "GONOSUMDB=*", "GOTOOLCHAIN=local", "GOWORK=off",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
		"GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=user@example.com",
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// write makes files below a directory.
func write(dir string, files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a world's
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // a world's
			return err
		}
	}
	return nil
}
