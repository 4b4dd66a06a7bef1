package loop

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Requester makes model requests outside of turns, for the agent of a thread. Its requests and
// replies pass the hooks' points about models, but their text is neither emitted nor stored.
// It shares no state with a running turn and writes no journal. It is for one goroutine at a time.
type Requester struct{ t *Turn }

// NewRequester returns a Requester for the agent with the setup. Hooks see its requests in a turn
// with that number and input, after the history. The requests end with ctx.
func (th *Thread) NewRequester(ctx context.Context, s *Setup, in message.Message, history message.Messages, number int) *Requester {
	t := &Turn{ledger: new(ledger)}
	if running := th.Current(); running != nil { // a hook of it has asked
		t.payer = running.account()
	}
	t.identity = identity{env: th.Env, thread: th, id: th.Env.NewID(), started: th.Env.Now()}
	t.resources = resourcesOf(th.Agent, s, th.Place.Sender())
	t.contexts = contexts{ctx: ctx, noCancel: context.WithoutCancel(ctx)}
	t.response.yield = t.consumer()
	t.place, t.teller = hook.NewTurn(hook.TurnData{
		Conversation: th.Place, Session: th.ensureSession(hook.SessionResume).place, ID: t.id, Number: number, Started: t.started,
		Input: message.Input{Messages: message.ListOf(in)}, Limits: t.cfg.Limits, Now: th.Env.Now,
	})
	t.teller.Tell(hook.Standing{History: history})
	return &Requester{t}
}

// Spent returns the usage of all requests, also of failed ones.
func (r *Requester) Spent() (message.Usage, hook.Cost) { return r.t.spent() }

// Ask makes one request, with retries, and returns the reply as the hooks have rewritten it.
// The model is the agent's if model is "".
func (r *Requester) Ask(model, system string, in message.Message) (message.ModelReply, error) {
	t := r.t
	t.number++
	t.attempts = attempts{}
	t.step = hook.NewStep(t.place, t.number, cmp.Or(model, t.cfg.Model.Name))
	req := message.ModelRequest{
		System: system, Messages: message.MessagesOf(in),
		Model: message.Model{Choice: message.ToolChoice{Mode: message.ToolChoiceNone}, MaxTokens: t.cfg.Model.MaxTokens},
	}
	for {
		reply, again, err := r.attempt(req)
		if again {
			continue
		}
		if err != nil {
			return reply, err
		}
		t.spend(reply.Model, reply.Usage)
		if reply, err = t.rewriteReply(t.ctx, reply); err != nil {
			return reply, err
		}
		v := t.askAfterModel(reply)
		if v.Kind != hook.AnswerRetry || t.attempts.retries == maxRetries || t.ctx.Err() != nil {
			return reply, r.refusal(v)
		}
		t.attempts.retries++
		req.Messages = req.Messages.Append(ephemeral("feedback", v.Reason))
	}
}

// attempt makes one request. It returns the reply or the error, or that the request has to be
// made again.
func (r *Requester) attempt(req message.ModelRequest) (reply message.ModelReply, again bool, err error) {
	t := r.t
	req.Model = req.Model.For(t.step.Model())
	if req, err = t.rewriteRequest(req); err != nil {
		return reply, false, err
	}
	began := t.env.Now()
	reply, v := t.askBeforeModel(req)
	if err := r.refusal(v); err != nil {
		return reply, false, err
	}
	if reply.Finish == "" {
		t.attempts.add(began)
		if reply, err = r.stream(req); err != nil {
			t.spend(req.Model.Name, reply.Usage)
			if reply, again, err = r.retried(req, err); again || err != nil {
				return reply, again, summaryError(t.ctx, err)
			}
		}
	}
	reply.Duration, reply.Model = t.env.Now().Sub(began), cmp.Or(reply.Model, req.Model.Name)
	return reply, false, nil
}

// summaryError returns the error of a failed request for a summary.
func summaryError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrSummary, err)
}

// retried is Turn.handleModelError without events: it asks the hooks about a failed request. It
// returns their reply or an error, or that the request has to be made again.
func (r *Requester) retried(req message.ModelRequest, err error) (reply message.ModelReply, again bool, _ error) {
	t := r.t
	d, failure := t.askModelError(req.Model.Name, err)
	switch d.Verdict().Kind {
	case hook.AnswerRespond:
		return withFinish(d.Reply()), false, nil
	case hook.AnswerNone:
		return reply, false, t.attempts.failed(err, t.env.Now())
	}
	if t.attempts.made >= maxRequests {
		return reply, false, tooManyRequests(err)
	}
	if !t.prepareRetry(d, failure) {
		return reply, false, context.Cause(t.ctx)
	}
	return reply, true, nil
}

// stream is Turn.stream without events.
func (r *Requester) stream(req message.ModelRequest) (message.ModelReply, error) {
	t := r.t
	t.response = response{collector: provider.Collector{Limits: t.env.Limits.Reply}, yield: t.response.yield, held: true}
	t.consume(req)
	if t.response.err != nil {
		return t.response.collector.Partial(), t.response.err
	}
	return t.response.collector.Reply()
}

// refusal returns the error of a request whose request or reply a hook refused; nil if none did.
// The cause of a cancellation comes first, because it makes hooks fail.
func (r *Requester) refusal(v hook.Verdict) error {
	switch v.Kind {
	case hook.AnswerStop, hook.AnswerRetry, hook.AnswerReject:
		if err := context.Cause(r.t.ctx); err != nil {
			return err
		}
		return rejection(v)
	}
	return nil
}
