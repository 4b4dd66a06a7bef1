package ostools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/subsystems/ostools"
)

const inNamespace = "GRAPNEL_TEST_MOUNTS"

// Mounts below the root are a part of it, except file systems of the kernel. The test runs once more in namespaces of its own, where it may
// mount and nobody else sees it.
func TestMounts(t *testing.T) {
	if base := os.Getenv(inNamespace); base != "" {
		mounts(t, base)
		return
	}
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	fill(t, base, map[string]string{"root/main.go": "a needle\n", "root/zero": "", "out/a/shown": "a needle\n", "out/secret": secret})
	for _, dir := range []string{"bound", "scratch", "proc", "sys", "pts"} {
		require.NoError(t, os.Mkdir(filepath.Join(base, "root", dir), 0o755))
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMounts$", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"="+base)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	text, err := cmd.CombinedOutput()
	if cmd.Process == nil || strings.Contains(string(text), "NO MOUNTS") {
		needs.Lacking(t, "mounts in a user namespace are not permitted")
	}
	require.NoError(t, err, "%s", text)
	assert.Contains(t, string(text), "--- PASS: TestMounts")
	assert.Equal(t, secret, content(t, base, "out/secret"))
	assert.Equal(t, "changed", content(t, base, "out/a/made"), "what is mounted is a part of the project")
}

// mounts mounts what the directory has outside of its root, and looks at it with the tools.
func mounts(t *testing.T, base string) {
	root := filepath.Join(base, "root")
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal("NO MOUNTS: ", err)
	}
	kernels := map[string]bool{}
	for name, source := range map[string]string{
		"bound": filepath.Join(base, "out", "a"), "zero": "/dev/zero", "proc": "/proc", "sys": "/sys", "pts": "/dev/pts",
	} {
		err := syscall.Mount(source, filepath.Join(root, name), "", syscall.MS_BIND|syscall.MS_REC, "")
		if name == "bound" || name == "zero" || name == "proc" {
			require.NoError(t, err, name)
		}
		var st syscall.Statfs_t
		magic := map[string]uint32{"proc": 0x9fa0, "sys": 0x62656572, "pts": 0x1cd1}[name]
		kernels[name] = err == nil && syscall.Statfs(source, &st) == nil && uint32(st.Type) == magic
	}
	require.NoError(t, syscall.Mount("tmpfs", filepath.Join(root, "scratch"), "tmpfs", 0, "size=1m"))
	o, err := ostools.New(root, nil)
	require.NoError(t, err)
	defer o.Close()

	for path, want := range map[string]message.FailureKind{
		"bound/shown": "", "bound/../../out/secret": message.FailDenied, "bound/../main.go": "", "zero": message.FailOperation,
		"proc/self/environ": message.FailDenied, "proc/1/cmdline": message.FailDenied, "proc/version": message.FailDenied, "proc/self/root" + base + "/out/secret": message.FailDenied,
		"proc/self/cwd/escape_test.go": message.FailDenied, "proc/self/exe": message.FailDenied, "proc/self/fd": message.FailOperation, "proc": message.FailOperation,
	} {
		_, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: path})
		assert.Equal(t, want, kindOf(t, err), "read %s: %v", path, err)
		_, err = o.Edit(t.Context(), env, ostools.EditInput{FilePath: path, OldString: "surely nowhere", NewString: "x"})
		assert.Error(t, err, path)
	}
	if kernels["sys"] {
		_, err := o.Read(t.Context(), env, ostools.ReadInput{FilePath: "sys/kernel/notes"})
		assert.Equal(t, message.FailDenied, kindOf(t, err), "%v", err)
	}
	for path, want := range map[string]string{
		"bound/made": "", "scratch/dir/made": "", "proc/sys/kernel/hostname": "proc", "proc/new/file": "proc", "proc/self/oom_score_adj": "proc", "proc/self/comm": "proc",
		"sys/kernel/new/file": "sysfs", "pts/new": "devpts",
	} {
		if name, _, _ := strings.Cut(path, "/"); want != "" && !kernels[name] {
			continue
		}
		_, err := o.Write(t.Context(), env, ostools.WriteInput{FilePath: path, Content: "changed"})
		if want == "" {
			assert.NoError(t, err, path)
			continue
		}
		kind, text := failure(t, err)
		assert.Equal(t, message.FailDenied, kind, path)
		assert.Contains(t, text, " is on a file system of the kernel ("+want+"), which has no files of the project")
	}
	r, err := o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "**"})
	require.NoError(t, err)
	assert.Equal(t, "bound/made\nbound/shown\nmain.go\nscratch/dir/made\nzero\n", r.Text(), "nothing of the kernel is listed")
	assert.Equal(t, "bound/shown:1:a needle\nmain.go:1:a needle\n", grepped(t, o, "needle"))
	for _, dir := range []string{"proc", "proc/self", "proc/self/root/etc"} {
		_, err = o.Glob(t.Context(), env, ostools.GlobInput{Pattern: "*", Path: dir})
		assert.Equal(t, message.FailDenied, kindOf(t, err), dir)
	}
	_, err = o.Read(t.Context(), env, ostools.ReadInput{FilePath: "zero"})
	_, text := failure(t, err)
	assert.Equal(t, "zero is no regular file (a device)", text)
}
