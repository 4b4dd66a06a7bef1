package ostools

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// WriteInput are the arguments of write.
type WriteInput struct {
	// Path of the file, relative to the root or absolute and inside it.
	FilePath string `json:"file_path" hook:"minlen=1"`
	// The whole content of the file.
	Content string `json:"content"`
}

// Write makes a file, or replaces the whole content of one that exists.
// Directories that are missing are made. Whoever reads the file meanwhile sees
// the old or the new content, never a part. To change a part of a file use edit.
//
//hook:tool trust=workspace destructive idempotent
func (o *OS) Write(_ context.Context, env *hook.Env, in WriteInput) (message.ToolResult, error) {
	if len(in.Content) > maxFile {
		return message.ToolResult{}, failf(message.FailArguments, "the content has %d bytes; the limit is %d", len(in.Content), maxFile)
	}
	p, err := o.locate(env.Grant, in.FilePath, true)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer p.done()
	rel, unlock, err := o.reserve(p)
	if err != nil {
		return message.ToolResult{}, err
	}
	defer unlock()
	before, err := replaceable(p, rel)
	if err != nil {
		return message.ToolResult{}, err
	}
	if err := replace(p, rel, []byte(in.Content), before); err != nil {
		return message.ToolResult{}, pathError(p.name(rel), err)
	}
	if before == nil {
		return workspace(fmt.Sprintf("Made %s: %d bytes.", p.name(rel), len(in.Content))), nil
	}
	return workspace(fmt.Sprintf("Replaced %s: %d bytes, before %d.", p.name(rel), len(in.Content), before.Size())), nil
}

// reserve follows the links of a place and locks the file.
func (o *OS) reserve(p place) (rel string, unlock func(), err error) {
	rel, err = p.resolve()
	if err != nil {
		return "", nil, pathError(p.name(p.rel), err)
	}
	// In one case, because .ENV may be the file .env.
	return rel, o.locks.lock(strings.ToLower(filepath.Join(p.base, rel))), nil
}

// replaceable returns the file to replace, or nil if there is none yet.
func replaceable(p place, rel string) (fs.FileInfo, error) {
	name := p.name(rel)
	if err := stored(p, rel); err != nil {
		return nil, err
	}
	info, err := p.root.Lstat(rel)
	switch {
	case os.IsNotExist(err):
		return nil, nil
	case err != nil:
		return nil, pathError(name, err)
	case info.IsDir():
		return nil, failf(message.FailOperation, "%s is a directory", name)
	case !info.Mode().IsRegular():
		return nil, failf(message.FailOperation, "%s is no regular file (%s)", name, kindOf(info.Mode()))
	case info.Mode()&0o200 == 0:
		return nil, failf(message.FailOperation, "%s is write-protected", name)
	}
	return info, nil
}

// replace replaces a file atomically, by a rename of a new file. Other names of a hard
// link keep the old content. The new file has the permissions of before. The caller holds
// the lock.
func replace(p place, rel string, data []byte, before fs.FileInfo) error {
	if err := p.root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(rel), ".grapnel-"+rand.Text()+".tmp")
	f, err := p.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && before != nil {
		err = f.Chmod(before.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = p.root.Rename(temp, rel)
	}
	if err != nil {
		_ = p.root.Remove(temp)
	}
	return err
}
