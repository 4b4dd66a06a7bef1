package pgdb

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// heartbeat is how long a connection that listens may be silent before it is tried.
const heartbeat = 30 * time.Second

// Notify sends a payload of less than 8,000 bytes to all who listen on the channel. It does not
// wait for the disk: notifications may be lost.
func (d *DB) Notify(ctx context.Context, channel, payload string) error {
	conn, err := d.acquire(ctx, d.urgent)
	if err != nil {
		return discreet(err)
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`, channel, payload)
	return discreet(err)
}

// Listen calls heard with each payload of the channel, until ctx ends; its error is the cause of
// ctx. It has a connection of its own. After it has lost that, it connects again; what was sent
// meanwhile is not heard. heard must not block.
func (d *DB) Listen(ctx context.Context, channel string, heard func(payload string)) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		began := time.Now()
		err := d.listen(ctx, channel, heard)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case refused(err):
			return discreet(err)
		case time.Since(began) > heartbeat:
			wait = 50 * time.Millisecond
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

func (d *DB) listen(ctx context.Context, channel string, heard func(payload string)) error {
	conn, err := pgx.ConnectConfig(ctx, d.direct.Copy())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is lost with it
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	for {
		n, err := wait(ctx, conn)
		switch {
		case err == nil:
			heard(n.Payload)
		case ctx.Err() != nil || !pgconn.Timeout(err):
			return err
		default:
			if err := ping(ctx, conn); err != nil {
				return err
			}
		}
	}
}

func wait(ctx context.Context, conn *pgx.Conn) (*pgconn.Notification, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return conn.WaitForNotification(ctx)
}

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return conn.Ping(ctx)
}
