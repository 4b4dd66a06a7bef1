package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/grapnel-go/grapnel/client/wire"
)

// Jobs returns the jobs of the daemon's project that match, the one that was queued last first,
// without payloads.
func (c *Client) Jobs(ctx context.Context, f wire.JobFilter) ([]wire.Job, error) {
	q := url.Values{}
	for name, value := range map[string]string{"kind": f.Kind, "conversation": f.Conversation, "status": f.Status} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Before > 0 {
		q.Set("before", strconv.FormatInt(f.Before, 10))
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	out, err := call[wire.Jobs](ctx, c, http.MethodGet, "/v1/jobs?"+q.Encode(), nil)
	return out.Jobs, err
}

// Job returns one job with its payload. CodeNotFound if the project has none with the id.
func (c *Client) Job(ctx context.Context, id int64) (wire.Job, error) {
	return call[wire.Job](ctx, c, http.MethodGet, "/v1/jobs/"+strconv.FormatInt(id, 10), nil)
}

// ChangeJob cancels, retries or drops a job, and returns it as it is then; one that is dropped as it
// was. CodeIdle if the change is not for its status, CodeNotFound if there is none with the id.
func (c *Client) ChangeJob(ctx context.Context, id int64, change wire.JobChange) (wire.Job, error) {
	return call[wire.Job](ctx, c, http.MethodPost, "/v1/jobs/"+strconv.FormatInt(id, 10), change)
}
