package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/jail"
)

// enterJail makes this process the first one of a jail. The result is its exit code.
func enterJail() int {
	if _, err := syscall.Getpeername(reportFD); err != nil {
		_, _ = os.Stderr.WriteString(jailName + ": this name is reserved for the sandbox of commands, which the program starts itself\n")
		return 2
	}
	return jail.Main(commandFD, reportFD)
}

// jailAttributes start a process that ends with the supervisor, in namespaces of its own if wanted. In the namespace of users it
// keeps its user and group.
func jailAttributes(namespaces bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if !namespaces {
		return a
	}
	uid, gid := os.Getuid(), os.Getgid()
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	// The process gets capabilities in its namespaces by starting; without this it would lose them unless its user is root.
	// Those for files are for layers, which the kernel writes with the rights of who has mounted them.
	a.AmbientCaps = []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE,
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_MKNOD,
	}
	return a
}

// beginIn makes a process begin in a cgroup.
func beginIn(a *syscall.SysProcAttr, cgroup int) { a.UseCgroupFD, a.CgroupFD = true, cgroup }
