//go:build !unix

package privatedir

import (
	"io/fs"
	"os"
)

func owned(fs.FileInfo) bool { return true }

func loose(fs.FileInfo) fs.FileMode { return 0 }

func follow(path string) (fs.FileInfo, error) { return os.Stat(path) }
