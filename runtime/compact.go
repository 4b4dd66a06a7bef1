package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Defaults of CompactOptions.
const (
	defaultKeep    = 2
	defaultSummary = 16_000
	defaultRequest = 400_000
)

// LabelSummary is the label of the message that stands for what was compacted, and
// LabelCompaction that of the request for it, by which hooks can tell it from a
// turn's.
const (
	LabelSummary    = "summary"
	LabelCompaction = "compaction"
)

// CompactOptions say what is compacted and how; nil is all zero values.
type CompactOptions struct {
	// Keep is how many of the last turns stay as they are; 0 is 2,
	// negative is none.
	Keep int
	// KeepBytes, if positive, counts instead of Keep: as many of the last turns stay
	// as have together no more bytes of text, arguments and results than that.
	KeepBytes int
	// Focus is what the summary has to pay attention to besides; "" is nothing.
	Focus string
	// Model is asked for the summary; "" is the agent's.
	Model string
	// MaxSummary is how many bytes a summary has at most; 0 is 16,000. A
	// longer one is an error.
	MaxSummary int
	// MaxRequest is how many bytes of the past one request shows; 0 is
	// 400,000. A longer past is summed up part by part, in several requests.
	MaxRequest int
}

// Compacted says what became of a conversation.
type Compacted struct {
	// Summary is what the model wrote, or a hook.
	Summary string
	// Archived is how many messages it stands for now, an earlier summary among
	// them, and Kept how many follow it.
	Archived, Kept int
	// Usage is what the summary has used, also where it could not be taken, and Cost
	// what that costs.
	Usage message.Usage
	Cost  hook.Cost
}

// Compact puts a summary in the place of the older turns, which go to the archive.
// Nothing does so by itself.
//
// The model is asked first, while turns may run. Then the summary is used only if
// the history is still the one that it sums up, and no turn is running: otherwise
// the error is ErrBusy or store.ErrConflict. Whatever the error, nothing has
// changed, and it may be tried again. Turns are kept or archived whole, so no call
// is parted from its result. A summary that is there already becomes part of the
// new one. It is not called from an event.
//
// BeforeCompaction is asked first: it may skip the compaction, which is ErrSkipped
// with the reason, hint at what the summary has to keep, or supply the summary, for
// which no model is asked then. AfterCompaction is told once the summary has taken
// the place of what it sums up, and only then.
//
// Each request passes RewriteRequest, BeforeModel, WrapModel, OnModelError,
// RewriteReply and AfterModel, so that what may not leave the program does not leave
// it here. It is a step of a turn that only they see: its input has the label
// LabelCompaction, and nothing else tells of it. Any answer but to go on, to respond
// in the model's place, or to ask again after a failure, is an error.
//
// Other errors: ErrNothingToCompact, ErrSummary if the model fails or its text cannot be
// used, ErrUnsupported if the store cannot do it, and store.ErrFenced if another
// process has got the conversation meanwhile.
func (c *Conversation) Compact(ctx context.Context, o *CompactOptions) (Compacted, error) {
	var opts CompactOptions
	if o != nil {
		opts = *o
	}
	opts.Keep = max(0, cmp.Or(opts.Keep, defaultKeep))
	opts.MaxSummary, opts.MaxRequest = cmp.Or(opts.MaxSummary, defaultSummary), cmp.Or(opts.MaxRequest, defaultRequest)
	ctx, done, err := c.aside(ctx)
	if err != nil {
		return Compacted{}, err
	}
	defer done()
	made, err := c.compact(ctx, &opts)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = context.Cause(ctx)
		}
		err = fmt.Errorf("compact conversation %s: %w", c.ID(), err)
	}
	return made, err
}

// Archive returns the messages that compaction has ever moved away, oldest first.
// ErrUnsupported if the store has no archive.
func (c *Conversation) Archive(ctx context.Context) ([]message.Message, error) {
	s, ok := c.agent.rt.o.Store.(store.Compacter)
	if !ok {
		return nil, fmt.Errorf("%w: an archive", ErrUnsupported)
	}
	return s.Archive(ctx, c.ID())
}

// aside lets something go on beside turns that ends with the agent, and only once
// at a time. Who may calls the function at the end.
func (c *Conversation) aside(ctx context.Context) (context.Context, func(), error) {
	if err := c.agent.enter(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	busy := c.cancelAside != nil
	if !busy {
		c.cancelAside = cancel
	}
	c.mu.Unlock()
	if busy {
		cancel(nil)
		c.agent.leave()
		return nil, nil, fmt.Errorf("%w: %s is being compacted", ErrBusy, c.ID())
	}
	if cause := c.agent.cancelCause(); cause != nil {
		cancel(cause)
	}
	return ctx, func() {
		c.mu.Lock()
		c.cancelAside = nil
		c.mu.Unlock()
		cancel(nil)
		c.agent.leave()
	}, nil
}

// stopAside ends what goes on beside turns.
func (c *Conversation) stopAside(cause error) {
	c.mu.Lock()
	cancel := c.cancelAside
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// compactable is a store whose conversations can be compacted: where turns end is
// told by a dump.
type compactable interface {
	store.Compacter
	store.Porter
}

func (c *Conversation) compact(ctx context.Context, o *CompactOptions) (Compacted, error) {
	s, ok := c.agent.rt.o.Store.(compactable)
	if !ok {
		return Compacted{}, fmt.Errorf("%w: compaction", ErrUnsupported)
	}
	p, err := c.past(ctx, s, o)
	if err != nil {
		return Compacted{}, err
	}
	d, err := c.beforeCompaction(ctx, p)
	if err != nil {
		return Compacted{}, err
	}
	made := Compacted{Archived: p.archived, Kept: len(p.messages) - p.cut}
	if d.Verdict().Kind == hook.AnswerSupply {
		made.Summary, err = o.usable(d.Summary())
	} else {
		err = c.sumUp(ctx, &made, p, o, d.Hints())
	}
	if err == nil {
		err = c.replacePast(ctx, s, p, made)
	}
	if err != nil {
		return Compacted{Usage: made.Usage, Cost: made.Cost}, err
	}
	c.afterCompaction(context.WithoutCancel(ctx), p, made)
	return made, nil
}

// beforeCompaction asks the hooks about the compaction. The error is ErrSkipped.
func (c *Conversation) beforeCompaction(ctx context.Context, p past) (hook.CompactionDecision, error) {
	hooks := c.agent.core.Hooks
	if !hooks.Has(point.BeforeCompaction) {
		return hook.CompactionDecision{}, nil
	}
	all := messagesOf(p.messages)
	d, _ := hooks.BeforeCompaction(ctx, c.thread.Place, hook.Compaction{
		Messages: message.MessagesOf(all[:p.cut]...),
		Budget:   hook.TokenBudget{Used: tokensOf(all), Reserved: int64(c.agent.core.Config.Model.MaxTokens)},
	})
	loop.EmitFailure(ctx, c.host, d)
	if v := d.Verdict(); v.Kind == hook.AnswerSkip {
		return d, skipped(v)
	}
	return d, nil
}

func skipped(v hook.Verdict) error {
	text := v.Reason
	if v.By != "" && text != "" {
		text = v.By + ": " + text
	}
	if text = cmp.Or(text, v.By); text == "" {
		return ErrSkipped
	}
	return fmt.Errorf("%w: %s", ErrSkipped, text)
}

// afterCompaction tells the hooks what a compaction did.
func (c *Conversation) afterCompaction(ctx context.Context, p past, made Compacted) {
	hooks := c.agent.core.Hooks
	if !hooks.Has(point.AfterCompaction) {
		return
	}
	all := messagesOf(p.messages)
	hooks.AfterCompaction(ctx, c.thread.Place, hook.Compacted{
		Removed: made.Archived, Summary: made.Summary,
		Before: tokensOf(all), After: tokensOf(append(all[p.cut:len(all):len(all)], summaryMessage(made.Summary))),
	})
}

func messagesOf(kept []store.Kept) []message.Message {
	out := make([]message.Message, len(kept))
	for i, k := range kept {
		out[i] = k.Message
	}
	return out
}

// bytesPerToken is the usual guess.
const bytesPerToken = 4

// tokensOf estimates what the messages take.
func tokensOf(messages []message.Message) (n int64) {
	for _, m := range messages {
		n += int64(sizeOf(m)+bytesPerToken-1) / bytesPerToken
	}
	return n
}

// summaryMessage is a summary as the history has it.
func summaryMessage(summary string) message.Message {
	m := message.UserText(summaryHead + summary)
	m.Label = LabelSummary
	return m
}

// past is what a conversation was when it was read.
type past struct {
	record   store.Record
	messages []store.Kept
	// cut is how many messages are to be archived, and archived the same in the
	// store, which counts damaged ones too.
	cut, archived int
}

// past reads the conversation and says what is to be archived.
func (c *Conversation) past(ctx context.Context, s store.Porter, o *CompactOptions) (past, error) {
	rec, err := c.thread.Lease.Record(ctx)
	if err != nil {
		return past{}, err
	}
	if rec.Journaled || c.thread.Current() != nil {
		return past{}, c.unfinished()
	}
	d, err := s.Dump(ctx, c.ID())
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return past{}, err
	}
	p := past{record: rec, messages: d.Messages, cut: o.cut(d.Messages)}
	if p.cut == 0 || p.cut == 1 && d.Messages[0].Summary {
		return past{}, ErrNothingToCompact
	}
	p.archived = p.cut
	for _, at := range damaged(err, "message") {
		if at < int64(p.archived) {
			p.archived++
		}
	}
	return p, nil
}

// unfinished is why nothing behind a turn can be changed.
func (c *Conversation) unfinished() error {
	return fmt.Errorf("%w: %s; one that was interrupted is ended by resuming it or by sending", ErrBusy, c.ID())
}

// damaged returns the positions of the damaged parts that the error tells of, in
// order.
func damaged(err error, part string) []int64 {
	switch e := err.(type) {
	case *store.DamagedError:
		if e.Part == part {
			return e.At
		}
	case interface{ Unwrap() error }:
		return damaged(e.Unwrap(), part)
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if at := damaged(err, part); at != nil {
				return at
			}
		}
	}
	return nil
}

// cut returns how many messages stand before the turns that are kept.
func (o *CompactOptions) cut(messages []store.Kept) int {
	cut, turns, size := len(messages), 0, 0
	for end := len(messages); end > 0; turns++ {
		begin := end - 1
		for begin > 0 && messages[begin-1].Turn == messages[begin].Turn && !messages[begin-1].Summary {
			begin--
		}
		for _, k := range messages[begin:end] {
			size += sizeOf(k.Message)
		}
		if messages[begin].Summary || o.KeepBytes > 0 && size > o.KeepBytes || o.KeepBytes <= 0 && turns == o.Keep {
			break
		}
		cut, end = begin, begin
	}
	return cut
}

// sizeOf is the bytes of what was said, called and returned.
func sizeOf(m message.Message) (n int) {
	for _, b := range m.Content.All() {
		n += len(b.Text) + len(b.JSON)
	}
	return n + len(m.Result.Text())
}

// replacePast puts the summary in the place of what it sums up, if that is still
// there and no turn is running.
func (c *Conversation) replacePast(ctx context.Context, s store.Compacter, p past, made Compacted) error {
	ctx, leave, err := c.enterBriefly(ctx)
	if err != nil {
		return err
	}
	defer leave()
	waits := ctx
	ctx = context.WithoutCancel(ctx)
	defer func() { _ = c.thread.Lease.Release(ctx) }() // the next turn finds out if that did not work
	if made.Usage != (message.Usage{}) {
		c.host.emit(ctx, hook.Event{Kind: event.Usage}.WithUsage(made.Usage, made.Cost, ""))
	}
	switch {
	case c.thread.Lease.Interrupted():
		return c.unfinished()
	case c.thread.Lease.Version() != p.record.Version:
		return fmt.Errorf("%w: it was at version %d and is at %d", store.ErrConflict, p.record.Version, c.thread.Lease.Version())
	}
	err = c.thread.Lease.Change(waits, hook.Event{Kind: event.Compacted, Text: made.Summary}, func(at store.At) (int64, error) {
		return s.Compact(ctx, c.ID(), at, p.archived, summaryMessage(made.Summary))
	})
	if err == nil {
		c.thread.EndSession(ctx, hook.SessionCompact)
	}
	return err
}
