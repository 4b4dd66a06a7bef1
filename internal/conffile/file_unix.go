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

// private reports whether only the user and root can write the file.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
