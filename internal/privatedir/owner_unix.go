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

// replaceable reports whether somebody but the user and root can rename what is in the
// directory. In a sticky one only the owner of an entry can. A group that has the
// user's own number is nobody else: many systems give each user one, and let it write.
func replaceable(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	if uid := int(stat.Uid); uid != 0 && uid != os.Geteuid() {
		return true
	}
	others := info.Mode().Perm() & 0o022
	if stat.Gid == 0 || int(stat.Gid) == os.Geteuid() {
		others &^= 0o020
	}
	return others != 0 && info.Mode()&fs.ModeSticky == 0
}
