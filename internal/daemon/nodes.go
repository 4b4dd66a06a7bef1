package daemon

import (
	"context"
	"net"
	"strings"

	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/api"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/socket"
)

// Between is how the daemons over one database reach each other. The zero value is for those of one machine and one
// user, by unix sockets.
type Between struct {
	// Listen is an address such as 10.0.0.5:7780; "" is a unix socket.
	Listen string
	// URL is where the others reach it; "" is https:// with that address.
	URL string
	// Cert, Key and CA are files in PEM: the certificate of this node, its key, and the authority of all nodes.
	Cert, Key, CA string
}

// between is the way from and to the other daemons.
type between struct {
	listener net.Listener
	client   *internode.Client
	url      string
	// tokens are those of the database, of all tenants.
	tokens *access.Tokens
}

// listenToNodes opens the way for other daemons, if the daemon has a database that they may share. The caller closes it.
func listenToNodes(ctx context.Context, o Options) (*between, error) {
	if o.App.Paths.Database == "" {
		return nil, nil
	}
	if o.Between.Listen == "" {
		path := strings.TrimSuffix(o.Socket, ".sock") + ".node"
		ln, err := socket.Listen(ctx, path)
		if err != nil {
			return nil, err
		}
		return &between{ln, internode.New(nil), "unix:" + path, o.App.Stores.Tokens()}, nil
	}
	files := []keyFile{{"--node-cert", o.Between.Cert}, {"--node-key", o.Between.Key}, {"--node-ca", o.Between.CA}}
	if err := outside(o.App.Paths.Root, files...); err != nil {
		return nil, err
	}
	keys, err := access.LoadNodeKeys(o.Between.Cert, o.Between.Key, o.Between.CA, o.App.Note)
	if err != nil {
		return nil, err
	}
	ln, err := keys.Listen(ctx, o.Between.Listen)
	if err != nil {
		return nil, err
	}
	url := o.Between.URL
	if url == "" {
		url = "https://" + ln.Addr().String()
	}
	return &between{ln, internode.New(keys), url, o.App.Stores.Tokens()}, nil
}

// serve makes the server one of the nodes. Call it before api.New.
func (b *between) serve(opened *app.App, o *api.Options) {
	if b == nil {
		return
	}
	members, wakes := opened.Nodes()
	o.Nodes = &api.Nodes{Members: members, Client: b.client, Listener: b.listener, Wakes: wakes, Tokens: b.tokens}
	o.Unfinished = opened.Unfinished
}

// close ends the way. Nil does nothing.
func (b *between) close() error {
	if b == nil {
		return nil
	}
	b.client.Close()
	return b.listener.Close()
}
