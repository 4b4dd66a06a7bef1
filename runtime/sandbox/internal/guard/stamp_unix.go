//go:build unix

package guard

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{identity{uint64(st.Dev), uint64(st.Ino)}, changeTime(st)} //nolint:unconvert // the types differ between systems
}

// rename moves a name of an opened directory to a path.
func rename(parent *os.File, name, to string) error {
	return unix.Renameat(int(parent.Fd()), name, unix.AT_FDCWD, to)
}

// namesOf returns the number of names that a file has.
func namesOf(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // the types differ between systems
	}
	return 1
}
