package runtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite"
	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/abandoned"
	"github.com/grapnel-go/grapnel/runtime/internal/contribution"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/human"
	"github.com/grapnel-go/grapnel/runtime/internal/job"
	"github.com/grapnel-go/grapnel/runtime/internal/keyed"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// DefaultSteps is how many steps a turn of an agent without [hook.Limits] may have.
const DefaultSteps = loop.DefaultSteps

// Defaults of Options.
const (
	defaultSlots      = 128
	defaultMaxResult  = 100_000
	defaultGrace      = 5 * time.Second
	defaultLease      = 15 * time.Second
	defaultDepth      = 3
	defaultChildren   = 256
	defaultResumes    = 3
	defaultUnreadable = 3
	defaultAbandoned  = 32
)

// Options of a Runtime; nil is all zero values.
type Options struct {
	// Store keeps the conversations; nil is a store in memory. Who opened it
	// closes it, after the runtime.
	Store store.Store
	// Project is whose conversations and jobs are this runtime's: those of others in
	// the same store it neither finds nor does. "" is a project like any other.
	Project string
	// Environment is told to agents that have tools; zero tells nothing.
	Environment Environment
	// Owner names this runtime to other processes that use the store; "" is random.
	Owner string
	// Lease is how long a conversation stays this runtime's after its process has
	// died within a turn; 0 is 15 seconds, and LongestLease the most. Turns that take
	// longer prolong it.
	Lease time.Duration
	// Gone reports whether the runtime of that owner is known to have died, so that
	// its conversations need not wait for the end of their leases; nil knows of
	// none. It is called before a turn begins.
	Gone func(owner string) bool
	// Limits bound every turn, Calls are about tool calls, Events about what is told.
	Limits Limits
	Calls  Calls
	Events Events
	// FindAgent returns the configuration of an agent that another one wants to run
	// and that is not registered, which it then is. Nil knows none.
	FindAgent func(ctx context.Context, name string) (hook.AgentConfig, error)
	// Jobs says which jobs this process does, and how. Without handlers they are only
	// queued, for another process with the same store; but the jobs of members tagged
	// background run here, as Workers, Attempts and Timeout say.
	Jobs JobOptions
	// Layers are the configuration of the whole process, the most general one first:
	// members of the hook that they turn off are not even opened. They need a composite;
	// see [composite.Composite.Layered]. Agents may have one more, their section [LayerSection],
	// and turns others, TurnOptions.Layers.
	Layers []plan.Layer
	// Price returns what a call of the model costs that has used so much; nil is 0.
	// model is the one that answered. It is called after every model call, from
	// several goroutines.
	Price func(model string, u message.Usage) hook.Cost
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes the ids of turns, unique in the store; nil is random.
	NewID func() string
}

// Limits bound every turn of a Runtime. An agent has limits of its own beside them: see
// [hook.Limits].
type Limits struct {
	// Result bounds, in bytes, the text of a tool result where the tool itself says
	// nothing, the texts and arguments of events, and the answer of Host.CallModel. 0 is
	// 100,000.
	Result int
	// Reply bounds the text and the calls of one reply of a model. A reply that exceeds
	// it is cut and fails with a [provider.TooLargeError]: its text is not stored and
	// none of its calls run. The zero Limits are the defaults.
	Reply provider.Limits
	// Contributions bounds what hooks contribute to one turn.
	Contributions ContributionBudget
	// Depth is how deep agents may run agents: 1 lets an agent run others that may
	// run none. 0 is 3, negative is not at all.
	Depth int
	// Children is how many agents a turn may run, with those that they run and so on. 0
	// is 256, negative is no limit. Which agents run which is a model's choice, and
	// without a bound one message could start thousands.
	Children int
	// Resumes is how often one turn may be resumed, so that a turn that kills its
	// process does not do so for ever; 0 is 3.
	Resumes int
	// Unreadable is the number of replies in a row with a call whose arguments are no
	// JSON that ends a turn; before that the model is told what is wrong and the turn
	// continues. 0 is 3; 1 or less ends it at the first.
	Unreadable int
}

// ContributionBudget bounds what hooks contribute to one turn.
type ContributionBudget = contribution.Budget

// Calls say how a Runtime runs tool calls.
type Calls struct {
	// Slots is how many tools may run at once in the whole process, those that
	// wait for a person or an agent aside; 0 is 128.
	Slots int
	// Abandoned is how many calls of one tool may be abandoned and still run: then a
	// further call of the tool fails at once. A call is abandoned when it ignores its
	// context for the grace period. It gives its slot back, and keeps its exclusive key
	// until it ends. 0 is 32.
	Abandoned int
	// Grace is how long a cancelled turn waits for its tools, or for a hook, and half of
	// what it waits for in all; 0 is 5 seconds. A child's turn waits half as long as its
	// parent's.
	Grace time.Duration
}

// Events say what a Runtime tells, and what it holds for those who come late.
type Events struct {
	// Recent is how many events of a conversation are held for who subscribes late,
	// for the 64 conversations that were active last; 0 holds none.
	Recent int
	// RecordHooks tells every hook run as an event, [event.HookRun], which
	// observers, subscribers and the hooks themselves get and the store keeps. The
	// composite is then linked with a recorder when the runtime is opened. Without it
	// nothing is paid.
	RecordHooks bool
}

// Environment is what an agent is told about where its tools work. Empty fields
// are left out.
type Environment = scope.Environment

// Runtime runs agents over one hook and one provider. Make it with New, then
// Open; all methods are safe for concurrent use.
type Runtime struct {
	// given is the hook as it was given, and hooks what is called: the same, or that
	// with layers over it, or the one that records it.
	given    hook.Hook
	hooks    *scope.Hooks
	provider provider.Provider
	o        Options
	// finding are the names of agents that are being looked for.
	finding keyed.Locks
	// abandoned counts hooks that nobody waits for any more.
	abandoned abandoned.Counts
	// lateBeside counts the background runs that did not end when the runtime closed.
	lateBeside atomic.Int64
	// loops run the loops of turns, tools their tool calls.
	loops drive.Pool
	tools *toolrun.Runner

	// host is that of what is outside any conversation.
	host    *host
	streams *stream.Hub
	leases  *durable.Leases
	// requests wait for the answers of people.
	requests human.Table
	// states are those that hooks keep in conversations.
	states map[string]hook.State
	jobs   *job.Runner
	// background are the members that are told by jobs.
	background []composite.InBackground
	// beside is what runs beside turns.
	beside *queue.Queues
	// volatile: the store keeps nothing that outlives the process.
	volatile bool
	// env is what turns use of the runtime.
	env *loop.Env

	mu     sync.Mutex
	state  state
	agents map[string]*Agent
	// order is the visible agents in the order of their registration.
	order []*Agent
	// changes counts registrations and unregistrations under way.
	changes sync.WaitGroup
}

type state int

const (
	stateNew state = iota
	stateOpening
	stateOpen
	stateClosed
)

// New returns a runtime that is not open yet. A nil h is hook.Nop.
func New(h hook.Hook, p provider.Provider, o *Options) *Runtime {
	if p == nil {
		panic("runtime: New: the provider is nil")
	}
	if h == nil {
		h = hook.Nop{}
	}
	// The hook is composed when the runtime is opened: until then members may be set.
	r := &Runtime{given: h, hooks: scope.None(), provider: p, agents: map[string]*Agent{}}
	if o != nil {
		r.o = *o
	}
	r.o.fill()
	r.tools = toolrun.New(toolrun.Options{Slots: r.o.Calls.Slots, Abandoned: r.o.Calls.Abandoned})
	r.leases = durable.NewLeases(durable.Options{Store: r.o.Store, Owner: r.o.Owner, Hold: r.o.Lease, Gone: r.o.Gone, Now: r.o.Now})
	r.volatile = r.o.Store.Volatile()
	r.beside = r.newLanes()
	r.streams = stream.NewHub(r.streamOptions())
	r.host = r.newHost()
	r.env = r.newEnv()
	return r
}

// newEnv returns what turns use of the runtime.
func (r *Runtime) newEnv() *loop.Env {
	return &loop.Env{
		Provider: r.provider, Store: r.o.Store, Project: r.o.Project, Environment: r.o.Environment,
		Limits: loop.Limits(r.o.Limits), Grace: r.o.Calls.Grace, Agent: r.agentOf, Find: r.findAgent,
		Price: r.o.Price, Now: r.o.Now, NewID: r.o.NewID,
		Tools: r.tools, Loops: &r.loops, Abandoned: &r.abandoned, Requests: &r.requests, Background: r.beside,
	}
}

func (o *Options) fill() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Store == nil {
		o.Store = mem.New(&mem.Options{Now: o.Now})
	}
	if o.NewID == nil {
		o.NewID = rand.Text
	}
	if o.Calls.Slots <= 0 {
		o.Calls.Slots = defaultSlots
	}
	if o.Calls.Abandoned <= 0 {
		o.Calls.Abandoned = defaultAbandoned
	}
	if o.Limits.Result <= 0 {
		o.Limits.Result = defaultMaxResult
	}
	if o.Calls.Grace <= 0 {
		o.Calls.Grace = defaultGrace
	}
	o.fillShared()
}

// fillShared fills in what several processes have to do with.
func (o *Options) fillShared() {
	if o.Owner == "" {
		o.Owner = rand.Text()
	}
	if o.Lease <= 0 {
		o.Lease = defaultLease
	}
	o.Lease = min(o.Lease, LongestLease)
	if o.Limits.Resumes <= 0 {
		o.Limits.Resumes = defaultResumes
	}
	o.Limits.Unreadable = cmp.Or(o.Limits.Unreadable, defaultUnreadable)
	o.Limits.Depth = cmp.Or(o.Limits.Depth, defaultDepth)
	if o.Limits.Children = cmp.Or(o.Limits.Children, defaultChildren); o.Limits.Children < 0 {
		o.Limits.Children = math.MaxInt
	}
}

// Open opens the hook (OnOpen) and lets agents be registered. If it fails,
// nothing is left open and it may be called again. The error of a second call
// says so.
func (r *Runtime) Open(ctx context.Context) error {
	if err := r.enter(stateNew, stateOpening); err != nil {
		return err
	}
	err := r.openHook(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.state = stateNew
		return fmt.Errorf("open: %w", err)
	}
	r.state = stateOpen
	r.jobs.Start()
	return nil
}

func (r *Runtime) openHook(ctx context.Context) error {
	if err := r.checkJobs(); err != nil {
		return err
	}
	c, err := composite.From(r.given)
	if err != nil {
		return err
	}
	h, err := c.Layered(r.o.Layers...)
	if err != nil {
		return err
	}
	if err := h.Ready(); err != nil {
		return err
	}
	if err := r.findStates(c); err != nil {
		return err
	}
	r.background = h.InBackground()
	r.jobs = r.newJobs()
	if r.o.Events.RecordHooks {
		h = h.Recorded(&composite.RecordOptions{Now: r.o.Now})
	}
	r.hooks = scope.New(h)
	return r.hooks.OnOpen(ctx, r.host)
}

// enter goes from one state to another, or says why it cannot.
func (r *Runtime) enter(from, to state) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state == stateClosed:
		return ErrClosed
	case r.state != from:
		return errors.New("runtime: Open was called before")
	}
	r.state = to
	return nil
}

// Close lets no new turn begin, waits for those in flight, unregisters all
// agents in the reverse order of their registration, waits for the hooks that run
// beside turns and for the jobs that are being done, and closes the hook (OnClose).
// When ctx ends, turns in flight are cancelled, so that they end within the grace
// period, and so are the hooks beside them, and jobs, which are queued again;
// everything else is done all the same. It must not be
// called from within a turn. After it everything answers ErrClosed.
//
// A hook that does not return when it is told of an end is waited for until ctx has
// ended, and then for the grace period. However many hang, Close returns six grace
// periods after ctx has ended; the rest is then done without being waited for.
//
// Close waits for abandoned calls and hooks until ctx ends. Its error is then
// ErrAbandoned and says how many of which are left.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	was := r.state
	if was == stateOpening {
		r.mu.Unlock()
		return errors.New("runtime: Close was called before Open had returned")
	}
	r.state = stateClosed
	r.mu.Unlock()
	switch was {
	case stateClosed:
		return ErrClosed
	case stateNew:
		return nil
	}
	late, stop := abandoned.Late(ctx, closeGraces*r.o.Calls.Grace)
	defer stop()
	err := r.begin(abandoned.Work{Point: "Close"}, func() error { return r.close(ctx) }).Wait(late)
	if err == abandoned.ErrStillRuns {
		return leftError(slices.Concat(r.abandoned.Wait(ctx), r.tools.Abandoned())...)
	}
	return err
}

// closeGraces is how many grace periods Close takes: turnGraces for the turns, and some
// for what is told of the ends.
const closeGraces = turnGraces + 3

func (r *Runtime) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.cancelTurns)
	defer stop()
	_ = r.bounded(ctx, r.hooks.At(point.OnRegisterAgent), func() error { r.changes.Wait(); return nil })
	for _, a := range slices.Backward(r.visible()) {
		r.retire(ctx, a, ErrClosed)
	}
	r.leases.Close()
	r.loops.Close()
	r.closeBeside(ctx)
	_ = r.bounded(ctx, abandoned.Work{Point: "job"}, func() error { r.jobs.Close(ctx); return nil })
	defer r.streams.Close()
	hooks, tools := r.abandoned.Wait(ctx), r.tools.Close(ctx)
	return errors.Join(leftError(slices.Concat(hooks, tools)...), r.boundedHook(ctx, r.hooks, point.OnClose, func() error { return r.hooks.OnClose(context.WithoutCancel(ctx)) }))
}

// cancelTurns cancels every turn in flight.
func (r *Runtime) cancelTurns() {
	for _, a := range r.all() {
		a.cancelTurns(ErrClosed)
	}
}

// all returns the agents in no order, also those that come or go.
func (r *Runtime) all() []*Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.agents))
}

func (r *Runtime) visible() []*Agent {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}

// checkOpen returns ErrClosed or ErrNotOpen where nothing can be done.
func (r *Runtime) checkOpen() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checkOpenLocked()
}

func (r *Runtime) checkOpenLocked() error {
	switch r.state {
	case stateOpen:
		return nil
	case stateClosed:
		return ErrClosed
	}
	return ErrNotOpen
}
