package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Schedules returns the schedules of the daemon's project, by name.
func (c *Client) Schedules(ctx context.Context) ([]wire.Schedule, error) {
	out, err := call[wire.Schedules](ctx, c, http.MethodGet, "/v1/schedules", nil)
	return out.Schedules, err
}

// Schedule returns one schedule with its runs. CodeNotFound if there is none of the name.
func (c *Client) Schedule(ctx context.Context, name string) (wire.Schedule, error) {
	return call[wire.Schedule](ctx, c, http.MethodGet, "/v1/schedules/"+url.PathEscape(name), nil)
}

// RemoveSchedule removes a schedule. CodeNotFound if there is none of the name.
func (c *Client) RemoveSchedule(ctx context.Context, name string) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, "/v1/schedules/"+url.PathEscape(name), nil)
	return err
}
