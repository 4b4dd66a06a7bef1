//go:build unix

package conffile

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep opening from waiting for the other end of a pipe, and from taking a
// terminal over.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// private reports whether nobody but the user, and root, can write the file.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
