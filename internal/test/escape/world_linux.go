package escape

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// World is where one case is played. Everything in it belongs to ID, and everything lies in one directory, but for two files in /tmp and
// what an escape leaves in /tmp, /dev/shm and the like. A runner reads its exported fields; [Machine.Play] makes and closes it.
type World struct {
	// Project is the directory in which the command runs; Home that of the user; Outside a directory beside the project with files of
	// the user's that the command may read and not change. All are absolute and without links.
	Project, Home, Outside string
	// ID is who runs the command.
	ID Identity
	// Environ is the environment of the process that starts the sandbox, with keys in it. Without a sandbox the command has it too.
	Environ []string
	// Limits are what the command may use; a zero one is the runner's own.
	Limits Limits
	// Inherited are descriptors that the process which starts the sandbox was given, from 3 on: a runner passes them to what it starts
	// as exec.Cmd.ExtraFiles. The world closes them.
	Inherited []*os.File
	// Terminal is one that the process which starts the sandbox has as its controlling terminal; nil if the case asks for none. A runner
	// starts its first process with it as standard input, Setsid and Setctty.
	Terminal *os.File

	machine *Machine
	root    string
	mark    string
	places  map[string]string
	before  map[string]string // what Changed looks at, by path
	sinks   *sinks
	victim  *victim
}

// victim is a process of the user, with a secret in its environment and a file open.
type victim struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// random returns a word that nothing else on this machine has.
func random() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// world makes the world of a case.
func (m *Machine) world(ctx context.Context, c *Case) (_ *World, err error) {
	root, err := os.MkdirTemp(m.dir, "world")
	if err != nil {
		return nil, err
	}
	w := &World{
		machine: m, root: root, ID: m.id, Limits: c.Limits, mark: "mark" + random(), before: map[string]string{},
		Project: filepath.Join(root, "project"), Home: filepath.Join(root, "home"), Outside: filepath.Join(root, "outside"),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	secret := "SECRET" + random()
	w.places = map[string]string{
		"project": w.Project, "home": w.Home, "outside": w.Outside, "mark": w.mark, "secret": secret, "gocache": m.goCache,
		"source": m.source, "modcache": m.modCache,
		"run": filepath.Join(root, "run"), "attacker": filepath.Join(w.Project, "bin", "attacker"), "victim": "v-" + w.mark[4:14],
		"tmpfile": "/tmp/" + w.mark + ".users", "key": strconv.Itoa(int(mustHex(w.mark[4:11]))),
	}
	if err := errors.Join(w.files(ctx, secret, slices.Contains(c.Needs, "go")), os.Chmod(root, 0o755)); err != nil { //nolint:gosec // the user searches it
		return nil, err
	}
	if w.sinks, err = listen(w); err != nil {
		return nil, err
	}
	if err := m.own(root); err != nil {
		return nil, err
	}
	if err := errors.Join(w.leak(), w.startVictim(secret)); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(c.Reached, func(c Condition) bool { return c.Socket == "terminal" }) {
		if w.Terminal, err = w.sinks.terminal(m.id); err != nil {
			return nil, err
		}
		w.places["tty"] = w.Terminal.Name()
	}
	w.environ(secret, len(c.Wants) > 0)
	for _, kv := range c.Environ {
		w.Environ = append(w.Environ, w.Expand(kv))
	}
	return w, nil
}

// mustHex reads a few hexadecimal digits that random has written.
func mustHex(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 16, 64)
	return n
}

// Expand fills the places of a text: {{project}} and the others that README.md lists.
func (w *World) Expand(text string) string {
	for name, value := range w.places {
		text = strings.ReplaceAll(text, "{{"+name+"}}", value)
	}
	return text
}

// secretFiles are the files below the home that no command may read.
func secretFiles() []string {
	return []string{
		".ssh/id_ed25519", ".aws/credentials", ".netrc", ".gnupg/private-keys-v1.d/0.key", ".config/gh/hosts.yml", ".docker/config.json",
		".kube/config", ".mozilla/firefox/a.default/logins.json", ".config/google-chrome/Default/Login Data",
	}
}

// files makes the project from a template, the home (with modules if the case wants the go command), and what is outside.
func (w *World) files(ctx context.Context, secret string, modules bool) error {
	home := map[string]string{
		".bashrc": "# of the user\n", ".profile": "# of the user\n", ".ssh/authorized_keys": "", ".local/bin/.keep": "", ".config/.keep": "",
		".gitconfig":              "[user]\n\tname = User\n\temail = user@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n",
		".cache/go-build/00/00-d": "object\n", ".npm/_cacache/index-v5/00/00/entry": "{}\n", ".cache/pip/http-v2/0/entry": "wheel\n",
		".cargo/registry/src/index.crates.io-1949cf8c6b5b557f/dep-1.0.0/build.rs": "fn main() {}\n",
	}
	outside := map[string]string{"marker": "of the user\n", "precious/file": "of the user\n", "tool": "#!/bin/sh\n"}
	if err := errors.Join(write(w.Home, home), write(w.Outside, outside), write(w.root, map[string]string{"run/.keep": "", "held": secret + "\n"})); err != nil {
		return err
	}
	for _, name := range append(secretFiles(), "../run/token") {
		path := filepath.Join(w.Home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("key "+secret+"\n"), 0o600); err != nil {
			return err
		}
	}
	err := errors.Join(
		os.WriteFile(w.places["tmpfile"], []byte(secret+"\n"), 0o600), os.Lchown(w.places["tmpfile"], w.ID.UID, w.ID.GID),
		os.Chmod(filepath.Join(w.Outside, "tool"), 0o755), os.Chmod(w.places["run"], 0o700)) //nolint:gosec // a program of the world's
	if err != nil {
		return err
	}
	script := fmt.Sprintf("cp -a %s project && mkdir -p project/bin && cp %s project/bin/attacker", filepath.Join(w.machine.dir, "template"), w.machine.attacker)
	if modules {
		script += " && mkdir -p home/go/pkg && cp -a " + w.machine.modules + " home/go/pkg/mod"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = w.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the project: %w: %s", err, out)
	}
	return nil
}

// leak opens what the process that starts the sandbox was given: a directory outside, a file with a secret, a socket.
func (w *World) leak() error {
	for _, path := range []string{w.Outside, filepath.Join(w.root, "held")} {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		w.Inherited = append(w.Inherited, f)
	}
	end, err := w.sinks.leaked()
	if err != nil {
		return err
	}
	w.Inherited = append(w.Inherited, end)
	return nil
}

// startVictim starts the process of the user.
func (w *World) startVictim(secret string) error {
	program := filepath.Join(w.root, w.places["victim"])
	if err := os.Symlink(w.machine.attacker, program); err != nil {
		return err
	}
	cmd := exec.Command(program, "victim", filepath.Join(w.root, "held"))
	cmd.Dir, cmd.Env = w.root, []string{"VICTIMS_KEY=" + secret}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if w.ID != Myself() {
		cmd.SysProcAttr.Credential = w.ID.Credential()
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.victim = &victim{cmd, stdin, make(chan struct{})}
	w.places["pid"] = strconv.Itoa(cmd.Process.Pid)
	_, err = bufio.NewReader(stdout).ReadString('\n')
	go func() {
		defer close(w.victim.ended)
		_ = cmd.Wait() // close waits for this
	}()
	return err
}

// environ makes the environment of the process that starts the sandbox.
func (w *World) environ(secret string, job bool) {
	w.Environ = []string{
		"PATH=" + w.machine.path, "HOME=" + w.Home, "USER=user", "LOGNAME=user", "SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=xterm-256color",
		"GIT_CONFIG_NOSYSTEM=1", "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "CGO_ENABLED=0",
		"AWS_SECRET_ACCESS_KEY=" + secret, "GITHUB_TOKEN=" + secret, "ANTHROPIC_API_KEY=" + secret, "DATABASE_URL=postgres://u:" + secret + "@db/",
		"SSH_AUTH_SOCK=" + w.places["socket"],
	}
	if job {
		w.Environ = append(w.Environ, "GOCACHE="+w.machine.goCache)
	}
}

// asUser runs a script outside of any sandbox, as the user would in the project, and returns what it prints.
func (w *World) asUser(ctx context.Context, script string) (string, error) {
	cmd := w.machine.command(ctx, w.Project, w.Expand(script))
	cmd.Env = w.Environ
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// close ends every process with the mark, the victim and the sinks, and removes what the world has made and what escapes leave.
func (w *World) close() error {
	for _, pid := range w.marked() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if w.victim != nil {
		_ = w.victim.stdin.Close()
		_ = w.victim.cmd.Process.Kill() // it may be stopped
		<-w.victim.ended
	}
	for _, f := range w.Inherited {
		_ = f.Close()
	}
	if w.sinks != nil {
		w.sinks.close(w.Terminal)
	}
	for _, pattern := range []string{"/tmp/", "/dev/shm/", "/var/tmp/", "/run/", "/sys/fs/cgroup/*/", "/sys/fs/cgroup/"} {
		paths, _ := filepath.Glob(pattern + w.mark + "*")
		for _, path := range paths {
			_ = os.Remove(path)
		}
	}
	// A cache of modules may have directories that nobody writes to.
	_ = filepath.WalkDir(w.root, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // to be removed
		}
		return nil
	})
	return os.RemoveAll(w.root)
}

// marked are the processes that have the mark among their arguments.
func (w *World) marked() (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(args), w.mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}
