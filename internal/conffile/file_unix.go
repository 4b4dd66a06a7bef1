//go:build unix

package conffile

import (
	"io/fs"
	"os"
	"syscall"
)

// openFlags let open return at once for a pipe without another end, and not take over a
// terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// private reports whether the file is the user's, and nobody else but root has any of the permissions.
func private(info fs.FileInfo, permissions fs.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&permissions == 0
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
