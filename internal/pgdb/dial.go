package pgdb

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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

// probing makes the server notice within ten seconds that this machine is cut off, where it would take
// two hours. Until then it keeps the locks of a write of which only a part has arrived, because its other
// bounds do not count within a message. Behind a pooler it is the pooler's connection that this is set for.
const probing = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 5; SET tcp_user_timeout = '10s'`

// probe is called with each new connection.
func probe(ctx context.Context, conn *pgconn.PgConn) error {
	if conn.Conn().RemoteAddr().Network() == "unix" {
		return nil
	}
	_, err := conn.Exec(ctx, probing).ReadAll()
	return err
}
