//go:build !unix

package privatedir

import "io/fs"

func owned(fs.FileInfo) bool { return true }

func loose(fs.FileInfo) fs.FileMode { return 0 }

func replaceable(fs.FileInfo) bool { return false }
