package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// CallModel makes a model request of a hook within the turn; see [hook.Host]. It is safe for
// concurrent use.
func (t *Turn) CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	if t.outOfTokens() != nil {
		return message.ModelReply{}, hook.ErrBudget
	}
	req.Model, req.MaxTokens = cmp.Or(req.Model, t.cfg.Model.Name), cmp.Or(req.MaxTokens, t.cfg.Model.MaxTokens)
	req.Tools, req.Choice = nil, message.ToolChoice{}
	reply, err := t.callModel(ctx, req)
	if err != nil {
		return message.ModelReply{}, fmt.Errorf("call model %q: %w", req.Model, err)
	}
	return reply, nil
}

// callModel may run on any goroutine, so it touches no state of the loop.
func (t *Turn) callModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	defer stop()
	began := t.env.Now()
	reply, err := t.env.collect(ctx, req)
	if reply.Usage != (message.Usage{}) {
		cost := t.spend(req.Model, reply.Usage)
		t.thread.emit(t.noCancel, hook.Event{Kind: event.Usage}.WithUsage(reply.Usage, cost, ""))
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	reply.Duration, reply.Model = t.env.Now().Sub(began), req.Model
	return reply, err
}

// collect makes one request and returns the reply. The reply is at most as long as a tool result
// and calls no tools. A panic of the provider becomes an error.
func (e *Env) collect(ctx context.Context, req message.ModelRequest) (reply message.ModelReply, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the provider panicked: %v", v)
		}
	}()
	c := provider.Collector{Limits: e.Limits.Reply}
	size := 0
	for chunk, err := range e.Provider.Stream(ctx, req) {
		if err == nil {
			err = ctx.Err() // a provider may ignore the context
		}
		if err == nil {
			err = c.Add(&chunk)
		}
		if size += len(chunk.Text); err == nil && size > e.Limits.Result {
			err = fmt.Errorf("the answer is longer than %d bytes; set MaxTokens, or raise Options.Limits.Result", e.Limits.Result)
		}
		if err == nil && c.Calls() > 0 {
			err = errors.New("the model called a tool, and was offered none")
		}
		if err != nil {
			return c.Partial(), err
		}
	}
	return c.Reply()
}
