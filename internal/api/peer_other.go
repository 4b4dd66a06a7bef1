//go:build !linux

package api

import "net"

// peerUser does not know: the modes of the socket and its directory decide.
func peerUser(net.Conn) (uid int, known bool) { return 0, false }

func allowedUser(int) bool { return true }
