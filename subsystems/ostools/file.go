package ostools

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/hook/message"
)

// maxFile limits the files that are read and written, in bytes.
const maxFile = 50 << 20

// open opens a regular file for reading, and refuses any other kind. It never waits for
// the other end of a pipe.
func (o *OS) open(p place, rel string) (*os.File, fs.FileInfo, error) {
	name := p.name(rel)
	f, err := p.root.OpenFile(rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, pathError(name, err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, pathError(name, err)
	}
	if err := cmp.Or(o.refuse(name, info), kernels(name, f)); err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// kernels refuses files that show the kernel and its processes, such as those of a /proc that is mounted below the root.
func kernels(name string, f *os.File) error {
	if kind := pseudo(f); kind != "" {
		return failf(message.FailDenied, "%s is on a file system of the kernel (%s), which has no files of the project", name, kind)
	}
	return nil
}

// stored refuses a file to be made or replaced on a file system of the kernel: there a new directory already has an effect.
func stored(p place, rel string) error {
	for dir := filepath.Dir(rel); ; dir = filepath.Dir(dir) {
		d, err := p.root.OpenFile(dir, os.O_RDONLY|openFlags, 0)
		if errors.Is(err, fs.ErrNotExist) && dir != "." {
			continue
		}
		if err != nil {
			return pathError(p.name(dir), err)
		}
		defer d.Close()
		return kernels(p.name(rel), d)
	}
}

func (o *OS) refuse(name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return failf(message.FailOperation, "%s is a directory; list it with a pattern like %s/*", name, name)
	case !info.Mode().IsRegular():
		return failf(message.FailOperation, "%s is no regular file (%s)", name, kindOf(info.Mode()))
	case info.Size() > maxFile:
		return failf(message.FailOperation, "%s has %d bytes; the limit is %d", name, info.Size(), int64(maxFile))
	case !o.hardLinks && names(info) > 1:
		return failf(message.FailDenied, "%s is a hard link: it has %d names, and the others may be outside of the root", name, names(info))
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return m.Type().String()
}

func (o *OS) content(p place, rel string) ([]byte, fs.FileInfo, error) {
	f, info, err := o.open(p, rel)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	var buf bytes.Buffer
	buf.Grow(int(info.Size()) + bytes.MinRead)
	n, err := buf.ReadFrom(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, nil, pathError(p.name(rel), err)
	case n > maxFile:
		return nil, nil, failf(message.FailOperation, "%s has more than %d bytes", p.name(rel), int64(maxFile))
	}
	return buf.Bytes(), info, nil
}

// isBinary reports whether the beginning of a file is not text.
func isBinary(head []byte) bool { return bytes.IndexByte(head, 0) >= 0 }

// workspace labels a text as read from the user's own files.
func workspace(text string) message.ToolResult {
	r := message.TextResult(text)
	r.Trust = message.TrustWorkspace
	return r
}
