package jail

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seal takes from the calling thread, and from what it starts, what it may not have: limits, capabilities, files, system calls.
func (s *Spec) seal() error {
	for _, l := range s.Limits {
		limit := unix.Rlimit{Cur: l.Max, Max: l.Max}
		var now unix.Rlimit
		if err := unix.Getrlimit(l.Resource, &now); err == nil && now.Max < limit.Max {
			limit = unix.Rlimit{Cur: now.Max, Max: now.Max}
		}
		if err := unix.Setrlimit(l.Resource, &limit); err != nil {
			return at("set limits", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return at("forbid new privileges", err)
	}
	if err := dropCapabilities(s.Namespaces); err != nil {
		return at("drop capabilities", err)
	}
	if !s.Unlocked {
		if err := s.lock(); err != nil {
			return at("restrict files with Landlock", err)
		}
	}
	return at("filter system calls", s.filter())
}

// dropCapabilities empties the set from which a program could get capabilities. Process 1 keeps its own, which a program that it
// starts does not inherit.
func dropCapabilities(namespaces bool) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP+16; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			if errors.Is(err, unix.EINVAL) {
				break // the kernel has no more
			}
			if namespaces || !errors.Is(err, unix.EPERM) {
				return err
			}
			return nil // no capability to give any away, and none to lose
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	for i := range data {
		data[i].Inheritable = 0
	}
	return unix.Capset(&header, &data[0])
}

// The rights of Landlock that change files, and those that read them. Rights that came with later versions are in added.
const (
	changes = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	reads = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// ofFiles are the rights that a rule for a file may have.
	ofFiles = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE
	tcp    = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
)

// LandlockVersion returns the version of Landlock that the kernel has; 0 is none. Version 4 is the least that a Spec may use.
func LandlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// lock restricts the files that the calling thread may change and, if Read is set, read. Without namespaces it also restricts TCP, and
// signals and abstract sockets where the kernel can.
func (s *Spec) lock() error {
	version := LandlockVersion()
	if version < 4 {
		return unix.EOPNOTSUPP
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: changes}
	if s.Read != nil {
		attr.Handled_access_fs |= reads
	}
	if !s.Namespaces {
		attr.Handled_access_net = tcp
	}
	if version >= 6 {
		attr.Scoped = scopes
	}
	// Versions before 6 refuse a longer attribute only if it is not zero behind theirs.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Offsetof(attr.Quiet_access_fs), 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	for _, p := range s.Write {
		if err := allow(int(fd), p, attr.Handled_access_fs&changes); err != nil {
			return err
		}
	}
	for _, p := range s.Read {
		if err := allow(int(fd), p, reads); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule for all that is below a path. A path that does not exist needs none.
func allow(rules int, p string, rights uint64) error {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// filter installs the seccomp program for the calling thread and all that it starts.
func (s *Spec) filter() error {
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(s.Filter) == 0 {
		return nil
	}
	if len(s.Filter)%size != 0 {
		return unix.EINVAL
	}
	program := make([]unix.SockFilter, len(s.Filter)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&program[0])), len(s.Filter)), s.Filter)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	return nil
}
