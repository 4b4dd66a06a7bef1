package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// LongestLease is the most that Options.Lease may be. A lease that ends later was not
// taken by a clock that is right, and keeps nobody out.
const LongestLease = durable.LongestLease

// open gets the lease of the conversation and reads what has changed.
func (c *Conversation) open(ctx context.Context, wait bool) error {
	err := c.thread.Lease.Open(ctx, wait)
	if errors.Is(err, durable.ErrMoved) {
		c.agent.drop(c)
		return fmt.Errorf("%w here any more: another project has adopted it", store.ErrUnknown)
	}
	return busy(err)
}

// busy says ErrBusy of a lease that another process has.
func busy(err error) error {
	if err == nil {
		return nil
	}
	var held *store.LeasedError
	if errors.As(err, &held) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// leaseOwner is the conversation as its lease sees it.
type leaseOwner struct{ c *Conversation }

// Tell implements durable.Owner.
func (o leaseOwner) Tell(ctx context.Context, ev hook.Event) { o.c.host.emit(ctx, ev) }

// Loaded implements durable.Owner.
func (o leaseOwner) Loaded(history message.Messages) { o.c.thread.Loaded(history) }

// LeaseLost implements durable.Owner: nothing that the turn does can be stored any more.
func (o leaseOwner) LeaseLost() { o.c.stop(ErrLeaseLost) }
