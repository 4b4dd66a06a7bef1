// Package peer knows the user at the other end of a unix socket, for the daemon and its
// clients. Linux tells; elsewhere the modes of the socket and its directory decide.
package peer

import "os"

// Allowed reports whether the user may speak to this process: its own, and root, who can
// do everything as that user anyway.
func Allowed(uid int) bool { return uid == 0 || uid == os.Geteuid() }
