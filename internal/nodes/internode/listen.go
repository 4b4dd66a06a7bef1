package internode

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// Listen listens for other nodes on an address such as 10.0.0.5:7780.
func Listen(ctx context.Context, address string, keys Keys) (net.Listener, error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--node-listen %s: %w", address, err)
	}
	return tls.NewListener(ln, keys.Server()), nil
}
