package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Keys of objects: the SHA-256 of the content in hex, or for a linked git object linked, its inode, size and time.
const linked = "link-"

// object returns the path of an object in the store.
func (s *Store) object(key string) string {
	if strings.HasPrefix(key, linked) {
		return s.path(linksDir, key)
	}
	return s.path(objectsDir, key[:2], key)
}

// has reports whether the store has the object in its whole size.
func (s *Store) has(key string, size int64) bool {
	info, err := os.Lstat(s.object(key))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// errSwapped says that a path is no longer what it was a moment ago.
var errSwapped = errors.New("it changed meanwhile")

// openSame opens the file of a directory for reading if it still is the one of info, and a regular file.
func openSame(dir *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && (!os.SameFile(info, is) || !is.Mode().IsRegular()) {
		err = errSwapped
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// errOver says that a file is larger than the limit.
var errOver = errors.New("over the limit")

// inMemory is the size up to which a file is read whole, so that a file whose object exists is written nowhere.
const inMemory = 256 << 10

// put adds the content of an open file to the store, and returns its key and size. buf has a length of inMemory.
func (s *Store) put(f *os.File, limit int64, buf []byte) (key string, size, written int64, err error) {
	n, err := io.ReadFull(f, buf[:min(int64(len(buf)), limit+1)])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { //nolint:errorlint // as io.ReadFull returns them
		return "", 0, 0, err
	}
	if int64(n) > limit {
		return "", 0, 0, errOver
	}
	if n == len(buf) {
		return s.putLarge(f, limit)
	}
	sum := sha256.Sum256(buf[:n])
	if key = hex.EncodeToString(sum[:]); s.has(key, int64(n)) {
		return key, int64(n), 0, nil
	}
	err = s.install(key, func(tmp *os.File) error { _, err := tmp.Write(buf[:n]); return err })
	return key, int64(n), int64(n), err
}

func (s *Store) putLarge(f *os.File, limit int64) (key string, size, written int64, err error) {
	tmp, err := os.CreateTemp(s.path(tmpDir), "object")
	if err != nil {
		return "", 0, 0, err
	}
	defer func() { err = errors.Join(err, tmp.Close(), gone(os.Remove(tmp.Name()))) }()
	h := sha256.New()
	if clone(tmp, f) == nil {
		size, err = io.Copy(h, io.LimitReader(tmp, limit+1))
	} else {
		size, err = copyHashed(tmp, f, h, limit)
	}
	if err != nil {
		return "", 0, 0, err
	}
	if size > limit {
		return "", 0, 0, errOver
	}
	if key = hex.EncodeToString(h.Sum(nil)); s.has(key, size) {
		return key, size, 0, nil
	}
	return key, size, size, s.rename(tmp.Name(), key)
}

// copyHashed copies a file from its start, but at most a byte more than the limit.
func copyHashed(to io.Writer, from io.ReadSeeker, h hash.Hash, limit int64) (int64, error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(io.MultiWriter(to, h), io.LimitReader(from, limit+1))
}

// install writes an object under a temporary name and renames it.
func (s *Store) install(key string, write func(*os.File) error) error {
	tmp, err := os.CreateTemp(s.path(tmpDir), "object")
	if err != nil {
		return err
	}
	err = errors.Join(write(tmp), tmp.Close())
	if err == nil {
		err = s.rename(tmp.Name(), key)
	}
	if err != nil {
		return errors.Join(err, gone(os.Remove(tmp.Name())))
	}
	return nil
}

func (s *Store) rename(tmp, key string) error {
	err := os.Rename(tmp, s.object(key))
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(s.path(objectsDir, key[:2]), 0o700); err != nil {
			return err
		}
		err = os.Rename(tmp, s.object(key))
	}
	return err
}

// gone is err, but nil if the file was not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// linkKey returns the key of a git object that is linked. The store's link keeps the inode from being used again.
func linkKey(info fs.FileInfo) string {
	st := statOf(info)
	return fmt.Sprintf("%s%x-%x-%x", linked, st.Inode, info.Size(), uint64(st.Mtime))
}

// adopt links a git object of the project into the store. ok is false if the file system does not allow it.
func (s *Store) adopt(dir *os.File, name string, info fs.FileInfo) (key string, ok bool) {
	if statOf(info).Inode == 0 {
		return "", false
	}
	key = linkKey(info)
	if is, err := os.Lstat(s.path(linksDir, key)); err == nil && os.SameFile(is, info) {
		return key, true
	}
	tmp, err := os.Open(s.path(tmpDir))
	if err != nil {
		return "", false
	}
	defer tmp.Close()
	if linkAt(dir, name, tmp, key) != nil {
		return "", false
	}
	is, err := os.Lstat(s.path(tmpDir, key))
	if err == nil && os.SameFile(is, info) && is.Mode().IsRegular() {
		err = os.Rename(s.path(tmpDir, key), s.path(linksDir, key))
		return key, err == nil
	}
	_ = os.Remove(s.path(tmpDir, key)) // the next operation empties tmp
	return "", false
}

// errDamaged says that an object is not what was stored.
var errDamaged = errors.New("the copy in the store is missing or damaged")

// get writes the content of an object into a file, and checks it.
func (s *Store) get(e *entry, to *os.File) error {
	from, err := os.Open(s.object(e.Content))
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer from.Close()
	if strings.HasPrefix(e.Content, linked) {
		if info, err := from.Stat(); err != nil || linkKey(info) != e.Content {
			return errDamaged
		}
		_, err = io.Copy(to, from)
		return err
	}
	h := sha256.New()
	var n int64
	if clone(to, from) == nil {
		n, err = io.Copy(h, from)
	} else {
		n, err = copyHashed(to, from, h, e.Size)
	}
	if err == nil && (n != e.Size || hex.EncodeToString(h.Sum(nil)) != e.Content) {
		err = errDamaged
	}
	return err
}
