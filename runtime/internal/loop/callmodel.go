package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
)

// CallModel makes a model request of a hook within the turn; see [hook.Host]. It is safe for
// concurrent use.
func (t *Turn) CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	if t.outOfTokens() != nil {
		return message.ModelReply{}, hook.ErrBudget
	}
	req.Model.Name, req.Model.MaxTokens = cmp.Or(req.Model.Name, t.cfg.Model.Name), cmp.Or(req.Model.MaxTokens, t.cfg.Model.MaxTokens)
	req.Tools, req.Model.Choice = nil, message.ToolChoice{}
	reply, err := t.callModel(ctx, req)
	if err != nil {
		return message.ModelReply{}, fmt.Errorf("call model %q: %w", req.Model.Name, err)
	}
	return reply, nil
}

// answersFailureKey marks the context of OnModelError.
type answersFailureKey struct{}

// answersFailure marks the context of OnModelError: a model call that a hook makes there asks
// no hook about its failure, so that they cannot call each other without end.
func answersFailure(ctx context.Context) context.Context {
	return context.WithValue(ctx, answersFailureKey{}, true)
}

// callModel may run on any goroutine, so it touches no state of the loop.
func (t *Turn) callModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	defer stop()
	asks := t.hooks.Has(point.OnModelError) && ctx.Value(answersFailureKey{}) == nil
	var r *Requester // nil until the first failure
	for {
		began := t.env.Now()
		reply, err := t.env.collect(ctx, func() message.ModelStream { return t.requestModel(ctx, req) })
		t.addCalled(req.Model.Name, reply.Usage)
		reply.Duration, reply.Model = t.env.Now().Sub(began), req.Model.Name
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return reply, cause
		}
		if err == nil || !asks || t.outOfTokens() != nil {
			return reply, err
		}
		if r == nil {
			r = t.requesterOf(ctx, req)
		}
		r.t.attempts.add(began)
		again := false
		if reply, again, err = r.retried(req, err); !again {
			return reply, err
		}
		req.Model = req.Model.For(r.t.step.Model())
	}
}

// addCalled adds the usage of a hook's model call and emits it.
func (t *Turn) addCalled(model string, u message.Usage) {
	if u != (message.Usage{}) {
		t.thread.emit(t.noCancel, hook.Event{Kind: event.Usage}.WithUsage(u, t.spend(model, u), ""))
	}
}

// requesterOf returns a Requester whose step is the model call of a hook that has failed.
func (t *Turn) requesterOf(ctx context.Context, req message.ModelRequest) *Requester {
	in := message.UserText("")
	if n := req.Messages.Len(); n > 0 {
		in = req.Messages.At(n - 1)
	}
	in.Label = message.LabelModelCall
	r := t.thread.NewRequester(ctx, t.base, in, message.Messages{}, t.ordinal)
	r.t.answering, r.t.setup, r.t.cfg, r.t.hooks = t.answering, t.setup, t.cfg, t.hooks
	r.t.step = hook.NewStep(r.t.place, 1, req.Model.Name)
	return r
}

// CallModel makes a request outside of any turn, for the caller. The request gets no tools. It is
// safe for concurrent use.
func (e *Env) CallModel(ctx context.Context, req message.ModelRequest, c spending.Caller) (message.ModelReply, error) {
	req.Tools, req.Model.Choice = nil, message.ToolChoice{}
	stream := e.Provider.Stream
	if e.Spending.Counts() {
		stream = func(ctx context.Context, req message.ModelRequest) message.ModelStream {
			return e.Spending.Stream(ctx, e.Provider, req, c)
		}
	}
	began := e.Now()
	reply, err := e.collect(ctx, func() message.ModelStream { return stream(ctx, req) })
	reply.Duration, reply.Model = e.Now().Sub(began), req.Model.Name
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return reply, cause
	}
	return reply, err
}

// collect reads the answer to one request and returns the reply. The reply is at most as long as a tool result
// and calls no tools. A panic of the provider becomes an error.
func (e *Env) collect(ctx context.Context, begin func() message.ModelStream) (reply message.ModelReply, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the provider panicked: %v", v)
		}
	}()
	c := provider.Collector{Limits: e.Limits.Reply}
	size := 0
	for chunk, err := range begin() {
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
