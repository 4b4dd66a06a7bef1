package jail

import (
	"errors"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// root is the new root while it is built. Targets are opened below it without following links, so that a link in a project cannot
// move a mount elsewhere.
type root struct {
	fd int
}

// mountAll makes the file system of the process and enters it.
func (s *Spec) mountAll() error {
	// What is to be bound is opened first: a later mount may cover the way to it.
	trees := make([]int, len(s.Mounts))
	for i, m := range s.Mounts {
		trees[i] = -1
		if m.Op != Bind {
			continue
		}
		fd, err := m.open()
		if err != nil && !(m.Optional && missing(err)) {
			return at("open "+m.Source, err)
		}
		trees[i] = fd
	}
	if err := unix.Mount("tmpfs", s.Base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=64m"); err != nil {
		return at("mount a new root", err)
	}
	fd, err := unix.Open(s.Base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return at("open the new root", err)
	}
	r := root{fd}
	for i, m := range s.Mounts {
		err := r.step(m, trees[i])
		if err != nil && !(m.Optional && missing(err)) {
			return at("mount "+m.Target, err)
		}
		if trees[i] >= 0 {
			_ = unix.Close(trees[i])
		}
	}
	return at("enter the new root", r.enter())
}

// open returns a copy of what the source of a Bind shows.
func (m Mount) open() (fd int, err error) {
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
	if m.Within == "" {
		return unix.OpenTree(unix.AT_FDCWD, m.Source, flags)
	}
	dir, err := unix.Open(m.Within, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	at, err := unix.Openat2(dir, m.Source, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH})
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	return unix.OpenTree(at, "", flags|unix.AT_EMPTY_PATH)
}

// enter makes the new root the root and lets go of the old one.
func (r root) enter() error {
	if err := unix.MountSetattr(r.fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	if err := unix.Fchdir(r.fd); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	// The old root is mounted over the new one, and leaves it.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	_ = unix.Close(r.fd)
	return unix.Chdir("/")
}

func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EACCES) ||
		errors.Is(err, unix.EROFS)
}

// step does one Mount. tree is the opened source of a Bind; -1 if there is none.
func (r root) step(m Mount, tree int) error {
	switch m.Op {
	case Bind:
		if tree < 0 {
			return unix.ENOENT
		}
		return r.bind(m, tree)
	case Again:
		return r.again(m)
	case Hide:
		return r.hide(m)
	case Link:
		parent, err := r.make(path.Dir(m.Target))
		if err != nil {
			return err
		}
		defer unix.Close(parent)
		return unix.Symlinkat(m.Source, parent, path.Base(m.Target))
	case Empty:
		// In a directory that all may write to, the kernel opens no device of another owner for what may create a file.
		options := [][2]string{{"mode", "755"}}
		if m.Shared {
			options[0][1] = "1777"
		}
		if m.Size > 0 {
			options = append(options, [2]string{"size", strconv.FormatInt(m.Size, 10)})
		}
		return r.mounted(m, "tmpfs", options)
	case Overlay:
		err := r.mounted(m, "overlay", [][2]string{{"lowerdir", escaped(m.Source)}, {"upperdir", m.Upper}, {"workdir", m.Work}, {"userxattr", ""}, {"volatile", ""}})
		if err == nil {
			OpenWork(m.Work)
		}
		return err
	case Processes:
		return r.mounted(m, "proc", nil)
	case Terminals:
		return r.mounted(m, "devpts", [][2]string{{"newinstance", ""}, {"ptmxmode", "0666"}, {"mode", "620"}})
	}
	return unix.EINVAL
}

// escaped writes a path as a list of lower directories with one element.
func escaped(p string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(p)
}

// bind attaches the tree at the target, which is made as what the tree is: a directory or a file.
func (r root) bind(m Mount, tree int) error {
	if err := restrict(tree, m.ReadOnly, true); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(tree, &st); err != nil {
		return err
	}
	to, err := r.place(m.Target, st.Mode&unix.S_IFMT == unix.S_IFDIR)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return attach(tree, to)
}

// restrict forbids set-user-id programs in a tree, and changes if readOnly. Of a device alone the device stays usable.
func restrict(tree int, readOnly, recursive bool) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if readOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	flags := uint(unix.AT_EMPTY_PATH)
	if recursive {
		flags |= unix.AT_RECURSIVE
	}
	return unix.MountSetattr(tree, "", flags, &attr)
}

func attach(tree, to int) error {
	return unix.MoveMount(tree, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// again mounts the target on itself.
func (r root) again(m Mount) error {
	to, err := r.existing(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	var st unix.Stat_t
	if err := unix.Fstat(to, &st); err != nil {
		return err
	}
	if m.Number != 0 && m.Number != st.Ino {
		return unix.ESTALE // another file has come there
	}
	tree, err := unix.OpenTree(to, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if m.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return err
	}
	return attach(tree, to)
}

// hide covers the target.
func (r root) hide(m Mount) error {
	to, err := r.existing(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	var st unix.Stat_t
	if err := unix.Fstat(to, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		fs, err := made("tmpfs", [][2]string{{"mode", "755"}, {"size", "4k"}}, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
		if err != nil {
			return err
		}
		defer unix.Close(fs)
		return attach(fs, to)
	}
	empty, err := r.place("/.empty", false)
	if err != nil {
		return err
	}
	defer unix.Close(empty)
	tree, err := unix.OpenTree(empty, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := restrict(tree, true, false); err != nil {
		return err
	}
	return attach(tree, to)
}

// mounted mounts a new file system of a kind at a directory.
func (r root) mounted(m Mount, kind string, options [][2]string) error {
	attrs := unix.MOUNT_ATTR_NOSUID
	if kind != "devpts" {
		attrs |= unix.MOUNT_ATTR_NODEV
	}
	if m.ReadOnly {
		attrs |= unix.MOUNT_ATTR_RDONLY
	}
	fs, err := made(kind, options, attrs)
	if err != nil {
		return err
	}
	defer unix.Close(fs)
	to, err := r.make(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	return attach(fs, to)
}

// made returns a new file system that is mounted nowhere yet.
func made(kind string, options [][2]string, attrs int) (fd int, err error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs)
	for _, o := range options {
		if o[1] == "" {
			err = unix.FsconfigSetFlag(fs, o[0])
		} else {
			err = unix.FsconfigSetString(fs, o[0], o[1])
		}
		if err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attrs)
}

// existing opens what is at a path below the new root. A symbolic link anywhere in it is an error.
func (r root) existing(target string) (fd int, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_IN_ROOT}
	fd, err = unix.Openat2(r.fd, "."+path.Clean("/"+target), &how)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		_ = unix.Close(fd)
		return -1, errors.Join(err, unix.ELOOP)
	}
	return fd, nil
}

// place opens a directory or an empty file at a path below the new root, and makes what is missing.
func (r root) place(target string, dir bool) (fd int, err error) {
	if dir {
		return r.make(target)
	}
	parent, err := r.make(path.Dir(target))
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	name := path.Base(target)
	if made, err := unix.Openat(parent, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o444); err == nil {
		_ = unix.Close(made)
	}
	return r.existing(target)
}

// make opens a directory below the new root and makes what is missing of its path.
func (r root) make(target string) (fd int, err error) {
	if fd, err := r.existing(target); err == nil || target == "/" || target == "." {
		return fd, err
	}
	parent, err := r.make(path.Dir(target))
	if err != nil {
		return -1, err
	}
	defer unix.Close(parent)
	if err := unix.Mkdirat(parent, path.Base(target), 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return r.existing(target)
}
