package loop

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strconv"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// ID is the id of the turn.
func (t *Turn) ID() string { return t.id }

// Depth counts the turns above this one; 0 for a turn that a user started.
func (t *Turn) Depth() int { return t.depth }

// root is the outermost turn.
func (t *Turn) root() *Turn {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// RunAgent runs a child of the turn. The error says why no child began.
func (t *Turn) RunAgent(ctx context.Context, run hook.AgentRun) (hook.TurnOutcome, error) {
	if err := checkInput(run.Input); err != nil {
		return hook.TurnOutcome{}, err
	}
	if t.depth+1 > t.env.Limits.Depth {
		return hook.TurnOutcome{}, fmt.Errorf("%w: %d is the limit", hook.ErrDepth, max(t.env.Limits.Depth, 0))
	}
	if t.root().children.Add(1) > int64(t.env.Limits.Children) {
		return hook.TurnOutcome{}, fmt.Errorf("%w: %d is the limit", hook.ErrChildren, t.env.Limits.Children)
	}
	agent, err := t.env.Find(ctx, run.Agent)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	setup, err := agent.Now().Under(t.base.Process, t.env.Environment)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	hooks, err := setup.hooksUnder(t)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	view, err := setup.childView(agent, hooks, t, run)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	rec, err := t.childRecord(ctx, agent, run)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	c := agent.Registration.Child(rec, t.thread)
	defer c.Drop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	defer stop()
	h, ctx, err := c.Enter(ctx)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	defer c.Leave(h)
	th := c.Thread()
	if th.Lease.Interrupted() { // the store failed at the end of an earlier run
		if err := errors.Join(th.settleChild(ctx, t, *callDetail(run)), th.ReleaseIfCancelled(ctx)); err != nil {
			return hook.TurnOutcome{}, err
		}
	}
	child := th.newTurn(ctx, h)
	child.parent, child.depth, child.view, child.allowed = t, t.depth+1, view, scope.SetOf(run.Tools)
	child.base, child.setup, child.cfg, child.hooks, child.layers = setup, setup, setup.Config, hooks, t.layers
	child.job = turnJob{run: (*Turn).runAsChild, input: Input{Message: run.Input}, child: callDetail(run)}
	return child.drive(ctx).out, nil
}

// Child is the conversation of a child turn.
type Child interface {
	Thread() *Thread
	// Enter acquires the conversation for one turn and returns the turn's context. Without an
	// error the caller calls Leave.
	Enter(ctx context.Context) (*Handle, context.Context, error)
	Leave(h *Handle)
	// Drop undoes Registration.Child.
	Drop()
}

// runAsChild is the loop of a child.
func (t *Turn) runAsChild() hook.TurnOutcome {
	return t.withSubagentEvents(t.job.input.Message, func() hook.TurnOutcome { return t.run(t.job.input.Message, nil) })
}

// callDetail names the call that runs the child.
func callDetail(run hook.AgentRun) *hook.EventDetail {
	about := new(hook.EventDetail)
	if run.Call != nil {
		about.CallID, about.Tool = run.Call.ID(), run.Call.Name()
	}
	return about
}

// withSubagentEvents calls run between subagent_start and subagent_end.
func (t *Turn) withSubagentEvents(in message.Input, run func() hook.TurnOutcome) hook.TurnOutcome {
	about := *t.job.child
	emit := func(ev hook.Event, d hook.EventDetail) {
		t.beginEvents(nil)
		t.emit(ev.WithDetail(d))
	}
	emit(hook.Event{Kind: event.SubagentStart, Text: in.Text()}, about)
	out := run()
	t.thread.endSession(t.noCancel, t, "")
	about.Usage, about.Cost, about.Stop = out.Usage, out.Cost, out.Stop
	t.subagentEndEmitted = true
	emit(hook.Event{Kind: event.SubagentEnd, Text: out.Text()}, about)
	return out
}

// childView returns the tools and the prompt of a child: the tools that both its agent and its
// parent may use, limited to run.Tools.
func (s *Setup) childView(agent *Agent, hooks *scope.Hooks, parent *Turn, run hook.AgentRun) (*scope.View, error) {
	sender := parent.root().thread.Place.Sender()
	own := agent.viewFor(s, sender)
	for _, name := range run.Tools {
		if message.IsPattern(name) {
			continue
		}
		if !parent.lends(name) {
			return nil, fmt.Errorf("tool %q is not available to agent %q, which runs it", name, parent.thread.Agent.Name)
		}
	}
	cfg, given := *s.Config, scope.SetOf(run.Tools)
	cfg.Tools = []string{}
	for _, tool := range own.Tools.Tools().All() {
		if parent.lends(tool.Name) && given.Has(tool.Name) {
			cfg.Tools = append(cfg.Tools, tool.Name)
		}
	}
	if hooks == s.Hooks && run.Instructions == "" && len(cfg.Tools) == own.Tools.Tools().Len() {
		return own, nil
	}
	if run.Instructions != "" {
		cfg.Instructions += "\n\n" + run.Instructions
	}
	v, err := hooks.View(&cfg, parent.env.Environment, false)
	if err != nil {
		return nil, err
	}
	return v.For(sender), nil
}

// lends reports whether a child may use the tool of that name: the agent's own, and not one that the turn was given under the name.
func (t *Turn) lends(name string) bool {
	_, standing := t.view.Find(name)
	return standing == scope.Available && t.given.Owner(name) == nil
}

// childRecord makes the record of the child's conversation, named after the call.
func (t *Turn) childRecord(ctx context.Context, agent *Agent, run hook.AgentRun) (store.Record, error) {
	id := t.env.NewID()
	if run.Call != nil {
		id = t.id + "/" + run.Call.ID()
	}
	key := agent.key(t.env, id+"/"+strconv.Itoa(run.Index))
	if s, ok := t.env.Store.(store.Child); ok {
		return s.Child(ctx, key, t.thread.ID())
	}
	rec, err := t.env.Store.Conversation(ctx, key)
	rec.Parent = t.thread.ID()
	return rec, err
}

// settleChildren ends the interrupted children of the interrupted turn; each has its own
// journal. A child that cannot be ended stays interrupted.
func (t *Turn) settleChildren(was *durable.Interrupted) {
	s, ok := t.env.Store.(store.Child)
	if !ok {
		return
	}
	err := t.emitOrphanEnds(s, was.Event)
	children, failed := s.Children(t.noCancel, t.thread.ID())
	err = errors.Join(err, failed)
	for _, rec := range children {
		switch {
		case !rec.Journaled:
		case t.outOfTime():
			err = errors.Join(err, fmt.Errorf("%s: the turn was cancelled", rec.ID))
		default:
			err = errors.Join(err, t.settleChild(rec, t.callOf(rec, was.Message)))
		}
	}
	if err != nil {
		t.emit(hook.Event{Kind: event.Diagnostic, Text: "children of the interrupted turn: " + PublicText(err)})
	}
}

// findAgent calls Env.Find, which may register the agent and then calls hooks.
func (t *Turn) findAgent(name string) (*Agent, error) {
	t.enterForeign(point.OnRegisterAgent)
	defer t.exitForeign()
	return t.env.Find(t.ctx, name)
}

// enterChild enters the conversation of a child. That may call hooks with events.
func (t *Turn) enterChild(c Child) (h *Handle, ctx context.Context, err error) {
	t.enterForeign(point.OnEvent)
	defer func() {
		if t.tryExitForeign() {
			return
		}
		if err == nil {
			_ = c.Thread().Lease.Release(t.noCancel)
			c.Leave(h)
		}
		goruntime.Goexit()
	}()
	return c.Enter(t.noCancel)
}

// settleChild ends an interrupted child and waits for that. Cancelling the parent cancels the
// child.
func (t *Turn) settleChild(rec store.Record, about hook.EventDetail) error {
	agent, err := t.findAgent(rec.Key.Agent)
	if err != nil {
		return err
	}
	c := agent.Registration.Child(rec, t.thread)
	defer c.Drop()
	lease := c.Thread().Lease
	lease.Takes(rec.Lease.Epoch) // its holder has lost the parent's lease, so this one too
	h, ctx, err := t.enterChild(c)
	if err != nil {
		return err
	}
	defer c.Leave(h)
	for _, ends := range []context.Context{t.ownerCtx, t.ctx} {
		stop := context.AfterFunc(ends, func() { h.Cancel(context.Cause(ends)) })
		defer stop()
	}
	if lease.Interrupted() {
		err = c.Thread().settleChild(ctx, t, about)
	}
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}
