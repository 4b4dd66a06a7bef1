package client

import (
	"context"
	"net/http"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Delete deletes a conversation, what a sender has, or a project, from all places where the daemon
// keeps something of it. CodeBusy while a turn runs.
func (c *Client) Delete(ctx context.Context, d wire.Deletion) (wire.Deleted, error) {
	return call[wire.Deleted](ctx, c, http.MethodPost, "/v1/deletions", d)
}
