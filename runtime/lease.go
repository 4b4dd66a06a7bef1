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

// LongestLease is the maximum of Options.Lease. A lease that ends later comes from a wrong
// clock, and the runtime ignores it.
const LongestLease = durable.LongestLease

// open takes the lease of the conversation and reads changes from the store. With wait it
// waits until another process gives the lease back.
func (c *Conversation) open(ctx context.Context, wait bool) error {
	err := c.thread.Lease.Open(ctx, wait)
	if errors.Is(err, durable.ErrMoved) {
		c.agent.drop(c)
		return fmt.Errorf("%w here any more: it was deleted, or another project has adopted it", store.ErrUnknown)
	}
	return busy(err)
}

// busy wraps the error of a lease that another process holds in ErrBusy.
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

// CheckLeases asks the store whether the conversations of the running turns are still this
// process's. A turn whose conversation was taken over is cancelled with ErrLeaseLost, and so are
// its tools.
func (r *Runtime) CheckLeases(ctx context.Context) { r.home.leases.Renew(ctx) }

// LoseLeases cancels all running turns with ErrLeaseLost, because others must have taken them over.
// What they have stored is there for who goes on.
func (r *Runtime) LoseLeases() { r.home.leases.Lose() }

// leaseOwner is the conversation's durable.Owner.
type leaseOwner struct{ c *Conversation }

// Tell implements durable.Owner.
func (o leaseOwner) Tell(ctx context.Context, ev hook.Event) { o.c.host.emit(ctx, ev) }

// Loaded implements durable.Owner.
func (o leaseOwner) Loaded(history message.Messages) { o.c.thread.Loaded(history) }

// LeaseLost implements durable.Owner. It cancels the turn, which can store nothing any more.
func (o leaseOwner) LeaseLost() { o.c.stop(ErrLeaseLost) }
