package limits

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the names of groups, of every process that uses this package.
const prefix = "grapnel-"

// memory returns the bytes of memory of this machine.
func memory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:unconvert // their types differ by the architecture
}

// Rlimits returns the limits of each process: no core dumps, and the size of files.
func Rlimits(l Limits) []Rlimit {
	out := []Rlimit{{unix.RLIMIT_CORE, 0}}
	if l.FileSize > 0 {
		out = append(out, Rlimit{unix.RLIMIT_FSIZE, uint64(l.FileSize)})
	}
	return out
}

// Find returns the means of this machine. It tries: it makes a group and removes it. It removes what a process has left that was killed.
// It costs a few milliseconds; call it once.
func Find() Means {
	places, err := parents("/proc/self/mountinfo", "/proc/self/cgroup")
	if err != nil {
		return Means{why: err.Error()}
	}
	for _, dir := range places {
		m := Means{parent: dir}
		if err = m.try(); err == nil {
			m.sweep()
			return m
		}
	}
	return Means{why: "no cgroup is delegated to this program: " + err.Error()}
}

// parents returns the directories in which a group could be made: those above the group of this process. In its own, which has a process,
// no group can have the controllers of memory and pids.
func parents(mountinfo, own string) ([]string, error) {
	mounts, err := read(mountinfo)
	if err != nil {
		return nil, err
	}
	groups, err := read(own)
	if err != nil {
		return nil, err
	}
	at, ok := "", false
	for line := range strings.Lines(groups) {
		if rest, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			at, ok = rest, true
		}
	}
	for line := range strings.Lines(mounts) {
		// 30 23 0:26 /root /mount/point rw,nosuid - cgroup2 cgroup2 rw
		left, right, _ := strings.Cut(line, " - ")
		fields := strings.Fields(left)
		if !ok || len(fields) < 5 || !strings.HasPrefix(right, "cgroup2 ") {
			continue
		}
		below, err := filepath.Rel(fields[3], at)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue
		}
		var out []string
		for ; below != "."; below = filepath.Dir(below) {
			out = append(out, filepath.Join(fields[4], filepath.Dir(below)))
		}
		if len(out) == 0 {
			return nil, errors.New("this program is in the topmost cgroup that it can see")
		}
		return out, nil
	}
	return nil, errors.New("there is no cgroup of version 2")
}

// try makes a group with limits and removes it.
func (m Means) try() error {
	mine, byName := delegated(m.parent)
	if !mine {
		return errors.New(m.parent + " belongs to another program")
	}
	if err := m.enable(byName); err != nil {
		return err
	}
	g, err := m.Group(Limits{Memory: 1 << 30, Processes: 512})
	if err != nil {
		return err
	}
	if _, err = os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil {
		err = errors.New("the kernel is older than 5.14")
	}
	return cmp.Or(g.Close(), err)
}

// enable sees that groups have the controllers of memory and pids. It switches them on only if the directory was delegated by name.
func (m Means) enable(byName bool) error {
	control := &Group{dir: m.parent}
	text, err := read(filepath.Join(m.parent, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, controller := range []string{"memory", "pids"} {
		switch on := slices.Contains(strings.Fields(text), controller); {
		case !on && byName:
			return control.write("cgroup.subtree_control", "+memory +pids")
		case !on:
			return fmt.Errorf("%s does not give the controller %s to groups below it", m.parent, controller)
		}
	}
	return nil
}

// delegated reports whether this process may make groups in a directory without being in the way of systemd: the directory says so by its
// attributes, or it is the user's.
func delegated(dir string) (mine, byName bool) {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true, true
		}
	}
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Uid != 0 && int(st.Uid) == os.Geteuid(), false
}

// sweep removes the groups of processes that have ended. Whoever has a group holds a lock on its directory; the kernel removes none in which
// processes are.
func (m Means) sweep() {
	entries, err := os.ReadDir(m.parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		dir := filepath.Join(m.parent, e.Name())
		if fd, err := open(dir); err == nil {
			if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil {
				_ = unix.Rmdir(dir)
			}
			_ = unix.Close(fd)
		}
	}
}

func open(dir string) (int, error) {
	return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// Group is a cgroup with limits. Its methods are safe for concurrent use, but Close.
type Group struct {
	dir    string
	fd     int
	limits Limits
}

// Group makes a group. The caller closes it when all its processes have ended. It is an error if [Means.Cgroup] is false.
func (m Means) Group(l Limits) (*Group, error) {
	if !m.Cgroup() {
		return nil, errors.ErrUnsupported
	}
	g := &Group{limits: l, fd: -1}
	for try := 0; g.fd < 0; try++ {
		dir, err := os.MkdirTemp(m.parent, prefix)
		if err != nil {
			return nil, err
		}
		g.dir = dir
		// Between the two, sweep of another process may remove it.
		if g.fd, err = open(dir); err != nil && try == 3 {
			return nil, err
		}
	}
	if err := unix.Flock(g.fd, unix.LOCK_SH|unix.LOCK_NB); err != nil {
		_ = g.Close()
		return nil, err
	}
	if err := g.apply(); err != nil {
		_ = g.Close()
		return nil, err
	}
	return g, nil
}

// setting is a file of a group. maybe: some kernels do not have it.
type setting struct {
	file, value string
	maybe       bool
}

func (g *Group) settings() (out []setting) {
	if m := g.limits.Memory; m > 0 {
		out = append(out, setting{"memory.max", strconv.FormatInt(m, 10), false}, setting{"memory.swap.max", "0", true}, setting{"memory.oom.group", "1", true})
	}
	if g.limits.Processes > 0 {
		out = append(out, setting{"pids.max", strconv.Itoa(g.limits.threads()), false})
	}
	return out
}

// apply sets the limits.
func (g *Group) apply() error {
	for _, set := range g.settings() {
		if err := g.write(set.file, set.value); err != nil && (!set.maybe || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

func (g *Group) write(file, value string) error {
	// Without O_CREATE: in a cgroup a file that is not there cannot be made.
	f, err := os.OpenFile(filepath.Join(g.dir, file), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return cmp.Or(err, f.Close())
}

// FD returns the directory of the group, for SysProcAttr.CgroupFD: a process starts in the group. It is valid until Close.
func (g *Group) FD() int { return g.fd }

// Add moves a process into the group. What it has started before stays where it is.
func (g *Group) Add(pid int) error { return g.write("cgroup.procs", strconv.Itoa(pid)) }

// Kill kills all processes of the group. It does not wait.
func (g *Group) Kill() error { return g.write("cgroup.kill", "1") }

// Why says in a sentence which limit the processes have reached; "" if none. Call it before Close.
func (g *Group) Why() string {
	if g.event("memory.events", "oom_kill") > 0 {
		return fmt.Sprintf("it used more than %s of memory; that is the limit", size(g.limits.Memory))
	}
	if g.event("pids.events", "max") > 0 {
		return g.limits.overThreads()
	}
	return ""
}

// event returns a counter of a file of lines such as "oom_kill 1"; 0 if there is none.
func (g *Group) event(file, name string) int64 {
	text, err := read(filepath.Join(g.dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// Close kills what is left in the group and removes it. It waits for their end, for a second at most.
func (g *Group) Close() error {
	if g.fd >= 0 {
		defer func() { _ = unix.Close(g.fd); g.fd = -1 }()
	}
	err := unix.Rmdir(g.dir)
	for wait := time.Millisecond; errors.Is(err, unix.EBUSY) && wait < time.Second; wait *= 2 {
		_ = g.Kill()
		time.Sleep(wait) // a cgroup has no event for the end of its last process that one could wait for without a watch
		err = unix.Rmdir(g.dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", g.dir, err)
	}
	return nil
}

// read returns the first 64 KiB of a file of the kernel.
func read(path string) (string, error) {
	buf := make([]byte, 64<<10)
	n, err := readInto(path, buf)
	return string(buf[:n]), err
}

// readInto reads a file of the kernel without what package os does around it: the watcher reads hundreds of them at a time.
func readInto(path string, buf []byte) (n int, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m <= 0 {
			return n, err
		}
		n += m
	}
	return n, nil
}
