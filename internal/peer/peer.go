// Package peer identifies the user at the other end of a unix socket, for the daemon and
// its clients. Only Linux is supported; elsewhere the modes of the socket and its directory
// decide.
package peer

import "os"

// Allowed reports whether the user may use this process: its own user, and root, who can
// act as that user anyway.
func Allowed(uid int) bool { return uid == 0 || uid == os.Geteuid() }
