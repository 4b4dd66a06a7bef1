//go:build !unix

package conffile

import "io/fs"

const openFlags = 0

func private(fs.FileInfo, fs.FileMode) bool { return true }

// links returns 1, because the number of names is not known.
func links(fs.FileInfo) uint64 { return 1 }
