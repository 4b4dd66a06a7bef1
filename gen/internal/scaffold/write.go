package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/load"
)

// outputFile is one file to write.
type outputFile struct {
	name string // absolute
	text []byte
	what FileKind
	// old is the present text of the file; nil if the file must not exist.
	old []byte
}

// outputFiles returns all files in the order of writing: imported packages first, the composite's source last.
func (b *builder) outputFiles() ([]outputFile, error) {
	var out []outputFile
	for _, f := range b.files {
		out = append(out, outputFile{name: filepath.Join(b.dir, filepath.FromSlash(f.Name)), text: f.Text, what: kindOf(f.Name)})
	}
	if text := b.output[b.path]; text != nil {
		out = append(out, outputFile{name: filepath.Join(b.dir, load.Output), text: text, what: Generated})
	}
	if b.into == nil {
		return out, nil
	}
	p := outputFile{name: filepath.Join(b.into.dir, load.Output), text: b.output[b.into.path], what: Generated}
	old, err := os.ReadFile(p.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	p.old = old
	return append(out, p, outputFile{name: b.into.file, text: b.into.text, what: Changed, old: b.into.old}), nil
}

func (b *builder) write(ctx context.Context, problems []diag.Problem) (Result, error) {
	result := b.result()
	result.Problems = problems
	all, err := b.outputFiles()
	if err != nil {
		return Result{}, err
	}
	for _, p := range all {
		result.Written = append(result.Written, Written{b.relative(p.name), p.what})
	}
	if b.into != nil {
		result.Composite, result.Field = b.into.insertion.Struct, b.into.insertion.Field
	}
	if b.o.Check {
		return result, nil
	}
	root, err := os.OpenRoot(b.module.Dir)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	w := &writer{root: root}
	for _, p := range all {
		rel, err := filepath.Rel(b.module.Dir, p.name)
		if err == nil {
			err = w.put(rel, p)
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return Result{}, errors.Join(fmt.Errorf("nothing was written: %w", err), w.undo())
		}
	}
	return result, nil
}

// writer writes files below the directory of the module, follows no symbolic link out of it, and can undo its changes.
type writer struct {
	root *os.Root
	back []func() error
}

func (w *writer) put(name string, p outputFile) error {
	if p.old != nil {
		return w.replace(name, p)
	}
	if err := w.mkdir(filepath.Dir(name)); err != nil {
		return err
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w.back = append(w.back, func() error { return w.root.Remove(name) })
	_, err = f.Write(p.text)
	return errors.Join(err, f.Close())
}

func (w *writer) mkdir(name string) error {
	info, err := w.root.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is no directory", filepath.ToSlash(name))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := w.mkdir(filepath.Dir(name)); err != nil {
		return err
	}
	if err := w.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	w.back = append(w.back, func() error { return w.root.Remove(name) })
	return nil
}

// replace replaces a file atomically, if it still has the text that was read.
func (w *writer) replace(name string, p outputFile) error {
	now, err := w.root.ReadFile(name)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, p.old) {
		return fmt.Errorf("%s was changed by another program meanwhile; run the command again", filepath.ToSlash(name))
	}
	if bytes.Equal(p.old, p.text) {
		return nil
	}
	if err := w.rename(name, p.text); err != nil {
		return err
	}
	w.back = append(w.back, func() error { return w.rename(name, p.old) })
	return nil
}

func (w *writer) rename(name string, text []byte) error {
	info, err := w.root.Stat(name)
	if err != nil {
		return err
	}
	next := filepath.Join(filepath.Dir(name), ".hookgen-"+filepath.Base(name))
	f, err := w.root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = w.root.Rename(next, name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(next))
	}
	return nil
}

// undo reverts all changes, the last one first.
func (w *writer) undo() error {
	var all error
	for i := len(w.back) - 1; i >= 0; i-- {
		all = errors.Join(all, w.back[i]())
	}
	return all
}
