package peer

import (
	"net"
	"syscall"
)

// User returns the user who connected to a unix socket, or who listens on it; -1 if the
// system does not say.
func User(conn net.Conn) (uid int, known bool) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return -1, true
	}
	uid = -1
	err = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	if err != nil {
		uid = -1
	}
	return uid, true
}
