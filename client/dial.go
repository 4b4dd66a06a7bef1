package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/grapnel-go/grapnel/internal/peer"
	"github.com/grapnel-go/grapnel/internal/privatedir"
)

// dial returns what connects to the socket, unless another user may have made it: that user could read
// the messages and ask for approvals. The directory of a daemon's socket is open to its
// user only, and the user or root listens. A socket that a person named may be elsewhere if
// the system says who listens.
func (d *door) dial(named bool) func(ctx context.Context, _, _ string) (net.Conn, error) {
	path := d.address
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		open := privatedir.Check(filepath.Dir(path))
		if open != nil && !named {
			return nil, untrusted(open)
		}
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		uid, known := peer.User(conn)
		switch {
		case known && !peer.Allowed(uid):
			err = untrusted(fmt.Errorf("user %d listens on it", uid))
		case !known && open != nil:
			err = untrusted(open)
		}
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
}

func untrusted(why error) error {
	return fmt.Errorf("%w: %w; nothing was sent; name another socket with --socket, or set XDG_RUNTIME_DIR to a directory that only you can write to", ErrUntrusted, why)
}
