package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Memories returns what agents have remembered and what waits for review, as far as it matches: what waits first.
func (c *Client) Memories(ctx context.Context, f wire.MemoryFilter) (wire.Memories, error) {
	q := url.Values{}
	for name, value := range map[string]string{"agent": f.Agent, "q": f.Text} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return call[wire.Memories](ctx, c, http.MethodGet, "/v1/memories?"+q.Encode(), nil)
}

// ChangeMemory writes a memory anew, or approves one that waits, and returns it as it is then. CodeNotFound if none has the id,
// because it was forgotten or has changed.
func (c *Client) ChangeMemory(ctx context.Context, id string, change wire.MemoryChange) (wire.Memory, error) {
	return call[wire.Memory](ctx, c, http.MethodPut, "/v1/memories/"+url.PathEscape(id), change)
}

// ForgetMemory removes a memory for good, or rejects one that waits. CodeNotFound if none has the id.
func (c *Client) ForgetMemory(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, "/v1/memories/"+url.PathEscape(id), nil)
	return err
}
