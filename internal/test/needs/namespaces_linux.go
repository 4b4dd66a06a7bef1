package needs

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Namespaces needs a machine on which an ordinary user may make namespaces, as the full level of the sandbox does.
func Namespaces(t testing.TB) {
	t.Helper()
	if !HasNamespaces() {
		Lacking(t, "this machine forbids namespaces of users")
	}
}

// HasNamespaces reports whether a process can be started in namespaces of its own, and mount in them.
func HasNamespaces() bool {
	cmd := exec.Command("/bin/sh", "-c", "mount -t tmpfs none /tmp 2>/dev/null || ! command -v mount >/dev/null")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run() == nil
}
