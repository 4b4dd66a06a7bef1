package ostools

import (
	"os"
	"syscall"
)

// pseudo names the file system of an open file if it shows the kernel and its processes rather than files; "" otherwise.
func pseudo(f *os.File) string {
	c, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	var st syscall.Statfs_t
	if e := c.Control(func(fd uintptr) { err = syscall.Fstatfs(int(fd), &st) }); e != nil || err != nil {
		return ""
	}
	return pseudoName(uint32(st.Type))
}

// pseudoName returns the name of a file system by the number that the kernel has for it.
func pseudoName(magic uint32) string {
	switch magic {
	case 0x9fa0:
		return "proc"
	case 0x62656572:
		return "sysfs"
	case 0x1cd1:
		return "devpts"
	case 0x27e0eb, 0x63677270:
		return "cgroup"
	case 0x64626720, 0x74726163:
		return "debugfs"
	case 0x73636673, 0xf97cff8c, 0x43415d53:
		return "securityfs"
	case 0x62656570:
		return "configfs"
	case 0xcafe4a11:
		return "bpf"
	case 0x42494e4d:
		return "binfmt_misc"
	case 0x6165676c, 0xde5e81e4:
		return "pstore"
	case 0x65735543:
		return "fusectl"
	case 0x19800202:
		return "mqueue"
	case 0x6e736673:
		return "nsfs"
	}
	return ""
}
