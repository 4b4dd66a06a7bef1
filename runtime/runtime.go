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
	"github.com/grapnel-go/grapnel/runtime/internal/keyed"
	"github.com/grapnel-go/grapnel/runtime/internal/loop"
	"github.com/grapnel-go/grapnel/runtime/internal/queue"
	"github.com/grapnel-go/grapnel/runtime/internal/runlog"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/internal/toolrun"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

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
	defaultGate       = 30 * time.Second
	defaultAbandoned  = 32
)

// Options of a Runtime; nil is all zero values.
type Options struct {
	// Store keeps the conversations; nil is a new store in memory. The runtime does not
	// close it: its opener does so after Runtime.Close.
	Store store.Store
	// Project is the project of this runtime's conversations and jobs. The runtime finds
	// no conversations and runs no jobs of other projects in the same store. "" is a
	// project like any other.
	Project string
	// Environment is a part of the system prompt of agents that have tools; zero is none.
	Environment Environment
	// Owner names this runtime to other processes that use the store; "" is random.
	Owner string
	// Lease is how long a conversation stays locked after the process has died within
	// its turn; 0 is 15 seconds, LongestLease is the maximum. A running turn renews its
	// lease.
	Lease time.Duration
	// Gone reports whether the runtime of that owner is known to have died. Its
	// conversations and jobs are then free before their leases end. Nil is never. It is
	// called before a turn begins and when jobs are taken, from several goroutines.
	Gone func(owner string) bool
	// Node: Owner is one of several nodes of the store, see [store.Presence], and beats as long as
	// the runtime is open. Its conversations are its own while it does; Lease and Gone have no
	// effect on conversations. Call CheckLeases when a beat has come too late, and LoseLeases
	// when none has reached the store for so long that others must have taken over.
	Node bool
	// Limits bound every turn, Calls configure tool calls, Events the delivery of events.
	Limits Limits
	Calls  Calls
	Events Events
	// FindAgent returns the configuration of an agent that is not registered and that
	// another agent wants to run. The runtime then registers it. Nil finds none.
	FindAgent func(ctx context.Context, name string) (hook.AgentConfig, error)
	// Jobs configures the jobs that this process runs. Without handlers, jobs are only
	// queued, for another process with the same store. The jobs of members tagged
	// background always run here, within Workers, Attempts and Timeout.
	Jobs JobOptions
	// Layers change the hook for the whole process, the most general layer first. A
	// member that they turn off is not opened. They need a composite: see
	// [composite.Composite.Layered]. An agent may add one layer, its section
	// [LayerSection], and a turn more, TurnOptions.Layers.
	Layers []plan.Layer
	// Price returns the cost of a model call with that usage; nil is 0. model is the
	// model that answered. It is called after every model call, from several goroutines.
	// With Spending it has no effect.
	Price func(model string, u message.Usage) hook.Cost
	// Spending prices model calls, keeps what they cost, and refuses those beyond its limits.
	// Nil keeps nothing.
	Spending *spending.Ledger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID returns ids of turns and jobs, unique in the store; nil is random.
	NewID func() string
}

// Limits bound every turn of a Runtime, in addition to the [hook.Limits] of its agent.
type Limits struct {
	// Result bounds, in bytes, the text of a tool result if the tool declares no limit,
	// the texts and arguments of events, and the answer of Host.CallModel. 0 is 100,000.
	Result int
	// Reply bounds the text and the calls of one reply of a model. A larger reply is cut
	// and fails with a [provider.TooLargeError]: its text is not stored and none of its
	// calls run. The zero Limits are the defaults.
	Reply provider.Limits
	// Contributions bounds what hooks contribute to one turn.
	Contributions ContributionBudget
	// Depth is how deep agents may run agents: 1 lets an agent run others, which run
	// none. 0 is 3, negative forbids running agents.
	Depth int
	// Children bounds the agents that a turn may run, including those that its children
	// run. 0 is 256, negative is no limit. Models decide which agents run, so without a
	// bound one message could start thousands.
	Children int
	// Resumes is how often one turn may be resumed; 0 is 3. The limit stops a turn that
	// kills its process each time.
	Resumes int
	// Unreadable is the number of consecutive replies with arguments that are no JSON
	// after which the turn ends with ErrArguments. Before that the model gets the error
	// and the turn continues. 0 is 3; 1 and negative numbers end the turn at the first.
	Unreadable int
	// Gate is how long a hook that decides about the turn, or rewrites something of it, may take
	// before the turn ends with ErrLateGate; 0 is 30 seconds, negative is for ever. The tag
	// timeout=… of a field sets a shorter one. Approve may take as long as it likes, and any hook
	// while it waits for a person, an agent or a model.
	Gate time.Duration
}

// ContributionBudget bounds what hooks contribute to one turn.
type ContributionBudget = contribution.Budget

// Calls configure how a Runtime runs tool calls.
type Calls struct {
	// Slots is how many tools may run at once in the whole process; 0 is 128. Tools that
	// wait for a person or an agent do not count.
	Slots int
	// Abandoned is how many abandoned calls of one tool may still run; 0 is 32. Beyond
	// that, a further call of the tool fails at once. A call is abandoned when it ignores
	// its context for the grace period. It gives its slot back, and keeps its exclusive
	// key until it ends.
	Abandoned int
	// Grace is how long a cancelled turn waits for its tools or for a hook; 0 is 5
	// seconds. In all, the turn waits twice as long at most. The turn of a child waits
	// half as long as its parent's.
	Grace time.Duration
	// Contributors bounds the hooks that contribute to turns at the same time, because
	// their tags say parallel; the zero value has the defaults.
	Contributors composite.Parallel
}

// Events configure which events a Runtime emits and holds for later subscribers.
type Events struct {
	// Recent is how many events of a conversation are held for later subscribers, in the
	// 64 conversations that were active last; 0 holds none.
	Recent int
	// RecordHooks emits an event [event.HookRun] for every hook run, to observers,
	// subscribers, the hooks themselves and the store. Open then links the composite with
	// a recorder; false costs nothing.
	RecordHooks bool
	// Mask masks what events and the lists of requests show, for hooks at OnEvent too; nil masks
	// nothing. Models, tools and all other hooks get everything as it is. It does not mask what is
	// stored: Options.Store does, if it is to be.
	Mask Masker
}

// Environment describes to an agent the system that its tools work on. Empty fields
// are left out.
type Environment = scope.Environment

// Runtime runs agents over one hook and one provider. Make it with New, then
// Open; all methods are safe for concurrent use.
type Runtime struct {
	// given is the hook that New got. members adds to it layers, members that come and go, and the
	// recorder.
	given    hook.Hook
	members  members
	provider provider.Provider
	o        Options
	// finding locks the name of an agent while it is found and registered.
	finding keyed.Locks
	// abandoned counts abandoned hooks.
	abandoned abandoned.Counts
	// lateRuns counts the background runs that did not end when the runtime closed.
	lateRuns atomic.Int64
	// loops run the loops of turns, tools their tool calls.
	loops drive.Pool
	tools *toolrun.Runner

	// host is the host outside any conversation.
	host    *host
	streams *stream.Hub
	// home is where the conversations are kept that are stored.
	home home
	// requests wait for the answers of people.
	requests human.Table
	// states are the conversation states of the hook, by key.
	states map[string]hook.State
	jobs   jobs
	// runs keeps records of hook runs and jobs; nil if the store keeps none.
	runLog *runlog.Log
	// jobMembers are the members that jobs call.
	jobMembers []composite.InBackground
	// backgroundRuns are the runs that Host.Go started.
	backgroundRuns *queue.Queues
	// volatile: the store keeps nothing that outlives the process.
	volatile bool

	mu     sync.Mutex
	state  state
	agents map[string]*Agent
	// order is the visible agents in the order of their registration.
	order []*Agent
	// changes counts the unfinished calls that change agents or members.
	changes sync.WaitGroup
}

type state int

const (
	stateNew state = iota
	stateOpening
	stateOpen
	stateClosed
)

// New returns a runtime that is not open yet. A nil h is hook.Nop, and nil options are
// all zero values. New panics if the provider is nil.
func New(h hook.Hook, p provider.Provider, o *Options) *Runtime {
	if p == nil {
		panic("runtime: New: the provider is nil")
	}
	if h == nil {
		h = hook.Nop{}
	}
	// Open composes the hook: until then members may be set.
	r := &Runtime{given: h, provider: p, agents: map[string]*Agent{}}
	r.members.process.Store(&loop.Process{Hooks: scope.None()})
	if o != nil {
		r.o = *o
	}
	r.o.fill()
	r.tools = toolrun.New(toolrun.Options{Slots: r.o.Calls.Slots, Abandoned: r.o.Calls.Abandoned})
	r.home.leases = durable.NewLeases(durable.Options{
		Store: r.o.Store, Owner: r.o.Owner, Hold: r.o.Lease, Gone: r.o.Gone, Node: r.o.Node, Now: r.o.Now, Queued: r.jobsQueued,
	})
	r.volatile = r.o.Store.Volatile()
	r.backgroundRuns = r.newBackgroundRuns()
	r.streams = stream.NewHub(r.streamOptions())
	r.host = r.newHost()
	r.home.env = r.newEnv()
	return r
}

// newEnv returns the part of the runtime that turns use.
func (r *Runtime) newEnv() *loop.Env {
	return &loop.Env{
		Provider: r.provider, Store: r.o.Store, Project: r.o.Project, Environment: r.o.Environment,
		Limits: loop.Limits(r.o.Limits), Grace: r.o.Calls.Grace, Agent: r.agentOf, Find: r.findAgent,
		Spending: r.o.Spending, Now: r.o.Now, NewID: r.o.NewID,
		Tools: r.tools, Loops: &r.loops, Abandoned: &r.abandoned, Requests: &r.requests, Background: r.backgroundRuns,
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
	if o.Spending == nil {
		o.Spending = spending.Priced(o.Price)
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

// fillShared fills in the limits, and the options that concern other processes.
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
	o.Limits.Gate = cmp.Or(o.Limits.Gate, defaultGate)
	o.Limits.Depth = cmp.Or(o.Limits.Depth, defaultDepth)
	if o.Limits.Children = cmp.Or(o.Limits.Children, defaultChildren); o.Limits.Children < 0 {
		o.Limits.Children = math.MaxInt
	}
}

// Open opens the hook (OnOpen) and starts the jobs; agents can then be registered. If it
// fails, nothing is left open and it may be called again. Otherwise a second call is an
// error; after Close it is ErrClosed.
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
	r.runLog.Start()
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
	h, err := c.Bounded(r.o.Calls.Contributors).Layered(r.o.Layers...)
	if err != nil {
		return err
	}
	if err := h.Ready(); err != nil {
		return err
	}
	if err := r.findStates(c); err != nil {
		return err
	}
	r.jobMembers = h.InBackground()
	r.jobs, r.runLog = r.newJobs(), r.newRuns()
	p := &loop.Process{Hooks: scope.New(r.recorded(h))}
	r.members.fixed = h
	r.members.process.Store(p)
	r.members.live = []*loop.Process{p}
	return p.Hooks.OnOpen(ctx, r.host)
}

// recorded returns the composite that records its hook runs, if the options say so.
func (r *Runtime) recorded(c *composite.Composite) *composite.Composite {
	if !r.o.Events.RecordHooks {
		return c
	}
	o := &composite.RecordOptions{Now: r.o.Now, Opener: r.host}
	if r.runLog != nil {
		o.Log = hookRuns{r}
	}
	return c.Recorded(o)
}

// hooks returns the hooks of the process.
func (r *Runtime) hooks() *scope.Hooks { return r.members.process.Load().Hooks }

// enter changes the state if it is from.
func (r *Runtime) enter(from, to state) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.state == stateClosed:
		return ErrClosed
	case r.state != from:
		return errors.New("runtime: Open was called already; call it once for each Runtime")
	}
	r.state = to
	return nil
}

// Close closes the runtime: it refuses new turns, waits for the running ones,
// unregisters all agents in the reverse order of their registration, waits for
// background runs and running jobs, and closes the hook (OnClose). New work is then
// refused with ErrClosed, and so is a second Close. It must not be called from within a
// turn.
//
// When ctx ends, Close cancels the running turns, background runs and jobs, and does
// everything else all the same. A cancelled turn ends within two grace periods,
// Options.Calls.Grace. A cancelled job is queued again.
//
// Close waits for a hook that hangs until ctx has ended and for one more grace period.
// However many hooks hang, Close returns six grace periods after the end of ctx; the
// rest of the work then continues in the background.
//
// Close waits for abandoned calls and hooks until ctx ends. If some still run then, the
// error is ErrAbandoned and lists them with their numbers.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	was := r.state
	if was == stateOpening {
		r.mu.Unlock()
		return errors.New("runtime: Close was called before Open had returned; wait for Open, or end its context")
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
		return abandonedError(slices.Concat(r.abandoned.Wait(ctx), r.tools.Abandoned())...)
	}
	return err
}

// closeGraces is how many grace periods Close takes at most: turnGraces for the turns,
// and some for the hooks at the points of closing.
const closeGraces = turnGraces + 3

func (r *Runtime) close(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.cancelTurns)
	defer stop()
	_ = r.withGrace(ctx, r.hooks().At(point.OnRegisterAgent), func() error { r.changes.Wait(); return nil })
	for _, a := range slices.Backward(r.visible()) {
		r.retire(ctx, a, ErrClosed)
	}
	r.home.leases.Close()
	r.loops.Close()
	r.closeBackgroundRuns(ctx)
	_ = r.withGrace(ctx, abandoned.Work{Point: "job"}, func() error { r.jobs.Close(ctx); return nil })
	defer r.streams.Close()
	defer func() {
		_ = r.withGrace(ctx, abandoned.Work{Point: "runs"}, func() error { r.runLog.Close(); return nil })
	}()
	hooks, tools := r.abandoned.Wait(ctx), r.tools.Close(ctx)
	return errors.Join(abandonedError(slices.Concat(hooks, tools)...), r.hookWithGrace(ctx, r.hooks(), point.OnClose, func() error { return r.hooks().OnClose(context.WithoutCancel(ctx)) }))
}

// cancelTurns cancels every running turn.
func (r *Runtime) cancelTurns() {
	for _, a := range r.all() {
		a.cancelTurns(ErrClosed)
	}
}

// all returns the agents in no order, including those that are being registered or
// unregistered.
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

// checkOpen returns ErrNotOpen or ErrClosed unless the runtime is open.
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
