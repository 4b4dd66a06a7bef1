package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden are system calls that no build, test or tool needs, and by which programs have left sandboxes: they look into other
// processes, make namespaces and mounts, keep secrets of the user's session, or reach the kernel by ways that a filter does not see.
// What needs a capability is not listed if it is nothing but that: no process in a sandbox has any.
func forbidden() []string {
	return []string{
		"io_uring_setup", "io_uring_enter", "io_uring_register",
		"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
		"unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount", "mount_setattr",
		"add_key", "request_key", "keyctl",
		"bpf", "perf_event_open", "userfaultfd", "vmsplice",
		"open_by_handle_at", "fanotify_init",
		"init_module", "finit_module", "kexec_load", "kexec_file_load",
	}
}

// namespaces are the flags of clone that make namespaces.
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWCGROUP

// sockets are the kinds of sockets that a process may make.
type sockets struct{ internet, unix bool }

// filters are the programs of all kinds. One takes as long to assemble as several mounts, so each is assembled once.
var filters = map[sockets]func() ([]byte, error){
	{}:                           sync.OnceValues(func() ([]byte, error) { return assemble() }),
	{internet: true}:             sync.OnceValues(func() ([]byte, error) { return assemble(unix.AF_INET, unix.AF_INET6) }),
	{unix: true}:                 sync.OnceValues(func() ([]byte, error) { return assemble(unix.AF_UNIX) }),
	{internet: true, unix: true}: sync.OnceValues(func() ([]byte, error) { return assemble(unix.AF_INET, unix.AF_INET6, unix.AF_UNIX) }),
}

// filter returns the seccomp program of a process, which the caller does not change.
func filter(s sockets) ([]byte, error) { return filters[s]() }

// assemble makes a seccomp program: forbidden calls fail as not permitted. A socket of a family that is not among these fails as one
// that the kernel does not know, which programs expect.
func assemble(families ...int) ([]byte, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("system calls of this architecture are not known: %w", err)
	}
	refuse := seccomp.ActionErrno | seccomp.Action(unix.EPERM)
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		{Names: known(info, forbidden()), Action: refuse},
		// The C library falls back to clone, whose flags can be seen.
		{Names: known(info, []string{"clone3"}), Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "clone", Conditions: seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.BitsSet, Value: namespaces}}},
		}, Action: refuse},
		{NamesWithCondtions: otherSockets(families), Action: seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT)},
	}}
	policy.Syscalls = append(policy.Syscalls,
		seccomp.SyscallGroup{NamesWithCondtions: setID(info), Action: refuse},
		// Its mode stands where a filter cannot see it. Programs fall back to openat.
		seccomp.SyscallGroup{Names: known(info, []string{"openat2"}), Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)})
	if !slices.Contains(families, unix.AF_UNIX) {
		// An end of a pair of datagram sockets can connect to a socket that has a name.
		policy.Syscalls = append(policy.Syscalls, seccomp.SyscallGroup{Action: seccomp.ActionErrno | seccomp.Action(unix.EAFNOSUPPORT), NamesWithCondtions: []seccomp.NameWithConditions{
			{Name: "socketpair", Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.BitsSet, Value: unix.SOCK_DGRAM}}},
		}})
	}
	instructions, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// Assemble lets calls of other architectures through. They would be 32-bit calls, with other numbers.
	guard := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)},
	}
	return encoded(append(guard, instructions...))
}

// known returns the names that the architecture has.
func known(info *arch.Info, names []string) []string {
	var out []string
	for _, name := range names {
		if _, ok := info.SyscallNames[name]; ok {
			out = append(out, name)
		}
	}
	return out
}

// otherSockets match every socket whose family is none of these. Pairs of stream sockets connect to nothing else, and stay.
func otherSockets(families []int) []seccomp.NameWithConditions {
	other := seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.GreaterOrEqual, Value: 0}}
	for _, f := range families {
		other = append(other, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: uint64(f)})
	}
	return []seccomp.NameWithConditions{{Name: "socket", Conditions: other}}
}

// encoded returns the program as the kernel reads it.
func encoded(instructions []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(instructions)
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, r := range raw {
		out = binary.NativeEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.NativeEndian.AppendUint32(out, r.K)
	}
	return out, nil
}

// setID are the calls that make a file whose program runs with the rights of its owner, outside as well.
func setID(info *arch.Info) (out []seccomp.NameWithConditions) {
	const bits = unix.S_ISUID | unix.S_ISGID
	for name, arg := range map[string]uint32{"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2} {
		if len(known(info, []string{name})) > 0 {
			out = append(out, seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{{Argument: arg, Operation: seccomp.BitsSet, Value: bits}}})
		}
	}
	// The mode counts only if a file is made.
	for name, arg := range map[string]uint32{"open": 2, "openat": 3} {
		if len(known(info, []string{name})) == 0 {
			continue
		}
		for _, makes := range []uint64{unix.O_CREAT, unix.O_TMPFILE &^ unix.O_DIRECTORY} {
			out = append(out, seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{
				{Argument: arg - 1, Operation: seccomp.BitsSet, Value: makes}, {Argument: arg, Operation: seccomp.BitsSet, Value: bits},
			}})
		}
	}
	return out
}
