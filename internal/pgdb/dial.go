package pgdb

import (
	"context"
	"net"
	"syscall"
	"time"
)

// silence is how long a connection may be without any sign of the other machine. Then it counts as
// cut, and calls that wait for an answer on it fail.
const silence = 20 * time.Second

// dial connects so that a cut is noticed: of a connection that waits for an answer by probes, of one
// that has sent something by its acknowledgement.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence / 2, Interval: silence / 8, Count: 4}}
	if network != "unix" {
		d.Control = func(_, _ string, c syscall.RawConn) error {
			var err error
			if cannot := c.Control(func(fd uintptr) { err = limitSilence(fd) }); cannot != nil {
				return cannot
			}
			return err
		}
	}
	return d.DialContext(ctx, network, address)
}
