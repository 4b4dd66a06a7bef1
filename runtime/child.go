package runtime

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// root is the turn that no other one runs.
func (t *turn) root() *turn {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// current is the turn that is running, or nil.
func (c *Conversation) current() *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn
}

func (h *host) current() *turn {
	if h.conv == nil {
		return nil
	}
	return h.conv.current()
}

// RunAgent implements hook.Host.
func (h *host) RunAgent(ctx context.Context, run hook.AgentRun) (hook.TurnOutcome, error) {
	parent := h.inTurn(ctx)
	if parent == nil {
		return refused(hook.ErrNoTurn)
	}
	out, err := h.rt.runChild(ctx, parent, run)
	if err != nil {
		return refused(fmt.Errorf("run agent %q: %w", run.Agent, err))
	}
	return out, out.Err
}

// runChild runs a child of the turn. The error is why no turn began.
func (r *Runtime) runChild(ctx context.Context, parent *turn, run hook.AgentRun) (hook.TurnOutcome, error) {
	if err := checkInput(run.Input); err != nil {
		return hook.TurnOutcome{}, err
	}
	if parent.depth+1 > r.o.Limits.Depth {
		return hook.TurnOutcome{}, fmt.Errorf("%w: %d is the limit", hook.ErrDepth, max(r.o.Limits.Depth, 0))
	}
	if parent.root().children.Add(1) > int64(r.o.Limits.Children) {
		return hook.TurnOutcome{}, fmt.Errorf("%w: %d is the limit", hook.ErrChildren, r.o.Limits.Children)
	}
	agent, err := r.find(ctx, run.Agent)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	hooks, err := agent.hooksUnder(parent)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	view, err := r.narrowed(agent, hooks, parent, run)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	c, err := parent.childConversation(ctx, agent, run)
	if err != nil {
		return hook.TurnOutcome{}, err
	}
	agent.keepChild(c)
	defer agent.dropChild(c)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(parent.ctx, func() { cancel(context.Cause(parent.ctx)) })
	defer stop()
	h, ctx := c.newHandle(ctx)
	if _, err = c.enter(ctx, h, Refuse); err != nil {
		return hook.TurnOutcome{}, err
	}
	defer h.leave()
	if c.lease.Interrupted() { // of a run before this one that could not be stored
		if err := errors.Join(c.settleChild(ctx, h, parent, *aboutRun(run)), c.givenUp(ctx)); err != nil {
			return hook.TurnOutcome{}, err
		}
	}
	t := c.newTurn(ctx, h)
	t.parent, t.depth, t.view, t.given = parent, parent.depth+1, view, scope.SetOf(run.Tools)
	t.hooks, t.layers = hooks, parent.layers
	t.job = turnJob{do: (*turn).runAsChild, in: run.Input, child: aboutRun(run)}
	return t.drive(ctx).out, nil
}

// runAsChild is the loop of a turn that a call of its parent has started.
func (t *turn) runAsChild() hook.TurnOutcome {
	return t.asChild(t.job.in, func() hook.TurnOutcome { return t.run(t.job.in, nil) })
}

// aboutRun names the call that runs the child.
func aboutRun(run hook.AgentRun) *hook.EventDetail {
	about := new(hook.EventDetail)
	if run.Call != nil {
		about.CallID, about.Tool = run.Call.ID(), run.Call.Name()
	}
	return about
}

// asChild runs the turn between the events that tell the parent's clients of it.
func (t *turn) asChild(in message.Input, run func() hook.TurnOutcome) hook.TurnOutcome {
	about := *t.job.child
	tell := func(ev hook.Event, d hook.EventDetail) {
		t.beginEvents(nil)
		t.emit(ev.WithDetail(d))
	}
	tell(hook.Event{Kind: event.SubagentStart, Text: in.Text()}, about)
	out := run()
	t.conv.endSession(t.durable, t, "")
	about.Usage, about.Cost, about.Stop = out.Usage, out.Cost, out.Stop
	t.closed = true
	tell(hook.Event{Kind: event.SubagentEnd, Text: out.Text()}, about)
	return out
}

// find returns the agent, which is registered now if it was not.
func (r *Runtime) find(ctx context.Context, name string) (*Agent, error) {
	agent, err := r.Agent(name)
	if !errors.Is(err, ErrAgentUnknown) || r.o.FindAgent == nil {
		return agent, err
	}
	unlock, err := r.finding.Lock(ctx, name, "", nil) // one of several tasks for it registers it
	if err != nil {
		return nil, err
	}
	defer unlock()
	if agent, err := r.Agent(name); !errors.Is(err, ErrAgentUnknown) {
		return agent, err
	}
	cfg, err := r.o.FindAgent(ctx, name)
	if err != nil {
		return nil, err
	}
	cfg.Name = name
	agent, err = r.Register(context.WithoutCancel(ctx), cfg)
	if errors.Is(err, ErrAgentExists) { // somebody else just has
		return r.Agent(name)
	}
	return agent, err
}

// narrowed is what a child sees of the hook: what its agent and its parent may both
// use, and of that what it is to be given.
func (r *Runtime) narrowed(agent *Agent, hooks *scope.Hooks, parent *turn, run hook.AgentRun) (*scope.View, error) {
	own := agent.view.Load()
	for _, name := range run.Tools {
		if _, s := parent.view.Find(name); s != scope.Available {
			return nil, fmt.Errorf("tool %q is not available to agent %q, which runs it", name, parent.conv.agent.Name())
		}
	}
	cfg, given := *agent.cfg, scope.SetOf(run.Tools)
	cfg.Tools = []string{}
	for _, tool := range own.Tools.Tools().All() {
		if _, s := parent.view.Find(tool.Name); s == scope.Available && given.Has(tool.Name) {
			cfg.Tools = append(cfg.Tools, tool.Name)
		}
	}
	if hooks == agent.hooks && run.Instructions == "" && len(cfg.Tools) == own.Tools.Tools().Len() {
		return own, nil
	}
	if run.Instructions != "" {
		cfg.Instructions += "\n\n" + run.Instructions
	}
	return hooks.View(&cfg, r.o.Environment, false)
}

// childConversation is that of the run: a new one, named after the call.
func (t *turn) childConversation(ctx context.Context, agent *Agent, run hook.AgentRun) (*Conversation, error) {
	id := t.rt.o.NewID()
	if run.Call != nil {
		id = t.id + "/" + run.Call.ID()
	}
	key := agent.key(id + "/" + strconv.Itoa(run.Index))
	var rec store.Record
	var err error
	if s, ok := t.rt.o.Store.(store.Child); ok {
		rec, err = s.Child(ctx, key, t.conv.ID())
	} else {
		rec, err = t.rt.o.Store.Conversation(ctx, key)
		rec.Parent = t.conv.ID()
	}
	if err != nil {
		return nil, err
	}
	c := agent.newConversation(rec, t.conv.host)
	return c, nil
}

// settleChildren brings those turns to their end that the tools of the interrupted
// turn had begun: what they have done is in their own journals. One that cannot be
// ended is left as it is.
func (t *turn) settleChildren(was *durable.Interrupted) {
	s, ok := t.rt.o.Store.(store.Child)
	if !ok {
		return
	}
	err := t.tellOrphans(s, was.Event)
	children, failed := s.Children(t.durable, t.conv.ID())
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
		t.emit(hook.Event{Kind: event.Diagnostic, Text: "children of the interrupted turn: " + publicText(err)})
	}
}

// found is find. It may register the agent, and asks hooks for that.
func (t *turn) found(name string) (*Agent, error) {
	t.away(point.OnRegisterAgent)
	defer t.returned()
	return t.rt.find(t.ctx, name)
}

// entered is enter for a child. It tells hooks of what the store has lost.
func (t *turn) entered(c *Conversation) (h *Turn, ctx context.Context, err error) {
	h, ctx = c.newHandle(t.durable)
	t.away(point.OnEvent)
	defer func() {
		if t.back() {
			return
		}
		if err == nil {
			_ = c.lease.Release(t.durable)
			h.leave()
		}
		goruntime.Goexit()
	}()
	_, err = c.enter(ctx, h, Refuse)
	return h, ctx, err
}

// settleChild has the loop wait for a child, which ends when the parent is cancelled.
func (t *turn) settleChild(rec store.Record, about hook.EventDetail) error {
	agent, err := t.found(rec.Key.Agent)
	if err != nil {
		return err
	}
	c := agent.newConversation(rec, t.conv.host)
	c.lease.Takes(rec.Lease.Epoch) // its holder had the parent's lease too, and has lost it
	agent.keepChild(c)
	defer agent.dropChild(c)
	h, ctx, err := t.entered(c)
	if err != nil {
		return err
	}
	defer h.leave()
	for _, ends := range []context.Context{t.until, t.ctx} {
		stop := context.AfterFunc(ends, func() { h.Stop(context.Cause(ends)) })
		defer stop()
	}
	if c.lease.Interrupted() {
		err = c.settleChild(ctx, h, t, about)
	}
	return errors.Join(err, c.lease.Release(context.WithoutCancel(ctx)))
}

func (a *Agent) keepChild(c *Conversation) {
	a.mu.Lock()
	a.children = append(a.children, c)
	a.mu.Unlock()
}

func (a *Agent) dropChild(c *Conversation) {
	a.mu.Lock()
	a.children = slices.DeleteFunc(a.children, func(o *Conversation) bool { return o == c })
	a.mu.Unlock()
}

// all returns the agent's conversations, also those of child turns.
func (a *Agent) all() []*Conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Concat(a.conversations, a.children)
}
