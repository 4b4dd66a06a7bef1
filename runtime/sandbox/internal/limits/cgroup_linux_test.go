package limits

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestParents(t *testing.T) {
	t.Parallel()
	const v1 = "28 23 0:24 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	const top = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	const part = "30 23 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
	tests := []struct {
		name, mounts, own string
		want              []string
		wrong             string
	}{
		{"a user's session", v1 + top, "1:memory:/x\n0::/user.slice/app.slice/a.scope\n",
			[]string{"/sys/fs/cgroup/user.slice/app.slice", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"}, ""},
		{"below a mount", part, "0::/docker/1/a/b\n", []string{"/sys/fs/cgroup/a", "/sys/fs/cgroup"}, ""},
		{"at the top", top, "0::/\n", nil, "topmost"},
		{"at the top of a mount", part, "0::/docker/1\n", nil, "topmost"},
		{"outside the mount", part, "0::/docker/12\n", nil, "no cgroup of version 2"},
		{"above the mount", top, "0::/../x\n", nil, ""},
		{"version 1", v1, "1:memory:/x\n0::/\n", nil, "no cgroup of version 2"},
		{"no group", top, "1:memory:/x\n", nil, "no cgroup of version 2"},
		{"nothing", "", "", nil, "no cgroup of version 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got, err := parents(write(t, filepath.Join(dir, "mountinfo"), tt.mounts), write(t, filepath.Join(dir, "cgroup"), tt.own))
			if tt.wrong != "" {
				require.ErrorContains(t, err, tt.wrong)
				return
			}
			if tt.want != nil {
				require.NoError(t, err)
				assert.Equal(t, tt.want, got)
			}
			for _, dir := range got {
				assert.True(t, strings.HasPrefix(dir, "/sys/fs/cgroup"), dir)
			}
		})
	}
}

// TestFakeGroup: what is written to a group and read from it, in a directory that is none.
func TestFakeGroup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"memory.max", "memory.oom.group", "pids.max", "cgroup.kill", "cgroup.procs"} {
		write(t, filepath.Join(dir, name), "")
	}
	g := &Group{dir: dir, fd: -1, limits: Limits{Memory: 2 << 30, Processes: 512, FileSize: 1}}
	require.NoError(t, g.apply(), "memory.swap.max is missing where swap is not counted")
	require.NoError(t, g.Kill())
	require.NoError(t, g.Add(77))
	for name, want := range map[string]string{"memory.max": "2147483648", "memory.oom.group": "1", "pids.max": "4096", "cgroup.kill": "1", "cgroup.procs": "77"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(got), name)
	}
	assert.NoFileExists(t, filepath.Join(dir, "memory.swap.max"))
	assert.Empty(t, g.Why())
	write(t, filepath.Join(dir, "memory.events"), "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\noom_group_kill 0\n")
	write(t, filepath.Join(dir, "pids.events"), "max 0\n")
	assert.Empty(t, g.Why())
	write(t, filepath.Join(dir, "pids.events"), "max 7\n")
	assert.Equal(t, "it had more than 4096 threads; that is the limit", g.Why())
	write(t, filepath.Join(dir, "memory.events"), "low 0\noom 1\noom_kill 12\n")
	assert.Equal(t, "it used more than 2 GiB of memory; that is the limit", g.Why())

	require.NoError(t, os.Remove(filepath.Join(dir, "pids.max")))
	require.ErrorIs(t, g.apply(), os.ErrNotExist, "a limit that cannot be set is an error")
	_, err := Means{}.Group(Limits{})
	require.Error(t, err)
}

// TestNotDelegated: a directory that is not this program's is left alone.
func TestNotDelegated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := "does not give the controller memory"
	if os.Geteuid() == 0 {
		want = "belongs to another program"
	}
	write(t, filepath.Join(dir, "cgroup.subtree_control"), "")
	require.ErrorContains(t, Means{parent: dir}.try(), want)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no group was made")
}

// TestEnable: a program may switch controllers on only below what was delegated to it by name.
func TestEnable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	control := write(t, filepath.Join(dir, "cgroup.subtree_control"), "cpu\n")
	require.ErrorContains(t, Means{parent: dir}.enable(false), "does not give the controller memory")
	require.NoError(t, Means{parent: dir}.enable(true), "the kernel refuses what there is not")
	got, err := os.ReadFile(control)
	require.NoError(t, err)
	assert.Equal(t, "+memory +pids", string(got))
	write(t, control, "cpu memory\n")
	require.ErrorContains(t, Means{parent: dir}.enable(false), "does not give the controller pids")
	write(t, control, "cpu memory pids\n")
	require.NoError(t, Means{parent: dir}.enable(false))
	require.Error(t, Means{parent: filepath.Join(dir, "none")}.enable(true))
}

// anyGroups returns means that make groups without limits.
func anyGroups(t *testing.T) Means {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		if left, right, _ := strings.Cut(line, " - "); strings.HasPrefix(right, "cgroup2 ") {
			dir, err := os.MkdirTemp(strings.Fields(left)[4], "limits-test-")
			if err != nil {
				continue
			}
			t.Cleanup(func() { assert.NoError(t, unix.Rmdir(dir)) })
			return Means{parent: dir}
		}
	}
	needs.Lacking(t, "no cgroup of version 2 can be made here")
	return Means{}
}

// TestGroup: a process starts in a group, is killed with it, and nothing is left.
func TestGroup(t *testing.T) {
	t.Parallel()
	needs.Program(t, "sh")
	m := anyGroups(t)
	g, err := m.Group(Limits{})
	require.NoError(t, err)
	c := exec.Command("sh", "-c", "sleep 60 & echo ready; wait")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	line, err := bufio.NewReader(started(t, c)).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	members, err := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	require.NoError(t, err)
	assert.Len(t, strings.Fields(string(members)), 2)
	m.sweep()
	assert.DirExists(t, g.dir, "a group in use stays")
	require.NoError(t, g.Kill())
	assert.Error(t, c.Wait())
	m.sweep()
	assert.DirExists(t, g.dir, "a group that is held stays, with and without processes")
	require.NoError(t, g.Close())
	assert.NoDirExists(t, g.dir)

	g, err = m.Group(Limits{})
	require.NoError(t, err)
	other := helper(t, "wait")
	require.NoError(t, g.Add(other.Process.Pid))
	require.NoError(t, g.Close(), "it kills what is left")
	assert.NoDirExists(t, g.dir)

	g, err = m.Group(Limits{})
	require.NoError(t, err)
	require.NoError(t, unix.Close(g.fd)) // its owner was killed
	m.sweep()
	assert.NoDirExists(t, g.dir)
	g.fd = -1
	assert.NoError(t, g.Close())
}

// TestFind: the means of this machine hold what they say. A cgroup with the controllers cannot be had everywhere, not even by root: a machine
// of CI may lack it, and has the watcher's tests.
func TestFind(t *testing.T) {
	t.Parallel()
	m := Find()
	if !m.Cgroup() {
		assert.Contains(t, m.String(), "a watcher sums all processes up, five times a second, because ")
		if os.Getenv("CI") != "true" {
			needs.Lacking(t, "there is no cgroup for limits of the kernel: "+m.why)
		}
		return
	}
	g, err := m.Group(Limits{Memory: 32 << 20, Processes: 100})
	require.NoError(t, err)
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), helperVariable+"=hog 200")
	c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	started(t, c)
	assert.Error(t, c.Wait())
	assert.Equal(t, "it used more than 32 MiB of memory; that is the limit", g.Why())
	require.NoError(t, g.Close())
}
