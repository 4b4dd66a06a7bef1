package loop

import (
	"cmp"
	"context"
	"fmt"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Requester asks models outside of turns, for the agent of a thread: it passes the points about
// requests and replies, shows nothing and leaves no trace. It needs nothing that belongs to a
// running turn. It is for one goroutine at a time.
type Requester struct{ t *Turn }

// NewRequester returns an Aside for which hooks see a turn of that number with that input, and the
// history before it.
func (th *Thread) NewRequester(ctx context.Context, in message.Message, history message.Messages, number int) *Requester {
	a := th.Agent
	t := &Turn{ledger: new(ledger)}
	t.identity = identity{env: th.Env, thread: th, id: th.Env.NewID(), started: th.Env.Now()}
	t.resources = resources{answering: a, cfg: a.Config, view: a.View.Load(), hooks: a.Hooks}
	t.contexts = contexts{ctx: ctx, noCancel: context.WithoutCancel(ctx)}
	t.response.yield = t.consumer()
	t.place, t.teller = hook.NewTurn(hook.TurnData{
		Conversation: th.Place, Session: th.ensureSession(hook.SessionResume).place, ID: t.id, Number: number, Started: t.started,
		Input: message.Input{Messages: message.ListOf(in)}, Limits: t.cfg.Limits, Now: th.Env.Now,
	})
	t.teller.Tell(hook.Standing{History: history})
	return &Requester{t}
}

// Spent returns what the requests have used, also those that failed.
func (a *Requester) Spent() (message.Usage, hook.Cost) { return a.t.spent() }

// Ask makes one request and returns the reply as the hooks have left it. Model "" is the
// agent's.
func (a *Requester) Ask(model, system string, in message.Message) (message.ModelReply, error) {
	t := a.t
	t.number++
	t.attempts = attempts{}
	t.step = hook.NewStep(t.place, t.number, cmp.Or(model, t.cfg.Model.Name))
	return t.askAside(message.ModelRequest{
		System: system, Messages: message.MessagesOf(in),
		Choice: message.ToolChoice{Mode: message.ToolChoiceNone}, MaxTokens: t.cfg.Model.MaxTokens,
	})
}

// askAside asks the model of the step and returns the reply as the hooks have left
// it. It shows nothing.
func (t *Turn) askAside(req message.ModelRequest) (message.ModelReply, error) {
	for {
		reply, again, err := t.attemptAside(req)
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
		switch v := t.askAfterModel(reply); v.Kind {
		case hook.AnswerStop:
			t.signalStop(v)
			err = t.refusal()
		case hook.AnswerRetry, hook.AnswerReject:
			err = rejection(v)
		}
		return reply, err
	}
}

// attemptAside makes one request and returns the reply, why there is none, or that
// it has to be made again.
func (t *Turn) attemptAside(req message.ModelRequest) (reply message.ModelReply, again bool, err error) {
	req.Model = t.step.Model()
	if req, err = t.rewriteRequest(req); err != nil {
		return reply, false, err
	}
	began := t.env.Now()
	reply, ok := t.askBeforeModel(req)
	if !ok {
		return reply, false, t.refusal()
	}
	if reply.Finish == "" {
		t.attempts.add(began)
		if reply, err = t.streamAside(req); err != nil {
			t.spend(req.Model, reply.Usage)
			if reply, again, err = t.recoversAside(req, err); again || err != nil {
				return reply, again, err
			}
		}
	}
	reply.Duration, reply.Model = t.env.Now().Sub(began), cmp.Or(reply.Model, req.Model)
	return reply, false, nil
}

// recoversAside is recovers for what nobody is shown.
func (t *Turn) recoversAside(req message.ModelRequest, err error) (reply message.ModelReply, again bool, _ error) {
	d, failure := t.askModelError(req.Model, err)
	switch d.Verdict().Kind {
	case hook.AnswerRespond:
		return withFinish(d.Reply()), false, nil
	case hook.AnswerNone:
		return reply, false, fmt.Errorf("%w: %w", ErrSummary, err)
	}
	if !t.attempts.retry() {
		return reply, false, tooManyRetries(err)
	}
	if !t.prepareRetry(d, failure) {
		return reply, false, context.Cause(t.ctx)
	}
	return reply, true, nil
}

// streamAside is stream for what nobody is shown.
func (t *Turn) streamAside(req message.ModelRequest) (message.ModelReply, error) {
	t.response = response{yield: t.response.yield, held: true}
	t.consume(req)
	if t.response.err != nil {
		return t.response.collector.Partial(), t.response.err
	}
	return t.response.collector.Reply()
}

// refusal is why a request made aside was not answered.
func (t *Turn) refusal() error {
	for _, s := range t.signals {
		if s.Reason == hook.StopStopRequested {
			return rejection(hook.Verdict{By: s.By, Reason: s.Text})
		}
	}
	return joinErrors(t.errs)
}
