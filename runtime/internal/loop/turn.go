package loop

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/given"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/provider"
)

// Input is the input of a turn, and how it runs.
type Input struct {
	Message message.Input
	// Observe is called with the turn's events, one at a time. It may be nil.
	Observe func(hook.Event)
	// Guest is the agent that answers instead of the conversation's own; "" is none.
	Guest string
	// Model overrides the agent's settings.
	Model  message.Model
	Layers []plan.Layer
	// Tools are the caller's for this turn, which run in this process; nil is none.
	// ClientTools run elsewhere: see Turn.askClient.
	Tools       given.Toolset
	ClientTools []message.Tool
	// Token is the name of the credential for which the turn runs; "" is the local user.
	Token string
}

// Run runs a turn and returns when it has ended. Cancelling ctx cancels the turn.
func (th *Thread) Run(ctx context.Context, h *Handle, in Input) hook.TurnOutcome {
	t := th.newTurn(ctx, h)
	t.job = turnJob{run: (*Turn).runForUser, input: in}
	return t.drive(ctx).out
}

// runForUser is the loop of a turn that a user started.
func (t *Turn) runForUser() hook.TurnOutcome {
	err := t.applyLayers(t.job.input.Layers)
	if guest := t.job.input.Guest; err == nil && guest != "" {
		err = t.setGuest(guest)
	}
	if err == nil {
		err = t.give(t.job.input.Tools, t.job.input.ClientTools)
	}
	if err != nil {
		if untrack := t.untrackGuest; untrack != nil {
			t.untrackGuest = nil
			untrack()
		}
		_ = t.thread.Lease.Release(t.noCancel) // if that fails, the next turn reports it
		return hook.TurnOutcome{Stop: hook.StopError, Err: err}
	}
	t.setModel(t.job.input.Model)
	t.money.Resume(t.job.input.Token, 0)
	return t.run(t.job.input.Message, t.job.input.Observe)
}

// setModel overrides the agent's model and its settings.
func (t *Turn) setModel(m message.Model) {
	if m.IsZero() {
		return
	}
	cfg := *t.cfg
	if m.Name != "" && m.Name != cfg.Model.Name {
		cfg.Model = cfg.Model.For(m.Name)
		cfg.Model.ContextWindow = provider.ContextWindow(t.env.Provider, m.Name)
	}
	cfg.Model = cfg.Model.Merge(m)
	t.cfg, t.model = &cfg, m
}

// resourcesOf returns those of a turn that the agent with the setup answers.
func resourcesOf(a *Agent, s *Setup, sender string) resources {
	return resources{answering: a, base: s, setup: s, cfg: s.Config, view: a.viewFor(s, sender), hooks: s.Hooks}
}

// newTurn returns a turn that the conversation's own agent answers.
func (th *Thread) newTurn(ctx context.Context, h *Handle) *Turn {
	a := th.Agent
	t := &Turn{ledger: new(ledger)}
	t.identity = identity{env: th.Env, thread: th, handle: h, id: th.Env.NewID(), started: th.Env.Now()}
	t.resources = resourcesOf(a, th.Setup(), th.Place.Sender())
	t.turnCtx, t.lastingCtx = turnContext{ctx, t}, lastingContext{t}
	t.ctx, t.noCancel = &t.turnCtx, &t.lastingCtx
	t.response.yield = t.consumer()
	t.history.stored, t.firstMessage = th.Lease.History(), th.Lease.History().Len()
	return t
}

// run runs the turn from its input to its outcome.
func (t *Turn) run(in message.Input, observe func(hook.Event)) hook.TurnOutcome {
	t.enter(in, observe)
	if err := t.announce(in); err != nil {
		t.leave()
		_ = t.thread.Lease.Release(t.noCancel) // if that fails, the next turn reports it
		return hook.TurnOutcome{Stop: hook.StopError, Err: err}
	}
	if t.begin(in) {
		t.runSteps()
	}
	out := t.finish()
	t.leaveSummary()
	t.leave()
	return out
}

// enter makes the turn the current one of its thread; leave undoes that.
func (t *Turn) enter(in message.Input, observe func(hook.Event)) {
	if limit := t.cfg.Limits.Time; limit > 0 {
		t.ctx, t.expire = context.WithTimeoutCause(t.ctx, limit, errTimeLimit)
		t.loop.LimitTime(t.ctx)
	}
	t.newPlace(in)
	t.beginEvents(observe)
	t.thread.setTurn(t)
}

func (t *Turn) leave() {
	t.thread.setTurn(nil)
	if t.parent == nil {
		t.env.Requests.Forget(t.thread.ID())
	}
	if untrack := t.untrackGuest; untrack != nil {
		t.untrackGuest = nil // so that the owner of an abandoned loop does not call it again
		untrack()
	}
	t.enterForeign(point.OnEvent)
	t.thread.Log.End(context.Background(), t) // the owner wakes it when it abandons the loop
	t.exitForeign()
	if t.expire != nil {
		t.expire()
	}
}

// newPlace makes the turn that hooks see.
func (t *Turn) newPlace(in message.Input) {
	limits := t.cfg.Limits
	limits.Steps = cmp.Or(limits.Steps, t.cfg.Loop.Steps())
	t.session = t.thread.ensureSession(t.thread.defaultSource())
	t.ordinal = t.thread.Lease.Turns() + 1
	d := hook.TurnData{
		Conversation: t.thread.Place, Session: t.session.place, ID: t.id, Number: t.ordinal, Started: t.started,
		Depth: t.depth, Input: in, Limits: limits, Now: t.env.Now,
	}
	if t.parent != nil {
		d.Parent = t.parent.place
	}
	t.place, t.teller = hook.NewTurn(d)
	t.updatePlace()
}

// updatePlace shows hooks how far the turn is.
func (t *Turn) updatePlace() {
	usage, cost := t.spent()
	t.teller.Tell(hook.Standing{
		History: t.thread.Lease.History(), Usage: usage, Cost: cost, Steps: t.number - t.idleSteps,
		Signals: message.Freeze(t.signals), Errors: message.Freeze(t.errs),
	})
}

// runSteps runs steps until one ends the turn and no hook continues it. No step begins after
// the tokens are used up; a child's parent may have used them up already.
func (t *Turn) runSteps() {
	limits := t.place.Limits()
	for !t.tokensUsedUp() {
		if limits.Steps > 0 && t.number >= limits.Steps {
			t.signal(hook.StopStepsLimit, "", fmt.Sprintf("Step limit reached: %d/%d", t.number, limits.Steps))
			return
		}
		if !t.runStep() && !t.askStop() {
			return
		}
	}
}

// tokensUsedUp reports whether the tokens of the turn or of one above are used up. Then it
// signals so.
func (t *Turn) tokensUsedUp() bool {
	over := t.outOfTokens()
	if over == nil {
		return false
	}
	used, _ := over.spent()
	t.signal(hook.StopTokenLimit, "", fmt.Sprintf("Token limit reached: %d/%d", used.Total(), over.cfg.Limits.Tokens))
	return true
}

// viewOf asks the hooks for the tools and the prompt of an agent.
func (t *Turn) viewOf(h *scope.Hooks, cfg *hook.AgentConfig) (*scope.View, error) {
	t.enterForeign(point.Schema)
	defer t.exitForeign()
	return h.View(cfg, t.env.Environment, false)
}

// grace is how long the cancelled turn waits for its tools and hooks. A child waits half as
// long as its parent, because the parent waits for the child.
func (t *Turn) grace() time.Duration { return t.env.Grace >> t.depth }

// afterContext returns the context of work that a cancelled turn must still do. After a
// cancellation it lasts for the grace period. The caller calls the function when done.
func (t *Turn) afterContext() (context.Context, func()) {
	if t.ctx.Err() == nil {
		return t.ctx, func() {}
	}
	return context.WithTimeout(t.noCancel, t.grace())
}
