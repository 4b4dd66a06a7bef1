package supervisor

import "golang.org/x/sys/unix"

// HideMemory prevents other processes of the same user from reading this one, which may
// have keys: its environment and memory, and its descriptors through /proc. Root can still
// read it. It also disables core dumps. The supervisor stays readable: it has no secrets,
// and an unreadable process cannot start one in a user namespace.
func HideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
