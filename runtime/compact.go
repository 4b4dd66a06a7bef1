package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/estimate"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Defaults of CompactOptions.
const (
	defaultKeep    = 2
	defaultSummary = 16_000
	defaultRequest = 400_000
)

// CompactOptions configure a compaction; nil is all zero values.
type CompactOptions = hook.CompactOptions

// Compacted is the result of a compaction.
type Compacted struct {
	// Summary is the text that the model or a hook wrote.
	Summary string
	// Archived is how many messages the summary replaces, an earlier summary included,
	// and Kept how many follow it.
	Archived, Kept int
	// Usage and Cost are those of the requests for the summary, also if Compact failed.
	Usage message.Usage
	Cost  hook.Cost
}

// Compact replaces the older turns of the history by a summary and moves them to the
// archive. The runtime never compacts by itself. Compact must not be called while an event
// is delivered.
//
// Compact asks the model for the summary while turns may run. It uses the summary only if
// the history is still the same and no turn runs: otherwise the error is ErrBusy or
// store.ErrConflict. After an error nothing has changed, and the caller may try again. A
// turn is kept or archived whole, so a call keeps its result. An earlier summary becomes
// part of the new one.
//
// BeforeCompaction runs first. It may skip the compaction, which is ErrSkipped with the
// reason, give hints for the summary, or supply the summary, so that no model is asked.
// AfterCompaction runs only after the summary was stored.
//
// Each request passes RewriteRequest, BeforeModel, WrapModel, OnModelError, RewriteReply
// and AfterModel, because these hooks guard what leaves the program. The hooks see a step
// of a turn whose input has the label message.LabelCompaction; no event announces that turn. Their
// answers may be to continue, to respond instead of the model, and to retry after a
// failure. Any other answer is an error.
//
// Other errors are ErrNothingToCompact, ErrSummary if the model fails or its text cannot
// be used, ErrUnsupported if the store cannot compact, and store.ErrFenced if another
// process has taken the conversation over.
func (c *Conversation) Compact(ctx context.Context, o *CompactOptions) (Compacted, error) {
	var opts CompactOptions
	if o != nil {
		opts = *o
	}
	opts = withDefaults(opts)
	ctx, done, err := c.enterCompaction(ctx)
	if err != nil {
		return Compacted{}, err
	}
	defer done()
	made, err := c.compact(ctx, &opts)
	return made, c.compactError(ctx, err)
}

func withDefaults(o CompactOptions) CompactOptions {
	o.Keep = max(0, cmp.Or(o.Keep, defaultKeep))
	o.MaxSummary, o.MaxRequest = cmp.Or(o.MaxSummary, defaultSummary), cmp.Or(o.MaxRequest, defaultRequest)
	return o
}

func (c *Conversation) compactError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		err = context.Cause(ctx)
	}
	return fmt.Errorf("compact conversation %s: %w", c.ID(), err)
}

// Archive returns all messages that compactions have moved out of the history, the oldest
// first. The error is ErrUnsupported if the store has no archive, or that of the store.
func (c *Conversation) Archive(ctx context.Context) ([]message.Message, error) {
	s, ok := c.store().(store.Compacter)
	if !ok {
		return nil, fmt.Errorf("%w: an archive", ErrUnsupported)
	}
	return s.Archive(ctx, c.ID())
}

// enterCompaction begins a compaction, one at a time. Turns may run meanwhile. The context
// ends when the turns of the agent are cancelled. The caller calls the function at the end.
func (c *Conversation) enterCompaction(ctx context.Context) (context.Context, func(), error) {
	s, err := c.agent.enter()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	busy := c.cancelCompaction != nil
	if !busy {
		c.cancelCompaction, c.compacting = cancel, s
	}
	c.mu.Unlock()
	if busy {
		cancel(nil)
		c.agent.leave(s)
		return nil, nil, fmt.Errorf("%w: %s is being compacted", ErrBusy, c.ID())
	}
	if cause := c.agent.cancelCause(); cause != nil {
		cancel(cause)
	}
	return ctx, func() {
		c.mu.Lock()
		c.cancelCompaction = nil
		c.mu.Unlock()
		cancel(nil)
		c.agent.leave(s)
	}, nil
}

// compactingWith returns the setup of the running compaction.
func (c *Conversation) compactingWith() *loop.Setup {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.compacting
}

// stopCompaction cancels the compaction, if one runs.
func (c *Conversation) stopCompaction(cause error) {
	c.mu.Lock()
	cancel := c.cancelCompaction
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// compactable is a store whose conversations can be compacted: its dumps say where turns
// end.
type compactable interface {
	store.Compacter
	store.Porter
}

func (c *Conversation) compact(ctx context.Context, o *CompactOptions) (Compacted, error) {
	s, ok := c.store().(compactable)
	if !ok {
		return Compacted{}, fmt.Errorf("%w: compaction", ErrUnsupported)
	}
	p, err := c.past(ctx, s, o)
	if err != nil {
		return Compacted{}, err
	}
	made, err := c.summarize(ctx, p, o)
	if err == nil {
		err = c.replacePast(ctx, s, p, made)
	}
	if err != nil {
		return Compacted{Usage: made.Usage, Cost: made.Cost}, err
	}
	return made, nil
}

// summarize asks the hooks and then the model for the summary of the past. With an error it
// returns what the requests have cost.
func (c *Conversation) summarize(ctx context.Context, p past, o *CompactOptions) (Compacted, error) {
	d, err := c.beforeCompaction(ctx, p)
	if err != nil {
		return Compacted{}, err
	}
	made := Compacted{Archived: p.archived, Kept: len(p.messages) - p.cut}
	if d.Verdict().Kind == hook.AnswerSupply {
		made.Summary, err = usable(o, d.Summary())
	} else {
		err = c.sumUp(ctx, &made, p, o, d.Hints())
	}
	return made, err
}

// beforeCompaction calls the hooks at BeforeCompaction. The error is ErrSkipped.
func (c *Conversation) beforeCompaction(ctx context.Context, p past) (hook.CompactionDecision, error) {
	hooks := p.setup.Hooks
	if !hooks.Has(point.BeforeCompaction) {
		return hook.CompactionDecision{}, nil
	}
	all, model := messagesOf(p.messages), &p.setup.Config.Model
	d, _ := hooks.BeforeCompaction(ctx, c.thread.Place, hook.Compaction{
		Messages: message.MessagesOf(all[:p.cut]...), Auto: p.auto,
		Budget: hook.TokenBudget{Limit: int64(model.ContextWindow), Used: tokensOf(all), Reserved: int64(model.MaxTokens)},
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

// afterCompaction calls the hooks at AfterCompaction.
func (c *Conversation) afterCompaction(ctx context.Context, p past, made Compacted) {
	hooks := p.setup.Hooks
	if !hooks.Has(point.AfterCompaction) {
		return
	}
	hooks.AfterCompaction(ctx, c.thread.Place, made.hooks(p))
}

// hooks returns what hooks are told of the compaction.
func (made *Compacted) hooks(p past) hook.Compacted {
	all := messagesOf(p.messages)
	return hook.Compacted{
		Removed: made.Archived, Summary: made.Summary,
		Before: tokensOf(all), After: tokensOf(append(all[p.cut:len(all):len(all)], summaryMessage(made.Summary, p))),
	}
}

func messagesOf(kept []store.Kept) []message.Message {
	out := make([]message.Message, len(kept))
	for i, k := range kept {
		out[i] = k.Message
	}
	return out
}

// tokensOf estimates the tokens of the messages.
func tokensOf(messages []message.Message) (n int64) {
	for _, m := range messages {
		n += estimate.Tokens(sizeOf(m))
	}
	return n
}

// summaryMessage returns the message of a summary in the history. Its label is the weakest of what it replaces.
func summaryMessage(summary string, p past) message.Message {
	m := message.UserText(summaryHead + summary)
	m.Label, m.Trust = message.LabelSummary, message.TrustTrusted
	for _, k := range p.messages[:p.cut] {
		m.Trust = message.Weakest(m.Trust, k.Message.Origin())
	}
	return m
}

// past is the history of a conversation when it was read.
type past struct {
	// setup is that of the compaction, or of the turn in which it is.
	setup    *loop.Setup
	record   store.Record
	messages []store.Kept
	// cut is the number of messages to archive, and archived that number in the store,
	// which counts damaged messages too.
	cut, archived int
	// auto: a hook has asked for the compaction within a turn.
	auto bool
}

// past reads the conversation and decides how much of it to archive.
func (c *Conversation) past(ctx context.Context, s store.Porter, o *CompactOptions) (past, error) {
	rec, err := c.thread.Lease.Record(ctx)
	if err != nil {
		return past{}, err
	}
	if rec.Journaled || c.thread.Current() != nil {
		return past{}, c.unfinished()
	}
	return c.pastOf(ctx, s, rec, math.MaxInt, o)
}

// pastOf is the past of the first messages, at most limit.
func (c *Conversation) pastOf(ctx context.Context, s store.Porter, rec store.Record, limit int, o *CompactOptions) (past, error) {
	d, err := s.Dump(ctx, c.ID())
	if err != nil && !errors.Is(err, store.ErrDamaged) {
		return past{}, err
	}
	p := past{setup: c.compactingWith(), record: rec, messages: d.Messages, cut: cutOf(o, d.Messages[:min(limit, len(d.Messages))])}
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

// unfinished returns the error for a conversation whose last turn has not ended.
func (c *Conversation) unfinished() error {
	return fmt.Errorf("%w: %s; to end an interrupted turn, resume it or send a message", ErrBusy, c.ID())
}

// damaged returns the positions of the damaged parts that the error lists, in order.
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

// cutOf returns the number of messages before the kept turns.
func cutOf(o *CompactOptions, messages []store.Kept) int {
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

// sizeOf returns the bytes of the message's texts, arguments and results.
func sizeOf(m message.Message) (n int) {
	for _, b := range m.Content.All() {
		n += len(b.Text) + len(b.JSON)
	}
	return n + len(m.Result.Text())
}

// replacePast stores the summary, if the history has not changed and no turn runs.
func (c *Conversation) replacePast(ctx context.Context, s store.Compacter, p past, made Compacted) error {
	ctx, leave, err := c.enterBriefly(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return c.replaceInside(ctx, s, p, made)
}

// replaceInside is replacePast for a caller that occupies the conversation and has its lease.
func (c *Conversation) replaceInside(ctx context.Context, s store.Compacter, p past, made Compacted) error {
	waits := ctx
	ctx = context.WithoutCancel(ctx)
	defer func() { _ = c.thread.Lease.Release(ctx) }() // if that fails, the next turn notices it
	if made.Usage != (message.Usage{}) && !p.auto {    // the turn has told its own
		c.host.emit(ctx, hook.Event{Kind: event.Usage}.WithUsage(made.Usage, made.Cost, ""))
	}
	switch {
	case c.thread.Lease.Interrupted():
		return c.unfinished()
	case c.thread.Lease.Version() != p.record.Version:
		return fmt.Errorf("%w: the summary is of version %d, the conversation has version %d; compact again", store.ErrConflict, p.record.Version, c.thread.Lease.Version())
	}
	err := c.thread.Lease.Change(waits, hook.Event{Kind: event.Compacted, Text: made.Summary}, func(at store.At) (int64, error) {
		return s.Compact(ctx, c.ID(), at, p.archived, summaryMessage(made.Summary, p))
	})
	if err != nil {
		return err
	}
	c.thread.EndSession(ctx, hook.SessionCompact)
	c.afterCompaction(ctx, p, made)
	return nil
}
