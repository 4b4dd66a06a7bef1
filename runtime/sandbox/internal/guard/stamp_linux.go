package guard

import (
	"syscall"
	"time"
)

func changeTime(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// fresh reports whether the time is so near that another change could have the same: a clock of files may tick every 10 ms.
func (s stamp) fresh() bool { return time.Since(time.Unix(0, s.changed)) < 50*time.Millisecond }
