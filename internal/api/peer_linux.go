package api

import (
	"net"
	"os"
	"syscall"
)

// peerUser returns the user at the other end of a unix socket.
func peerUser(conn net.Conn) (uid int, known bool) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, false
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return -1, true
	}
	uid = -1 // who cannot be asked for is nobody
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

// allowedUser: the one whom the daemon runs as, and root, who can do everything
// as that user anyway.
func allowedUser(uid int) bool { return uid == 0 || uid == os.Geteuid() }
