package child

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Program returns the file of this program, also if it was replaced meanwhile.
func Program() (string, error) { return "/proc/self/exe", nil }

// adoptOrphans makes this process the parent of orphans among its descendants.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // fails on kernels before 3.4 only
}

func closesOnExec(fd int) bool {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil || flags&unix.FD_CLOEXEC != 0
}

// awaitChild waits until a child has ended and returns its id without reaping it,
// so that the id still names its group; 0 if there is no child.
func awaitChild() (pid int, _ syscall.WaitStatus) {
	// siginfo_t: three ints, padding to the size of a pointer, then the id.
	const word = unsafe.Sizeof(uintptr(0))
	const at = (12 + word - 1) / word * word
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_ALL, 0,
			uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT|unix.WALL, 0, 0)
		switch errno {
		case 0:
			return int(*(*int32)(unsafe.Pointer(&info[at]))), 0
		case syscall.EINTR:
		default:
			return 0, 0
		}
	}
}

// reaped reaps the child that awaitChild returned and returns its status.
func reaped(pid int, _ syscall.WaitStatus) (status syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &status, unix.WALL, nil); err != syscall.EINTR {
			return status
		}
	}
}

// killAll kills all descendants. Each round kills those that it finds. Processes that they
// started meanwhile become children of this process, and the next round finds them. killAll
// gives up after some seconds, if the kernel cannot end a process.
func (c *child) killAll() {
	c.mu.Lock() // held to the end: no more reports, and the reaper stops at its next child
	for end := time.Now().Add(CloseTime - 2*time.Second); time.Now().Before(end); {
		found := descendants(os.Getpid())
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		reapAll()
	}
}

// reapAll reaps the children that have ended. It waits a moment for the first one.
func reapAll() {
	for wait := time.Millisecond; ; wait = 0 {
		pid, err := syscall.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
		if pid > 0 || err == syscall.EINTR {
			continue
		}
		if wait == 0 || err != nil {
			return
		}
		time.Sleep(wait)
	}
}

// descendants returns the processes below root, from /proc, in no order.
func descendants(root int) []int {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if parent, ok := parentOf(pid); ok {
				children[parent] = append(children[parent], pid)
			}
		}
	}
	var out []int
	for queue := []int{root}; len(queue) > 0; {
		below := children[queue[0]]
		out, queue = append(out, below...), append(queue[1:], below...)
	}
	return out
}

// parentOf returns the parent of a process that still exists, a zombie included.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in parentheses, may hold anything, parentheses included.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}
