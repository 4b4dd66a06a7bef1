package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/grapnel-go/grapnel/internal/jail"
)

// enterJail makes this process the first one of a jail, as soon as it gets a command. The result is its exit code.
func enterJail() int {
	if _, err := syscall.Getpeername(socketFD); err != nil {
		_, _ = os.Stderr.WriteString(jailName + ": this name is reserved for the sandbox of commands, which the program starts itself\n")
		return 2
	}
	jail.Warm()
	files, err := awaitFiles()
	if err != nil {
		return 0 // the supervisor has ended, or needs this process no more
	}
	for fd, from := range files[:3] {
		if err := unix.Dup3(from, fd, 0); err != nil {
			return 126
		}
		_ = unix.Close(from)
	}
	cgroup := -1
	if len(files) == maxFiles {
		cgroup = files[jailFiles]
	}
	return jail.Main(files[3], files[4], cgroup)
}

// awaitFiles waits for the files of a command and closes the socket.
func awaitFiles() ([]int, error) {
	unix.CloseOnExec(socketFD)
	defer unix.Close(socketFD)
	rights := make([]byte, unix.CmsgSpace(4*maxFiles))
	for {
		_, n, _, _, err := unix.Recvmsg(socketFD, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		messages, err := unix.ParseSocketControlMessage(rights[:n])
		if err != nil || len(messages) != 1 {
			return nil, unix.EBADMSG
		}
		files, err := unix.ParseUnixRights(&messages[0])
		if err != nil || len(files) < jailFiles {
			return nil, unix.EBADMSG
		}
		_, err = unix.Write(socketFD, []byte{0}) // see spare.give
		return files, err
	}
}

// spare is the first process of a jail that waits for its command. It has nothing but its namespaces and a socket. To start it takes
// longer than all else that a jail costs, so the one for the next command is started when a command has ended. The zero value has no
// process.
type spare struct {
	pid, socket int
	namespaces  bool
}

// enter gives a command to the process that waits, or to a new one, and returns its id.
func (s *spare) enter(r Request, files []int) (pid int, err error) {
	if s.namespaces != r.Namespaces {
		s.drop()
	}
	if s.pid != 0 {
		// A process that somebody has killed meanwhile does not count.
		if pid, err = s.give(files); err == nil {
			return pid, nil
		}
	}
	if err := s.start(r.Namespaces); err != nil {
		return 0, err
	}
	return s.give(files)
}

// prepare starts a process for the next command, unless one waits. An error shows when that command comes.
func (s *spare) prepare(namespaces bool) {
	if s.pid == 0 || s.namespaces != namespaces {
		_ = s.start(namespaces)
	}
}

// drop lets the process that waits end.
func (s *spare) drop() {
	if s.pid != 0 {
		_ = unix.Close(s.socket)
	}
	*s = spare{}
}

func (s *spare) start(namespaces bool) error {
	s.drop()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[1])
	path, err := Program()
	if err == nil {
		s.pid, err = syscall.ForkExec(path, []string{jailName}, &syscall.ProcAttr{
			Dir: "/", Files: []uintptr{0, 1, 2, uintptr(pair[1])}, Sys: jailAttributes(namespaces),
		})
	}
	if err != nil {
		_ = unix.Close(pair[0])
		*s = spare{}
		return err
	}
	s.socket, s.namespaces = pair[0], namespaces
	return nil
}

// give gives the process the files of a command, waits until it has them, and lets go of it. A process that is about to end, because
// somebody has killed it, takes no files any more: the command has not begun then, and another process may have it. One that wants to say
// so too late finds the socket closed, and ends.
func (s *spare) give(files []int) (pid int, err error) {
	defer s.drop()
	err = unix.Sendmsg(s.socket, []byte{0}, unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL)
	if err == nil {
		err = s.taken()
	}
	return s.pid, err
}

// taken waits until the process says that it has the files of its command.
func (s *spare) taken() error {
	patience := unix.NsecToTimeval(int64(jail.Patience))
	if err := unix.SetsockoptTimeval(s.socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		return err
	}
	for {
		n, err := unix.Read(s.socket, make([]byte, 1))
		switch {
		case err == unix.EINTR:
		case err == nil && n == 0:
			return unix.EPIPE
		default:
			return err
		}
	}
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
