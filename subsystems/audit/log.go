package audit

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/grapnel-go/grapnel/internal/conffile"
)

// Log is an append-only record in a directory of its own: files of lines, each a tag and a record as JSON. The tag of a record is the
// HMAC of the tag before it and of the record, so that nobody without the key can change, remove, add or move one. The file head has the
// place of the last record, with a tag of its own: records that were cut off at the end are missed.
//
// It is safe for concurrent use, also by several processes.
type Log struct {
	dir  string
	key  []byte
	most int64

	mu sync.Mutex
}

// LogOptions are the settings of a [Log]; nil is all zero values.
type LogOptions struct {
	// Key is the key of the tags. Nil is the file key in the directory, which is made with the first record; whoever can read it
	// can also forge records.
	Key []byte
	// FileSize is how many bytes a file may have before the next one begins; 0 is 64 MiB.
	FileSize int64
}

const (
	defaultFileSize = 64 << 20
	keySize         = 32
	tagSize         = 2 * sha256.Size // as text
	headName        = "head"
	keyName         = "key"
	lockName        = "lock"
	suffix          = ".log"
	// maxRecord bounds one record, in bytes of JSON.
	maxRecord = 1 << 20
)

// NewLog returns the log in the directory, which it makes with the first record.
func NewLog(dir string, o *LogOptions) *Log {
	l := &Log{dir: dir, most: defaultFileSize}
	if o != nil {
		l.key = o.Key
		if o.FileSize > 0 {
			l.most = o.FileSize
		}
	}
	return l
}

// head is the place of the last record.
type head struct {
	// N is the number of the last record, from 1; 0 is none. Tag is its tag, and File and Size say where it ends.
	N    int64  `json:"n"`
	Tag  string `json:"tag"`
	File string `json:"file"`
	Size int64  `json:"size"`
	// Seal is the tag of the others.
	Seal string `json:"seal"`
}

func (h head) seal(key []byte) string {
	return tag(key, "head", fmt.Appendf(nil, "%d %s %s %d", h.N, h.Tag, h.File, h.Size))
}

// tag is the HMAC of a record behind the one with the tag before.
func tag(key []byte, before string, record []byte) string {
	m := hmac.New(sha256.New, key)
	_, _ = io.WriteString(m, before+"\n")
	_, _ = m.Write(record)
	return hex.EncodeToString(m.Sum(nil))
}

// ErrDamaged is the error of a log that somebody has changed.
var ErrDamaged = errors.New("audit: the record was changed")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// Append adds a record, which number returns for its number. When Append returns, a loss of power leaves it. An error that is
// [ErrDamaged] says that the end of the log was changed; nothing is added then.
func (l *Log) Append(record func(n int64) any) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(l.dir, lockName), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	h, err := l.end()
	if err != nil {
		return err
	}
	data, err := json.Marshal(record(h.N + 1))
	if err != nil {
		return err
	}
	if len(data) > maxRecord {
		return fmt.Errorf("audit: a record has %d bytes, more than %d", len(data), maxRecord)
	}
	next := head{N: h.N + 1, Tag: tag(l.key, h.Tag, data), File: h.File, Size: h.Size}
	if next.File == "" || next.Size >= l.most {
		next.File, next.Size = fmt.Sprintf("%012d%s", next.N, suffix), 0
	}
	line := slices.Concat([]byte(next.Tag), []byte{' '}, data, []byte{'\n'})
	if err := l.write(next.File, next.Size, line); err != nil {
		return err
	}
	next.Size += int64(len(line))
	return l.setHead(next)
}

// end reads the head. It takes up a record that was written when the process died before it wrote the head, and removes a part of one.
func (l *Log) end() (h head, err error) {
	if err := l.loadKey(true); err != nil {
		return h, err
	}
	h, err = l.readHead()
	if err != nil {
		return h, err
	}
	files, err := l.files()
	if err != nil {
		return h, err
	}
	if len(files) == 0 && h.N > 0 || len(files) > 0 && h.N > 0 && !slices.Contains(files, h.File) {
		return h, damaged("the file %s is not there", h.File)
	}
	last := h.File
	if len(files) > 0 {
		last = files[len(files)-1]
	}
	if last == "" {
		return h, nil
	}
	from := int64(0)
	if last == h.File {
		from = h.Size
	}
	rest, err := l.behind(last, from)
	if err != nil || len(rest) == 0 {
		return h, err
	}
	t, data, ok := splitLine(rest)
	if ok && tag(l.key, h.Tag, data) == t && bytes.IndexByte(rest, '\n') == len(rest)-1 {
		return head{N: h.N + 1, Tag: t, File: last, Size: from + int64(len(rest))}, nil
	}
	if bytes.IndexByte(rest, '\n') >= 0 {
		return h, damaged("%s has lines behind the last record", last)
	}
	return h, os.Truncate(filepath.Join(l.dir, last), from)
}

// open opens a file of the log, and none that a link in its place names elsewhere.
func (l *Log) open(name string) (*os.File, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(name)
	return f, errors.Join(err, root.Close())
}

// behind returns what the file has from there on, at most one record and one byte.
func (l *Log) behind(name string, from int64) ([]byte, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < from {
		return nil, damaged("%s has %d bytes, and the head says %d", name, info.Size(), from)
	}
	return io.ReadAll(io.NewSectionReader(f, from, maxRecord+tagSize+3))
}

// splitLine parts a line into its tag and its record.
func splitLine(line []byte) (t string, record []byte, ok bool) {
	line, ended := bytes.CutSuffix(line, []byte{'\n'})
	if !ended || len(line) < tagSize+2 || line[tagSize] != ' ' {
		return "", nil, false
	}
	return string(line[:tagSize]), line[tagSize+1:], true
}

func (l *Log) write(name string, at int64, line []byte) error {
	f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(line, at)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (l *Log) setHead(h head) error {
	h.Seal = h.seal(l.key)
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	tmp := filepath.Join(l.dir, headName+".new")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(l.dir, headName))
}

func (l *Log) readHead() (h head, err error) {
	data, err := conffile.Read(filepath.Join(l.dir, headName), &conffile.Options{Private: true, Binary: true})
	if errors.Is(err, fs.ErrNotExist) {
		files, err := l.files()
		switch {
		case err != nil:
			return h, err
		case len(files) > 1:
			return h, damaged("the file head is not there")
		}
		return h, nil // the first record may have been written before it
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(data, &h); err != nil || !hmac.Equal([]byte(h.Seal), []byte(h.seal(l.key))) {
		return h, damaged("the file head is not that of the program")
	}
	return h, nil
}

// files returns the names of the files, the oldest first.
func (l *Log) files() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries { // sorted
		if strings.HasSuffix(e.Name(), suffix) {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// loadKey reads the key, or makes it.
func (l *Log) loadKey(create bool) error {
	if l.key != nil {
		return nil
	}
	key, err := readKey(l.dir)
	if errors.Is(err, fs.ErrNotExist) && create {
		files, err := l.files()
		if err != nil {
			return err
		}
		if len(files) > 0 {
			return damaged("the file key is not there, and there are records")
		}
		l.key, err = Key(l.dir)
		return err
	}
	l.key = key
	return err
}

// Key returns the key in the file key of the directory, and makes both if they are not there. Several
// processes may do so at the same time.
func Key(dir string) ([]byte, error) {
	key, err := readKey(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key = make([]byte, keySize)
	_, _ = rand.Read(key) // it never fails
	tmp, err := os.CreateTemp(dir, keyName+".new-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // the next start of nobody reads it
	_, err = tmp.WriteString(hex.EncodeToString(key))
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Link(tmp.Name(), filepath.Join(dir, keyName)) // unlike a rename it replaces no key
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(dir)
}

func readKey(dir string) ([]byte, error) {
	text, err := conffile.Read(filepath.Join(dir, keyName), &conffile.Options{Private: true})
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keySize {
		return nil, damaged("the file key is no key")
	}
	return key, nil
}

// Verified says what a check of a log has found.
type Verified struct {
	// Records are those that were checked, one after the other from the first.
	Records int64
	// Files counts the files of a [Log], Nodes are those of [Chains] that have records.
	Files int
	Nodes []string
}

// Verify checks all records. The error is [ErrDamaged] with the place of the first that was changed, is missing or is not in its
// place. Who can read the key can forge a log that Verify accepts, and who puts back an older copy of the whole directory, too.
func (l *Log) Verify() (Verified, error) {
	var v Verified
	for _, err := range l.Records() {
		if err != nil {
			return v, err
		}
		v.Records++
	}
	files, err := l.files()
	v.Files = len(files)
	return v, err
}

// Empty reports whether there are no records.
func (l *Log) Empty() (bool, error) {
	files, err := l.files()
	return len(files) == 0, err
}

// Records yields the records as JSON, the oldest first, and checks them. After an error it ends.
func (l *Log) Records() iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if err := l.read(func(data []byte) bool { return yield(data, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (l *Log) read(yield func([]byte) bool) error {
	files, err := l.files()
	if err != nil {
		return err
	}
	_, none := os.Stat(filepath.Join(l.dir, headName))
	if len(files) == 0 && errors.Is(none, fs.ErrNotExist) {
		return nil
	}
	if err := l.loadKey(false); err != nil {
		return fmt.Errorf("the key of the audit log: %w", err)
	}
	h, err := l.readHead()
	if err != nil {
		return err
	}
	n, before := int64(0), ""
	reached := h.N == 0
	for i, name := range files {
		if want := fmt.Sprintf("%012d%s", n+1, suffix); name != want {
			return damaged("the next file is %s, and should be %s", name, want)
		}
		err := l.lines(name, func(line []byte) (bool, error) {
			t, data, ok := splitLine(line)
			if !ok && i == len(files)-1 && reached && !bytes.HasSuffix(line, []byte{'\n'}) {
				return true, nil // the process died while it wrote; nobody was told of that record
			}
			if !ok || tag(l.key, before, data) != t {
				return false, damaged("record %d in %s", n+1, name)
			}
			n, before = n+1, t
			if n == h.N {
				if reached = t == h.Tag; !reached {
					return false, damaged("record %d in %s is not the one that the head has", n, name)
				}
			}
			return yield(data), nil
		})
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	switch {
	case n < h.N:
		return damaged("it ends with record %d, and the head says %d", n, h.N)
	case n > h.N+1:
		return damaged("it has %d records, and the head says %d", n, h.N)
	}
	return nil
}

// errEnough ends lines.
var errEnough = errors.New("enough")

// lines calls each with the lines of a file until it returns false.
func (l *Log) lines(name string, each func([]byte) (bool, error)) error {
	f, err := l.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxRecord+tagSize+3)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return damaged("a line of %s is too long", name)
		}
		if len(line) > 0 {
			goOn, failed := each(line)
			if failed != nil {
				return failed
			}
			if !goOn {
				return errEnough
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
