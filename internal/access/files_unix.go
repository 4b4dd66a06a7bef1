//go:build unix

package access

import "syscall"

// files returns how many files this process may open.
func files() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 256
	}
	return int(min(uint64(limit.Cur), 1<<20)) //nolint:unconvert // the types differ between systems
}
