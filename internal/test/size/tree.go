package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// counts reports whether measure counts the file, or needs it to find a nested module. The routes that bench makes are not committed.
func counts(name string) bool {
	if strings.HasPrefix(name, "bench/routes/tools") {
		return path.Base(name) == "doc.go"
	}
	switch path.Ext(name) {
	case ".go", ".js", ".mjs":
		return true
	}
	return path.Base(name) == "go.mod" || inTestData(name)
}

// onDisk reads the files below root, without git, but not what npm has installed.
func onDisk(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(root, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		name, err := filepath.Rel(root, full)
		if name = filepath.ToSlash(name); err != nil || !d.Type().IsRegular() || !counts(name) {
			return err
		}
		files[name], err = os.ReadFile(full)
		return err
	})
	return files, err
}

// atCommit reads the files as they were at a commit.
func atCommit(root, commit string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "size")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("sh", "-c", `git archive --output "$1/tar" "$0" && tar -x -f "$1/tar" -C "$1"`, commit, dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("read %s: %w: %s", commit, err, out)
	}
	return onDisk(dir)
}
