package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps the open of a pipe from waiting for its other end.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

func statOf(info fs.FileInfo) stat {
	out := stat{Mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		out.Change, out.Inode = st.Ctim.Nano(), st.Ino
	}
	return out
}

// mount returns an id of the mount that an open directory is in.
func mount(dir *os.File) ([3]uint64, error) {
	var st unix.Statx_t
	err := withFD(dir, func(fd int) error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st) })
	if err != nil { // an old kernel, or a filter of system calls
		info, err := dir.Stat()
		if err != nil {
			return [3]uint64{}, err
		}
		return [3]uint64{0, uint64(info.Sys().(*syscall.Stat_t).Dev)}, nil
	}
	return [3]uint64{st.Mnt_id, uint64(st.Dev_major), uint64(st.Dev_minor)}, nil // without the id (Linux < 5.8), the device is all
}

// clone makes an empty file a copy of another one that shares its blocks. It fails where the file system cannot.
func clone(to, from *os.File) error {
	return withFD(to, func(dst int) error {
		return withFD(from, func(src int) error { return unix.IoctlFileClone(dst, src) })
	})
}

// linkAt gives a file a second name, in another directory. It follows no links.
func linkAt(from *os.File, name string, to *os.File, as string) error {
	return withFD(from, func(src int) error {
		return withFD(to, func(dst int) error { return unix.Linkat(src, name, dst, as, 0) })
	})
}

func withFD(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) { failed = do(int(fd)) })
	return errors.Join(err, failed)
}

// shared returns the number of names of a file.
func shared(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}
