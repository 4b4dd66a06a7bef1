package runtime

import (
	"context"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
)

// A hook may have the conversation compacted while a turn runs. The requests of that turn begin
// with the summary at once; the store gets it when the turn has ended, so that a turn's journal
// never has to follow messages that move.

// Compact implements hook.Host.
func (h *host) Compact(ctx context.Context, why string, o hook.CompactOptions) (hook.Compacted, error) {
	t := h.inTurn(ctx)
	if t == nil {
		return hook.Compacted{}, hook.ErrNoTurn
	}
	defer t.InHost()()
	ctx, done, err := h.conv.enterCompaction(ctx)
	if err != nil {
		return hook.Compacted{}, err
	}
	defer done()
	made, err := h.conv.compactWithin(ctx, t, why, withDefaults(o))
	return made, h.conv.compactError(ctx, err)
}

func (c *Conversation) compactWithin(ctx context.Context, t *loop.Turn, why string, o CompactOptions) (hook.Compacted, error) {
	s, ok := c.store().(compactable)
	if !ok || c.parent != "" { // a child has one turn
		return hook.Compacted{}, ErrNothingToCompact
	}
	rec, err := c.thread.Lease.Record(ctx)
	if err != nil {
		return hook.Compacted{}, err
	}
	p, err := c.pastOf(ctx, s, rec, t.FirstMessage(), &o)
	if err != nil {
		return hook.Compacted{}, err
	}
	p.auto, p.setup = true, c.thread.Setup()
	c.host.emit(ctx, hook.Event{Kind: event.CompactionAuto, Text: why})
	made, err := c.summarize(ctx, p, &o)
	t.Charge(made.Usage, made.Cost)
	if err != nil {
		return hook.Compacted{}, err
	}
	t.Summarize(loop.Summary{
		Cut: p.cut, Message: summaryMessage(made.Summary, p),
		Store: func(ctx context.Context, version int64) error {
			p.record.Version = version
			return c.replaceInside(ctx, s, p, made)
		},
	})
	return made.hooks(p), nil
}

// summaryTime bounds how long the end of a turn waits until the summary is stored.
const summaryTime = 30 * time.Second

// storeSummary stores the summary with which the turn has gone on, if there is one. If that
// fails, the history stays as it is, and a later turn is compacted again.
func (c *Conversation) storeSummary(ctx context.Context) {
	write, version := c.thread.TakeSummary()
	if write == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), summaryTime)
	defer cancel()
	err := c.open(ctx, false)
	if err == nil {
		err = write(ctx, version)
	}
	if err != nil {
		c.host.emit(ctx, hook.Event{Kind: event.Diagnostic, Text: "the summary was not stored: " + loop.PublicText(c.compactError(ctx, err))})
	}
}
