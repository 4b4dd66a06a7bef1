package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/states"
	"github.com/grapnel-go/grapnel/runtime/internal/keyed"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
)

// members are the hooks of the process: those that New got, and those that come and go.
type members struct {
	// process are the hooks of now. It is replaced under Runtime.mu.
	process atomic.Pointer[loop.Process]
	// fixed is the composite of the hooks that New got, without a recorder. Open sets it.
	fixed *composite.Composite
	// changing is held by one call at a time that changes the hooks or an agent.
	changing keyed.Locks

	// attached are in the order of their attachment; Runtime.mu guards it, and live.
	attached []*attachment
	// live are the hooks of now, the last ones, and those before that turns may still have.
	live []*loop.Process
}

// attachment is a member that Attach has added.
type attachment struct {
	name string
	hook hook.Hook
	// alone is the composite of this one member, for the points of its own life.
	alone *scope.Hooks
	// leaving: Detach was called.
	leaving bool
}

// Attach adds a member to the hooks of the running runtime. It comes last, behind the members of
// the composite, and name is its name in paths, like that of an exported field. Turns that run do
// not have it, and neither do their children; turns that begin later do.
//
// Before that the hook gets OnOpen, and OnRegisterAgent for every registered agent in the order
// of their registration. Agents that are registered or updated later pass all of its methods. If
// something fails, the hook gets OnUnregisterAgent for those agents in reverse order and OnClose,
// and nothing has changed.
//
// Errors are those of the hook, a name that is taken or is no exported name, a tool that another
// member has, an observer with mode=background and a [hook.ConversationState] that no other member
// shares, because jobs and stored states outlive the hook; ErrNotOpen, ErrClosed and that of ctx.
// Attach must not be called from a hook or a tool.
func (r *Runtime) Attach(ctx context.Context, name string, h hook.Hook) error {
	unlock, err := r.beginChange(ctx)
	if err == nil {
		defer unlock()
		err = r.attach(ctx, &attachment{name: name, hook: h})
	}
	if err != nil {
		return fmt.Errorf("attach %.80q: %w", name, err)
	}
	return nil
}

// Detach removes a member that Attach has added. Turns that begin later do not have it. Detach
// waits for the turns that have it; when ctx ends, it cancels these with ErrDetached and does the
// rest all the same. Then the hook gets OnUnregisterAgent for every agent that it knows, in reverse
// order, and OnClose, once. Until Detach returns, the name is taken. Background runs that the hook
// has started under its own path end before OnClose.
//
// A session may begin with the hook and end without it, or the other way round: a hook that is
// attached or detached meanwhile sees one end of it.
//
// Errors are ErrMemberUnknown, that of OnClose, an agent whose section [LayerSection] names the
// member, ErrNotOpen, ErrClosed, and that of ctx if it ends while another change is made. Detach must
// not be called from a hook, a tool or an observer.
func (r *Runtime) Detach(ctx context.Context, name string) error {
	unlock, err := r.beginChange(ctx)
	if err != nil {
		return fmt.Errorf("detach %.80q: %w", name, err)
	}
	m, configs, err := r.withdraw(name)
	unlock()
	if err == nil {
		defer r.changes.Done()
		err = r.end(ctx, m, configs)
	}
	if err != nil {
		return fmt.Errorf("detach %.80q: %w", name, err)
	}
	return nil
}

// beginChange waits for its turn to change the hooks or an agent. The caller calls unlock.
func (r *Runtime) beginChange(ctx context.Context) (unlock func(), err error) {
	if err := r.countChange(); err != nil {
		return nil, err
	}
	release, err := r.members.changing.Lock(ctx, "members", "", nil)
	if err != nil {
		r.changes.Done()
		return nil, err
	}
	return func() {
		release()
		r.changes.Done()
	}, nil
}

// countChange adds to r.changes, unless the runtime is not open.
func (r *Runtime) countChange() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.checkOpenLocked()
	if err == nil {
		r.changes.Add(1)
	}
	return err
}

func (r *Runtime) attach(ctx context.Context, m *attachment) error {
	r.mu.Lock()
	list := append(slices.Clone(r.members.attached), m)
	r.mu.Unlock()
	for _, o := range list[:len(list)-1] {
		if o.name == m.name {
			return errors.New("a member of that name is attached already, or is being detached")
		}
	}
	list = slices.DeleteFunc(list, func(o *attachment) bool { return o.leaving })
	p, err := r.processOf(list)
	if err == nil {
		err = r.checkAttachment(m, p)
	}
	if err == nil {
		err = m.alone.OnOpen(ctx, r.host)
	}
	if err != nil {
		return err
	}
	type known struct {
		agent *Agent
		setup *loop.Setup
	}
	var all []known
	c := change{r: r, to: p, each: func(a *Agent, s *loop.Setup) error {
		err := m.alone.OnRegisterAgent(ctx, s.Config)
		if err == nil {
			all = append(all, known{a, s})
		}
		return err
	}, swapped: func() { r.members.attached = append(r.members.attached, m) }}
	err = c.run()
	lasting := context.WithoutCancel(ctx)
	for _, k := range slices.Backward(all) {
		if err != nil || k.agent.core.Now() != k.setup { // the agent was unregistered meanwhile
			m.alone.OnUnregisterAgent(lasting, k.setup.Config)
		}
	}
	if err != nil {
		return errors.Join(err, m.alone.OnClose(lasting))
	}
	return nil
}

// processOf returns the hooks of the process with the members.
func (r *Runtime) processOf(list []*attachment) (*loop.Process, error) {
	c, p := r.members.fixed, &loop.Process{}
	for _, m := range list {
		var err error
		if c, err = c.Attached(m.name, m.hook); err != nil {
			return nil, err
		}
		p.Attached = append(p.Attached, m.name)
	}
	p.Hooks = scope.New(r.recorded(c))
	return p, nil
}

// checkAttachment sets m.alone and checks what of the hook outlives it.
func (r *Runtime) checkAttachment(m *attachment, with *loop.Process) error {
	alone, err := composite.Of(r.members.fixed.Name(), composite.Field{Name: m.name, Hook: m.hook})
	if err == nil {
		err = alone.Ready()
	}
	if err != nil {
		return err
	}
	if later := alone.InBackground(); len(later) > 0 {
		return fmt.Errorf("%s has mode=background at %s: jobs outlive a member that is attached; make it a field of the composite", later[0].Path, later[0].Point)
	}
	keys, err := states.Of(with.Hooks.Composite)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if _, declared := r.states[key]; !declared {
			return fmt.Errorf("the conversation state %s was not declared when the runtime opened: make its hook a field of the composite, or use a hook.TurnState", key)
		}
	}
	m.alone = scope.New(r.recorded(alone))
	return nil
}

// change replaces the hooks of the process.
type change struct {
	r  *Runtime
	to *loop.Process
	// next are the setups of the agents afterwards, by those before.
	next map[*loop.Setup]*loop.Setup
	// each, if it is not nil, is called for every agent with its next setup. An error ends the change.
	each func(*Agent, *loop.Setup) error
	// without is the member that goes; nil if one comes.
	without *attachment
	// swapped is called at the moment of the change, under r.mu.
	swapped func()
}

// run changes the hooks of the process and of all agents at one moment. After an error nothing has
// changed.
func (c *change) run() error {
	c.next = map[*loop.Setup]*loop.Setup{}
	for {
		todo, err := c.swap()
		if err != nil {
			return err
		}
		if len(todo) == 0 {
			break
		}
		for _, a := range todo {
			if err := c.prepare(a); err != nil {
				return fmt.Errorf("agent %q: %w", a.Name(), err)
			}
		}
	}
	for _, a := range c.r.visible() {
		if err := a.core.Now().Refresh(c.r.o.Environment); err != nil { // tools may have changed since prepare
			c.r.emit(context.Background(), hook.Diagnostic{Text: fmt.Sprintf("the agent %s keeps its previous tools: %v", a.Name(), err)}.Event())
		}
	}
	return nil
}

// prepare makes the next setups of the agent: that of now, and if a member goes, those of replaced
// configurations that the member knows.
func (c *change) prepare(a *Agent) error {
	a.mu.Lock()
	now, replaced := a.core.Now(), slices.Clone(a.replaced)
	a.mu.Unlock()
	s, err := now.Under(c.to, c.r.o.Environment)
	if err == nil && c.each != nil {
		err = c.each(a, s)
	}
	if err != nil {
		return err
	}
	c.next[now] = s
	for _, old := range replaced {
		if c.without == nil || !slices.Contains(old.Process.Attached, c.without.name) {
			continue
		}
		p, err := c.r.processOf(c.r.attachedAs(old.Process, c.without))
		if err == nil {
			c.next[old], err = old.Under(p, c.r.o.Environment)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attachedAs returns the members of the process without one.
func (r *Runtime) attachedAs(p *loop.Process, without *attachment) (out []*attachment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.members.attached {
		if m != without && slices.Contains(p.Attached, m.name) {
			out = append(out, m)
		}
	}
	return out
}

// swap makes the change if every visible agent has a next setup, and otherwise returns those that
// have none.
func (c *change) swap() (todo []*Agent, err error) {
	r := c.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkOpenLocked(); err != nil {
		return nil, err
	}
	for _, a := range r.order {
		if c.next[a.core.Now()] == nil && a.isVisible() {
			todo = append(todo, a)
		}
	}
	if len(todo) > 0 {
		return todo, nil
	}
	m := &r.members
	was := m.process.Load()
	m.live = append(slices.DeleteFunc(m.live, func(p *loop.Process) bool { return p != was && isClosed(p.Idle()) }), c.to)
	m.process.Store(c.to)
	for _, a := range r.order {
		a.swap(c.next)
	}
	c.swapped()
	return nil, nil
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (a *Agent) isVisible() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state == agentVisible
}

// swap sets the next setups of the agent, unless it is being unregistered.
func (a *Agent) swap(next map[*loop.Setup]*loop.Setup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := next[a.core.Now()]; s != nil && a.state == agentVisible {
		a.core.Set(s)
	}
	for i, old := range a.replaced {
		if s := next[old]; s != nil {
			a.replaced[i] = s
		}
	}
}

// withdraw removes the member from the hooks that later turns get. It returns the configurations
// with which the member is registered, and adds to r.changes.
func (r *Runtime) withdraw(name string) (m *attachment, configs []*hook.AgentConfig, err error) {
	r.mu.Lock()
	var rest []*attachment
	for _, o := range r.members.attached {
		switch {
		case o.leaving:
		case o.name == name:
			m = o
		default:
			rest = append(rest, o)
		}
	}
	r.mu.Unlock()
	if m == nil {
		return nil, nil, ErrMemberUnknown
	}
	p, err := r.processOf(rest)
	if err != nil {
		return nil, nil, err
	}
	c := &change{r: r, to: p, without: m}
	c.swapped = func() {
		m.leaving = true
		r.changes.Add(1)
		for _, a := range r.order {
			configs = append(configs, a.configsOf(c.next)...)
		}
	}
	return m, configs, c.run()
}

// configsOf returns the configurations of the setups that have just been set.
func (a *Agent) configsOf(next map[*loop.Setup]*loop.Setup) (out []*hook.AgentConfig) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range next {
		if s == a.core.Now() || slices.Contains(a.replaced, s) {
			out = append(out, s.Config)
		}
	}
	return out
}

// end waits for the users of a withdrawn member, and ends the member.
func (r *Runtime) end(ctx context.Context, m *attachment, configs []*hook.AgentConfig) error {
	r.awaitUsers(ctx, m)
	lasting := context.WithoutCancel(ctx)
	for _, cfg := range slices.Backward(configs) {
		r.emitFailure(ctx, r.hookWithGrace(ctx, m.alone, point.OnUnregisterAgent, func() error {
			m.alone.OnUnregisterAgent(lasting, cfg)
			return nil
		}))
	}
	own := func(n queue.Name) bool { return n.Path == m.name || strings.HasPrefix(n.Path, m.name+".") }
	if err := r.withGrace(ctx, m.alone.At(point.OnClose), func() error { r.backgroundRuns.Wait(own); return nil }); err != nil {
		r.emit(ctx, hook.Diagnostic{Code: event.CodeBackgroundAbandoned, Text: fmt.Sprintf("background runs of %s that did not end in time still run", m.name)}.Event())
	}
	err := r.hookWithGrace(ctx, m.alone, point.OnClose, func() error { return m.alone.OnClose(lasting) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.members.attached = slices.DeleteFunc(r.members.attached, func(o *attachment) bool { return o == m })
	return err
}

// awaitUsers waits for the turns that have the member. When ctx ends, it cancels them.
func (r *Runtime) awaitUsers(ctx context.Context, m *attachment) {
	r.mu.Lock()
	users := slices.DeleteFunc(slices.Clone(r.members.live), func(p *loop.Process) bool { return !slices.Contains(p.Attached, m.name) })
	r.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { r.cancelUsers(users) })
	defer stop()
	for _, p := range users {
		idle := p.Idle()
		select {
		case <-idle:
			continue
		case <-ctx.Done():
		}
		late := time.NewTimer(turnGraces * r.o.Calls.Grace)
		select {
		case <-idle:
		case <-late.C:
			r.emit(ctx, hook.Diagnostic{Code: event.CodeAgentAbandoned, Text: fmt.Sprintf(
				"%s was detached while turns or compactions still have it: they ignore their cancellation", m.name)}.Event())
		}
		late.Stop()
	}
}

// cancelUsers cancels the turns and compactions that have the hooks.
func (r *Runtime) cancelUsers(of []*loop.Process) {
	for _, a := range r.all() {
		for _, c := range a.all() {
			if slices.Contains(of, c.thread.Setup().Process) {
				c.stop(ErrDetached)
			}
			if s := c.compactingWith(); s != nil && slices.Contains(of, s.Process) {
				c.stopCompaction(ErrDetached)
			}
		}
	}
}
