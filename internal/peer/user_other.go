//go:build !linux

package peer

import "net"

// User is not supported here: known is false.
func User(net.Conn) (uid int, known bool) { return 0, false }
