// Package conffile reads configuration files: those of the user, and those of a project,
// which are not trusted. All configuration goes through it, so that the same limits apply
// to each file.
//
//	data, err := conffile.Read(file, &conffile.Options{Within: project, JSON: true})
//
// It reads regular files only and never waits for a pipe or a terminal. Size and
// depth are bounded, and the work is linear in the size. It parses nothing, and it is
// not for the files that tools work on.
package conffile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

const (
	// MaxSize is the size in bytes of the largest file that is read without
	// [Options.Max].
	MaxSize = 1 << 20
	// MaxDepth is how deep objects and lists may nest.
	MaxDepth = 100
)

// Options of [Read]. The zero value of each field is usable.
type Options struct {
	// Within is the project of the file. Links on a path below it are not followed out of
	// it, and a file with several names is refused. "" is for files of the user, who may
	// use links.
	Within string
	// Max is the largest size in bytes; 0 is [MaxSize].
	Max int64
	// JSON: the text must not nest deeper than [MaxDepth].
	JSON bool
	// Private: the file must belong to the user, and no other user may be able to write
	// it, because it has answers of the user.
	Private bool
	// Secret: the file must belong to the user, and no other user may be able to read or write
	// it, because it has a secret.
	Secret bool
	// Binary: the content need not be UTF-8 and may have NUL bytes.
	Binary bool
}

// Error is an error about a file or directory, with a fix.
type Error struct {
	Path, What, Fix string
	err             error
}

// Error returns "path: what; fix".
func (e *Error) Error() string { return e.Path + ": " + e.Reason() }

// Reason is the error without the path.
func (e *Error) Reason() string {
	if e.Fix == "" {
		return e.What
	}
	return e.What + "; " + e.Fix
}

// Unwrap returns the error of the file system, or nil: fs.ErrNotExist for a missing file.
func (e *Error) Unwrap() error { return e.err }

// Reason returns why a file cannot be used, without its path if the error has one.
func Reason(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason()
	}
	return cause(err).Error()
}

// Read returns the content of the file. Nil options are the zero value. The error is an
// [*Error].
func Read(path string, o *Options) ([]byte, error) {
	if o == nil {
		o = &Options{}
	}
	rel, ok := below(o.Within, path)
	if !ok {
		return read(path, os.Stat, os.OpenFile, path, *o)
	}
	root, err := os.OpenRoot(o.Within)
	if err != nil {
		return nil, failed(o.Within, o.Within, err)
	}
	defer root.Close()
	return read(rel, root.Stat, root.OpenFile, path, *o)
}

// ReadIn returns the content of a file below root, a directory of [OpenDir]. It does not
// follow links out of root. If root is in a project, set Within to it.
func ReadIn(root *os.Root, name string, o *Options) ([]byte, error) {
	if o == nil {
		o = &Options{}
	}
	own := *o
	if _, ok := below(own.Within, root.Name()); !ok {
		own.Within = ""
	}
	return read(filepath.FromSlash(name), root.Stat, root.OpenFile, filepath.Join(root.Name(), name), own)
}

// Open opens a regular file of the user, of any size: for data that is read piece by piece.
// The error is an [*Error].
func Open(path string) (*os.File, error) {
	return open(path, os.Stat, os.OpenFile, path, Options{})
}

// OpenDir opens a directory of configuration. It opens a directory below within through
// within, so that links cannot lead out of it; "" is for directories of the user. The error
// is an [*Error].
func OpenDir(dir, within string) (*os.Root, error) {
	rel, ok := below(within, dir)
	if !ok {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, failed(dir, "", err)
		}
		return root, nil
	}
	project, err := os.OpenRoot(within)
	if err != nil {
		return nil, failed(within, "", err)
	}
	defer project.Close()
	root, err := project.OpenRoot(rel)
	if err != nil {
		return nil, failed(dir, within, err)
	}
	return root, nil
}

// below returns path relative to within, by the names alone.
func below(within, path string) (string, bool) {
	if within == "" {
		return "", false
	}
	base, err := filepath.Abs(within)
	if err != nil {
		return "", false
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", false
	}
	rel, err := filepath.Rel(base, path)
	return rel, err == nil && filepath.IsLocal(rel)
}

type (
	statFunc func(name string) (fs.FileInfo, error)
	openFunc func(name string, flag int, perm fs.FileMode) (*os.File, error)
)

func read(name string, stat statFunc, openFile openFunc, shown string, o Options) ([]byte, error) {
	if o.Max == 0 {
		o.Max = MaxSize
	}
	f, err := open(name, stat, openFile, shown, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, o.Max+1))
	switch {
	case err != nil:
		return nil, failed(shown, o.Within, err)
	case int64(len(data)) > o.Max:
		return nil, tooLarge(shown, o.Max)
	}
	if err := checkText(data, o); err != nil {
		err.Path = shown
		return nil, err
	}
	return data, nil
}

// open checks the file before it opens it, because opening a device can have effects, and
// once more after that, because the file may have been replaced meanwhile.
func open(name string, stat statFunc, openFile openFunc, shown string, o Options) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, failed(shown, o.Within, err)
	}
	if err := refuse(shown, info, o); err != nil {
		return nil, err
	}
	f, err := openFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, failed(shown, o.Within, err)
	}
	if info, err = f.Stat(); err != nil {
		err = failed(shown, o.Within, err)
	} else {
		err = refuse(shown, info, o)
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// refuse returns why a file is not read; nil if it is.
func refuse(shown string, info fs.FileInfo, o Options) error {
	switch {
	case !info.Mode().IsRegular():
		return &Error{Path: shown, What: "is " + kind(info.Mode()) + ", no regular file", Fix: "put a file with the text in its place"}
	case o.Max > 0 && info.Size() > o.Max:
		return tooLarge(shown, o.Max)
	case o.Secret && !private(info, 0o077):
		return &Error{Path: shown, What: fmt.Sprintf("belongs to another user, or others can read or write it (mode %04o), and it has a secret", info.Mode().Perm()),
			Fix: "make a new secret if somebody else may know this one, then run chmod 600 on the file"}
	case o.Private && !private(info, 0o022):
		return &Error{Path: shown, What: fmt.Sprintf("belongs to another user, or others can write it (mode %04o)", info.Mode().Perm()),
			Fix: "look at what it says, then run chmod go-w on it, or delete it"}
	case o.Within != "" && links(info) > 1:
		return &Error{Path: shown, What: fmt.Sprintf("has %d names, and the others may be outside of %s", links(info), o.Within),
			Fix: "put a copy in its place"}
	}
	return nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

func tooLarge(shown string, most int64) error {
	return &Error{Path: shown, What: fmt.Sprintf("has more than %d bytes, which is the limit", most), Fix: "make it shorter"}
}

// escapes is the text of [os.Root]'s error for a path out of it; the error itself is not
// exported.
const escapes = "path escapes from parent"

// cause returns the cause of an error of package os, without path and system call.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

func failed(shown, within string, err error) error {
	out := &Error{Path: shown, What: "cannot be read: " + cause(err).Error(), err: err}
	switch {
	case cause(err).Error() == escapes:
		out.What = "leads through a link out of " + cmp.Or(within, "its directory") + ", or one with an absolute target, which is not followed"
		out.Fix = "put what it leads to in its place"
	case errors.Is(err, fs.ErrNotExist):
		out.What = "does not exist"
	}
	return out
}

// checkText returns the error of wrong content, without the path.
func checkText(data []byte, o Options) *Error {
	switch {
	case o.Binary:
	case bytes.IndexByte(data, 0) >= 0:
		return &Error{What: fmt.Sprintf("is no text: line %d has a NUL byte", lineOf(data, bytes.IndexByte(data, 0))), Fix: "write it as UTF-8 text"}
	case !utf8.Valid(data):
		return &Error{What: fmt.Sprintf("is no UTF-8: line %d has another encoding", lineOf(data, invalid(data))), Fix: "convert it to UTF-8"}
	}
	if !o.JSON {
		return nil
	}
	if at := tooDeep(data); at >= 0 {
		return &Error{What: fmt.Sprintf("nests deeper than %d levels in line %d", MaxDepth, lineOf(data, at)), Fix: "make it flatter"}
	}
	return nil
}

func lineOf(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }

// invalid returns the position of the first byte that is not UTF-8.
func invalid(data []byte) int {
	for at := 0; at < len(data); {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return 0
}

// tooDeep returns the position where JSON nests deeper than allowed; -1 if it does not. It
// leaves other errors to the parser.
func tooDeep(data []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}
