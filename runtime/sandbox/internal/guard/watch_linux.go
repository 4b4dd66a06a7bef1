package guard

import (
	"bytes"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watcher learns from the kernel in which directories entries have come or gone. A nil watcher knows nothing.
type watcher struct {
	fd   int
	dirs map[int32]string // by the number of the watch
	// lost: some directory is not watched, or events were dropped.
	lost bool
}

// watched are the events that tell of new entries, and of directories that have moved or have another mode.
const watched = unix.IN_CREATE | unix.IN_ATTRIB | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE | unix.IN_MOVE_SELF | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// newWatcher returns a watcher; nil if the user has too many.
func newWatcher() *watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	return &watcher{fd: fd, dirs: map[int32]string{}}
}

func (w *watcher) close() error {
	if w == nil || w.fd < 0 {
		return nil
	}
	fd := w.fd
	w.fd = -1
	return unix.Close(fd)
}

// add watches a directory. Call it before the directory is read.
func (w *watcher) add(path, rel string) {
	if w == nil {
		return
	}
	wd, err := unix.InotifyAddWatch(w.fd, path, watched)
	switch {
	case err == nil:
		w.dirs[int32(wd)] = rel
	case err != unix.ENOENT && err != unix.ENOTDIR && err != unix.EACCES:
		w.lost = true // there are too many
	}
}

// changed returns the directories with new entries since the last call, and those that are watched no more, because they were removed:
// another may have the name and the number of such a one. It is not complete if not all are watched, or events were dropped.
func (w *watcher) changed() (dirs, gone map[string]bool, complete bool) {
	if w == nil {
		return nil, nil, false
	}
	dirs, gone, complete = map[string]bool{}, map[string]bool{}, !w.lost
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return dirs, gone, complete
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			ev := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			name := bytes.TrimRight(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(ev.Len)], "\x00")
			at += unix.SizeofInotifyEvent + int(ev.Len)
			switch {
			case ev.Mask&unix.IN_Q_OVERFLOW != 0:
				complete = false
			case ev.Mask&unix.IN_IGNORED != 0:
				gone[w.dirs[ev.Wd]] = true
				delete(w.dirs, ev.Wd)
			case telling(ev.Mask, name):
				dirs[w.dirs[ev.Wd]] = true
			}
		}
	}
}

// telling reports whether an event can change what is known: of what is new, of directories, and of the names by which repositories are
// known.
func telling(mask uint32, name []byte) bool {
	if mask&(unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ISDIR|unix.IN_MOVE_SELF) != 0 {
		return true
	}
	switch string(name) {
	case ".git", "HEAD", "objects", "refs", "commondir":
		return true
	}
	return false
}
