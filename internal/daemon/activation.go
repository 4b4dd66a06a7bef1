package daemon

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/grapnel-go/grapnel/internal/socket"
)

// firstInherited is the file descriptor of the first socket that systemd hands over; see sd_listen_fds(3).
const firstInherited = 3

// listenLocal listens on the unix socket, or takes it over from the service manager that has made it.
func listenLocal(ctx context.Context, path string) (net.Listener, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return socket.Listen(ctx, path)
	}
	if n := os.Getenv("LISTEN_FDS"); n != "1" {
		return nil, fmt.Errorf("the service manager hands over %.20q sockets; a daemon takes one: write one ListenStream in grapnel.socket", n)
	}
	f := os.NewFile(firstInherited, "LISTEN_FDS")
	ln, err := net.FileListener(f)
	_ = f.Close() // the listener has a copy that no command inherits
	if err != nil {
		return nil, fmt.Errorf("take over the socket of the service manager: %w", err)
	}
	return socket.Take(path, ln)
}
