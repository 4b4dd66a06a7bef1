//go:build !linux

package instructions

import (
	"io/fs"
	"time"
)

// changedAt returns the time of the content: the other one is not known here.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
