package runtime

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// jobHost is the host of one attempt at a job: that outside of conversations, and it asks
// models. Each attempt spends like a turn of its own.
type jobHost struct {
	*host
	attempt context.Context
	job     store.Job
	payer   spending.Turn

	mu   sync.Mutex
	used message.Usage
}

// CallModel implements hook.Host.
func (h *jobHost) CallModel(ctx context.Context, req message.ModelRequest) (message.ModelReply, error) {
	if h.attempt.Err() != nil || h.job.Conversation == "" {
		return message.ModelReply{}, hook.ErrNoTurn
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.attempt, func() { cancel(context.Cause(h.attempt)) })()
	cfg, err := h.agent(ctx)
	if err != nil {
		return message.ModelReply{}, fmt.Errorf("call a model for a job: %w", err)
	}
	if limit := cfg.Limits.Tokens; limit > 0 && h.spent().Total() >= limit {
		return message.ModelReply{}, hook.ErrBudget
	}
	req.Model.Name, req.Model.MaxTokens = cmp.Or(req.Model.Name, cfg.Model.Name), cmp.Or(req.Model.MaxTokens, cfg.Model.MaxTokens)
	reply, err := h.rt.home.env.CallModel(ctx, req, spending.Caller{
		Project: h.rt.o.Project, Agent: cfg.Name, Turn: &h.payer,
		Tell: func(text string) { h.Emit(ctx, hook.Event{Kind: event.Diagnostic, Text: text}) },
	})
	h.charge(ctx, req.Model.Name, reply.Usage)
	if err != nil {
		return message.ModelReply{}, fmt.Errorf("call model %q: %w", req.Model.Name, err)
	}
	return reply, nil
}

// agent returns the configuration of the agent whose conversation queued the job.
func (h *jobHost) agent(ctx context.Context) (*hook.AgentConfig, error) {
	rec, err := h.rt.o.Store.Find(ctx, h.job.Conversation)
	if err != nil {
		return nil, err
	}
	if a, err := h.rt.Agent(rec.Key.Agent); err == nil {
		return a.Config(), nil
	}
	if h.rt.o.FindAgent == nil {
		return nil, fmt.Errorf("%w: %q", ErrAgentUnknown, rec.Key.Agent)
	}
	cfg, err := h.rt.o.FindAgent(ctx, rec.Key.Agent)
	return &cfg, err
}

func (h *jobHost) spent() message.Usage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.used
}

// charge counts the usage of a request and emits it, as one of the turn that queued the job.
func (h *jobHost) charge(ctx context.Context, model string, u message.Usage) {
	if u == (message.Usage{}) {
		return
	}
	h.mu.Lock()
	h.used = h.used.Add(u)
	h.mu.Unlock()
	ctx = loop.BackgroundContext(context.WithoutCancel(ctx), h.job.Turn)
	h.Emit(ctx, hook.Event{Kind: event.Usage}.WithUsage(u, h.rt.o.Spending.Price(model, u), ""))
}
