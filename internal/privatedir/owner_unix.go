//go:build unix

package privatedir

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether the file is the user's.
func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// loose are the rights that others have.
func loose(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() & 0o077 }

// trusted reports whether the file belongs to the user or root.
func trusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// replaceable reports whether somebody but the user and root can rename what is in the
// directory. In a sticky one only the owner of an entry can. A group that has the
// user's own number is nobody else: many systems give each user one, and let it write.
func replaceable(dir fs.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	if !ok || !trusted(dir) {
		return true
	}
	others := dir.Mode().Perm() & 0o022
	if stat.Gid == 0 || int(stat.Gid) == os.Geteuid() {
		others &^= 0o020
	}
	return others != 0 && dir.Mode()&fs.ModeSticky == 0
}
