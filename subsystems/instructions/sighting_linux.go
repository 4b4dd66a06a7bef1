package instructions

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt returns when the content or the state of the file changed. No program can set
// it, as touch and git can set the time of the content.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
