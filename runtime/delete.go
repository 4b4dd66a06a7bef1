package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// Delete deletes a conversation of any project with those of its children, also an interrupted
// one: see [store.Eraser]. Its session ends first. Its readers get what is left of the stream, and
// then its end; a later reader gets store.ErrUnknown. The agent need not be registered. What hooks
// keep elsewhere stays: the caller deletes that. It must not be called from within a turn.
//
// The errors are ErrBusy while a turn or a job of the conversation or of a child runs, here or in
// another process, store.ErrUnknown if there is no such conversation, or it is a child's, and
// ErrUnsupported if the store cannot delete. After an error nothing is deleted.
func (r *Runtime) Delete(ctx context.Context, id string) (store.Erased, error) {
	if err := r.checkOpen(); err != nil {
		return store.Erased{}, err
	}
	s, ok := r.o.Store.(store.Eraser)
	if !ok {
		return store.Erased{}, fmt.Errorf("%w: deleting conversations", ErrUnsupported)
	}
	open, err := r.seize(ctx, id)
	if err != nil {
		return store.Erased{}, fmt.Errorf("delete conversation %s: %w", id, err)
	}
	for _, c := range open {
		c.thread.EndSession(ctx, "")
	}
	out, err := r.erase(func(gone []string) (store.Erased, error) { return s.Erase(ctx, id, gone) })
	if err != nil {
		for _, c := range open {
			c.setDeleted(false)
		}
		return store.Erased{}, fmt.Errorf("delete conversation %s: %w", id, err)
	}
	for _, c := range open {
		c.agent.drop(c)
		c.agent.dropChild(c)
	}
	for _, id := range out.Conversations {
		r.requests.Forget(id)
	}
	r.streams.Remove(out.Conversations...)
	return out, nil
}

// DeleteRest deletes what the store has of a project beside its conversations: see
// [store.Eraser.EraseProject]. The errors are those of Delete.
func (r *Runtime) DeleteRest(ctx context.Context, project string) (store.Erased, error) {
	s, ok := r.o.Store.(store.Eraser)
	if !ok {
		return store.Erased{}, fmt.Errorf("%w: deleting projects", ErrUnsupported)
	}
	return r.erase(func(gone []string) (store.Erased, error) { return s.EraseProject(ctx, project, gone) })
}

// erase calls f, and again for each owner in its way that is known to have died.
func (r *Runtime) erase(f func(gone []string) (store.Erased, error)) (store.Erased, error) {
	var gone []string
	for {
		out, err := f(gone)
		var held *store.LeasedError
		if !errors.As(err, &held) || !r.home.leases.Dead(held.Lease) || slices.Contains(gone, held.Lease.Owner) {
			return out, busy(err)
		}
		gone = append(gone, held.Lease.Owner)
	}
}

// seize returns the conversation and those below it, as far as this process has them open, and
// lets no turn begin in them any more. ErrBusy, and no change, if a turn of one runs.
func (r *Runtime) seize(ctx context.Context, id string) (open []*Conversation, err error) {
	defer func() {
		if err != nil {
			for _, c := range open {
				c.setDeleted(false)
			}
			open = nil
		}
	}()
	ids := []string{id}
	for len(ids) > 0 {
		for _, a := range r.all() {
			for _, c := range a.all() {
				if c.ID() != ids[0] || c.home.ephemeral {
					continue
				}
				if !c.setDeleted(true) {
					return open, fmt.Errorf("%w: %s", ErrBusy, c.ID())
				}
				open = append(open, c)
			}
		}
		below, err := r.below(ctx, ids[0])
		if err != nil {
			return open, err
		}
		ids = append(ids[1:], below...)
	}
	return open, nil
}

// below returns the ids of the children.
func (r *Runtime) below(ctx context.Context, id string) (out []string, err error) {
	s, ok := r.o.Store.(store.Child)
	if !ok {
		return nil, nil
	}
	children, err := s.Children(ctx, id)
	for _, c := range children {
		out = append(out, c.ID)
	}
	return out, err
}

// setDeleted says whether turns can begin. It returns false, and changes nothing, while a turn
// runs.
func (c *Conversation) setDeleted(deleted bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return false
	}
	c.deleted = deleted
	return true
}
