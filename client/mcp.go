package client

import (
	"context"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Servers returns the MCP servers of the daemon, each with its state and the end of its log.
func (c *Client) Servers(ctx context.Context) ([]wire.Server, error) {
	out, err := call[wire.Servers](ctx, c, http.MethodGet, "/v1/servers", nil)
	return out.Servers, err
}
