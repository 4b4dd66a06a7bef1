//go:build unix

package privatedir

import (
	"io/fs"
	"os"
	"syscall"
)

func owned(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func loose(info fs.FileInfo) fs.FileMode { return info.Mode().Perm() & 0o077 }

func trusted(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// replaceable reports whether users other than the user and root can rename entries of the
// directory. In a sticky directory only the owner of an entry can. A group with the user's
// own number does not count: many systems give each user such a group with write access.
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
