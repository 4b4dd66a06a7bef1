package dispatch

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/grapnel-go/grapnel/internal/nodes/internode"
	"github.com/grapnel-go/grapnel/internal/sse"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Follow sends the events of a stream on another node to out, until the stream breaks off, the node has died or ctx ends. Each has data
// of its own. The error, which is never nil, says why.
func (d *Dispatcher) Follow(ctx context.Context, to store.Node, from internode.Caller, path, last string, out chan<- sse.Event) error {
	ctx, leave := d.o.Members.While(ctx, to.ID)
	defer leave()
	resp, err := d.o.Client.Do(ctx, to, from, internode.Request{Path: path, Last: last})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("node %s answered with status %d", to.ID, resp.StatusCode)
	}
	parts := sse.NewReader(resp.Body, nil)
	for {
		part, err := parts.Next()
		if err != nil {
			return err
		}
		part.Data = slices.Clone(part.Data)
		select {
		case out <- part:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
