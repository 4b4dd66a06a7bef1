package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// Turn is the state of one turn. It belongs to the goroutine of its loop; what other
// goroutines share is in ledger.
type Turn struct {
	*ledger
	turnState
	// loop is what the owner may abandon; see package drive. turnCtx and lastingCtx are
	// what the contexts of the turn are made of.
	loop       drive.Loop
	turnCtx    turnContext
	lastingCtx lastingContext
	// deadline is when the turn has ended at the latest, from its cancellation on; nil
	// before.
	deadline atomic.Pointer[time.Time]
	// event is the newest event of the loop, and end that of the turn's end. They are no
	// part of the state: whoever delivers an event stamps it while the loop is away.
	event, end hook.Event
}

// ledger is what a turn and its children, tools and hooks use up.
type ledger struct {
	// children is how many agents the turn has run, with those that they have run and so
	// on. Only the ledger of a turn without a parent counts.
	children atomic.Int64

	mu    sync.Mutex
	usage message.Usage
	cost  hook.Cost
}

// turnState is what the owner of an abandoned turn goes on with.
type turnState struct {
	identity
	resources
	contexts
	endState
	storeState
	emitState
	stepState
	// job is what the loop does, and out what came of it.
	job turnJob
	out hook.TurnOutcome
	// pendingSteers are the letters that are out of the mailbox and not answered.
	pendingSteers []durable.Steer
}

// identity is what a turn is.
type identity struct {
	env    *Env
	thread *Thread
	// handle is what those outside the loop have of the turn.
	handle  *Handle
	id      string
	started time.Time
	// parent is the turn that runs this one, nil for one that a user has started, and
	// depth how many turns run it.
	parent *Turn
	depth  int
	// place is what hooks see of the turn, and teller tells it how far the turn is.
	place   *hook.Turn
	teller  hook.TurnTeller
	session *session
}

// resources are what a turn may use.
type resources struct {
	// answering is the agent that answers, which may be a guest.
	answering *Agent
	// untrackGuest ends the visit of a guest; nil if the conversation's own agent answers.
	untrackGuest func()
	cfg          *hook.AgentConfig
	view         *scope.View
	// hooks are those of the agent with the layers of this turn, with which its children
	// run too.
	hooks  *scope.Hooks
	layers []plan.Layer
	// allowed are the tools that a child may be given; nil is all.
	allowed scope.NameSet
}

// contexts are the contexts of a turn.
type contexts struct {
	// ctx ends when the turn is cancelled or its time is over. durable has its values and
	// does not end.
	ctx      context.Context
	noCancel context.Context
	// expire ends ctx where the agent limits the time; else nil.
	expire context.CancelFunc
	// ownerCtx is the context of the owner.
	ownerCtx context.Context
}

// endState is what decides how a turn ends.
type endState struct {
	signals []hook.StopSignal
	errs    []error
	// overruled is how many of the signals count no more, and continued how often OnStop
	// has had the turn go on.
	overruled, continued int
	// idleSteps is how many steps ended before they asked a model, and unreadable how many
	// replies in a row had arguments that are no JSON.
	idleSteps, unreadableReplies int
	// calls is the number of the turn's tool calls.
	calls int
	// final is the content of the last message; empty if there is none.
	final message.List[message.Block]
	// outcomeFixed: how the turn ended is settled.
	outcomeFixed bool
	// explained has the call with whose error the schema of a tool was sent.
	explained map[string]string
}

// storeState is what of a turn is history and journal.
type storeState struct {
	history transcript
	// firstMessage is where the turn's messages begin in the history, and before the number of the
	// last event before the turn.
	firstMessage int
	eventsBefore uint64
	// entries are those of the journal that stay until the turn ends, and forget those
	// that the next commit takes away.
	entries, forget []int64
	// stored: something of the turn is history. ended: it has left the journal. lost:
	// another process has gone on with the conversation.
	stored, endStored, leaseLost bool
	// resumed is how often the turn was resumed.
	resumed int
	// interrupted is the interrupted turn that this one resumes, until the loop has done all
	// that its journal asks for. recalled: its calls are those of this turn.
	interrupted   *durable.Interrupted
	callsRestored bool
}

// emitState is what listeners know of a turn.
type emitState struct {
	// emitting is the event that the loop is telling of, nil between two, and postedHow how.
	emitting    *hook.Event
	emittingHow stream.How
	// holding: what is emitted is told when it is written down.
	holding bool
	// startEmitted: listeners have been, or are being, told of the turn. closed: they have been
	// told of its end as a child.
	startEmitted, subagentEndEmitted bool
	// endEmitted: the loop has begun to tell of the turn's end. toldAfter: AfterTurn is or was
	// told of it.
	endEmitted, afterTurnCalled bool
}

// stepState belongs to the step.
type stepState struct {
	// number is that of the step, from 1 on.
	number     int
	step       *hook.Step
	response   response
	attempts   attempts
	stepRecord stepRecord
	// openCalls are the calls of the reply that the loop has not finished.
	openCalls openCalls
	// inStep: a step has begun and not ended. judged: AfterStep is or was told of its
	// end.
	inStep, afterStepCalled bool
}

// stepRecord is what AfterStep is told of the step; empty if nobody asks.
type stepRecord struct {
	hook.StepOutcome
	began time.Time
	// errsBefore is how many errors the turn had before.
	errsBefore int
}

// response is the state of one model call.
type response struct {
	collector provider.Collector
	// yield is the consumer of the streams, made once a turn.
	yield func(message.Chunk, error) bool
	// open is the kind of the text segment whose end is still to come.
	open message.BlockKind
	// held: text is not shown before it is accepted; shown: some has been.
	held, shown bool
	// done: the stream has been told to stop.
	done bool
	err  error
}

// DefaultSteps is how many steps a turn may have whose agent has no limit.
const DefaultSteps = 20

// Input is what a turn begins with, and how it is to run.
type Input struct {
	Message message.Input
	// Observe is handed the turn's events; nil is handed none.
	Observe func(hook.Event)
	// Guest is the agent that answers in the place of the conversation's own; "" is none.
	Guest  string
	Layers []plan.Layer
}

// Run runs a turn to its end, whatever happens.
func (th *Thread) Run(ctx context.Context, h *Handle, in Input) hook.TurnOutcome {
	t := th.newTurn(ctx, h)
	t.job = turnJob{run: (*Turn).runForUser, input: in}
	return t.drive(ctx).out
}

// runForUser is the loop of a turn that a user has started.
func (t *Turn) runForUser() hook.TurnOutcome {
	err := t.applyLayers(t.job.input.Layers)
	if guest := t.job.input.Guest; err == nil && guest != "" {
		err = t.setGuest(guest)
	}
	if err != nil {
		_ = t.thread.Lease.Release(t.noCancel) // the next turn finds out if that did not work
		return hook.TurnOutcome{Stop: hook.StopError, Err: err}
	}
	return t.run(t.job.input.Message, t.job.input.Observe)
}

// viewOf asks the hooks what an agent sees of them.
func (t *Turn) viewOf(h *scope.Hooks, cfg *hook.AgentConfig) (*scope.View, error) {
	t.enterForeign(point.Schema)
	defer t.exitForeign()
	return h.View(cfg, t.env.Environment, false)
}

// newTurn returns a turn that the conversation's own agent answers.
func (th *Thread) newTurn(ctx context.Context, h *Handle) *Turn {
	a := th.Agent
	t := &Turn{ledger: new(ledger)}
	t.identity = identity{env: th.Env, thread: th, handle: h, id: th.Env.NewID(), started: th.Env.Now()}
	t.resources = resources{answering: a, cfg: a.Config, view: a.View.Load(), hooks: a.Hooks}
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
		_ = t.thread.Lease.Release(t.noCancel) // the next turn finds out if that did not work
		return hook.TurnOutcome{Stop: hook.StopError, Err: err}
	}
	if t.begin(in) {
		t.runSteps()
	}
	out := t.finish()
	t.leave()
	return out
}

// enter makes the turn the one that runs; leave undoes that.
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
	if t.untrackGuest != nil {
		t.untrackGuest()
	}
	t.enterForeign(point.OnEvent)
	t.thread.Log.End(context.Background(), t) // who leaves the loop behind wakes it
	t.exitForeign()
	if t.expire != nil {
		t.expire()
	}
}

// newPlace makes the place that hooks see.
func (t *Turn) newPlace(in message.Input) {
	limits := t.cfg.Limits
	limits.Steps = cmp.Or(limits.Steps, DefaultSteps)
	t.session = t.thread.ensureSession(t.thread.defaultSource())
	d := hook.TurnData{
		Conversation: t.thread.Place, Session: t.session.place, ID: t.id, Number: t.thread.Lease.Turns() + 1, Started: t.started,
		Depth: t.depth, Input: in, Limits: limits, Now: t.env.Now,
	}
	if t.parent != nil {
		d.Parent = t.parent.place
	}
	t.place, t.teller = hook.NewTurn(d)
	t.updatePlace()
}

// updatePlace tells the place how far the turn is.
func (t *Turn) updatePlace() {
	usage, cost := t.spent()
	t.teller.Tell(hook.Standing{
		History: t.thread.Lease.History(), Usage: usage, Cost: cost, Steps: t.number - t.idleSteps,
		Signals: message.Freeze(t.signals), Errors: message.Freeze(t.errs),
	})
}

// runSteps runs steps until one of them ends the turn and no hook has it go on. No step
// begins once the tokens are used up, which a child's parent may have done before.
func (t *Turn) runSteps() {
	limits := t.place.Limits()
	for !t.tokensUsedUp() {
		if limits.Steps > 0 && t.number >= limits.Steps {
			t.signal(hook.StopStepsLimit, "", fmt.Sprintf("Step limit reached: %d/%d", t.number, limits.Steps))
			return
		}
		if t.runStep() {
			continue // the next one begins when this one ends
		}
		if !t.askStop() {
			return
		}
	}
}

// tokensUsedUp notes if the tokens are used up.
func (t *Turn) tokensUsedUp() bool {
	over := t.outOfTokens()
	if over == nil {
		return false
	}
	used, _ := over.spent()
	t.signal(hook.StopTokenLimit, "", fmt.Sprintf("Token limit reached: %d/%d", used.Total(), over.cfg.Limits.Tokens))
	return true
}

// finish tells everybody how the turn ended.
func (t *Turn) finish() hook.TurnOutcome {
	t.askTurnError()
	for t.addSteers(true) { // what was said too late is for the next turn
		t.stored = true
	}
	logs := t.thread.Log.Keeps()
	if !logs || t.history.stored.Len() > t.thread.Lease.History().Len() {
		t.commitEnd(!logs)
	}
	t.updatePlace()
	t.outcomeFixed = true
	out := t.outcome()
	t.out = out
	t.addToSession(out)
	if out.Stop == hook.StopError || out.Stop == hook.StopDenied && out.Err != nil {
		t.emit(hook.Event{Kind: event.Error, Text: PublicText(out.Err)})
	}
	t.afterTurnCalled = true
	t.enterForeign(point.AfterTurn)
	t.hooks.AfterTurn(t.noCancel, t.place, out)
	t.exitForeign()
	t.end = hook.Event{Kind: event.TurnEnd, Text: out.Text()}.WithUsage(out.Usage, out.Cost, out.Stop)
	t.commitThenEmit(func() {
		t.endEmitted = true
		t.handle.ending.Store(true)
		t.post(&t.end, stream.How{Last: true})
	}, func() {
		t.thread.Lease.StopRenewing() // so that nothing prolongs the lease behind the end
		if logs {
			t.commitEnd(true)
		}
		if err := t.thread.Lease.Release(t.noCancel); err != nil {
			t.emit(hook.Event{Kind: event.Diagnostic, Text: err.Error()})
		}
	})
	return out
}

// commitEnd stores what could not be stored before, and the end of the turn. In a
// conversation whose events are kept, the end comes with the event that tells of
// it: a crash before that leaves a turn to be ended, and not one whose end nobody
// is ever told of.
func (t *Turn) commitEnd(turnEnds bool) {
	for tries, done := 0, false; (t.stored || len(t.entries) > 0) && !t.endStored && !t.leaseLost && !done && tries < 2; tries++ {
		if !t.stored && t.history.stored.Len() == t.thread.Lease.History().Len() {
			done = t.withdraw()
		} else {
			done = t.commit(turnEnds)
		}
	}
}

// commitThenEmit writes what tell emits before anybody is told of it. Where events are not
// kept, that is after the write.
func (t *Turn) commitThenEmit(tell, write func()) {
	if !t.thread.Log.Keeps() {
		write()
		tell()
		return
	}
	t.enterForeign(point.OnEvent)
	held, _ := t.thread.Log.Hold(context.Background(), t) // who leaves the loop behind wakes it
	t.exitForeign()
	t.holding = true
	tell()
	write()
	t.holding = false
	t.enterForeign(point.OnEvent)
	held.Release()
	t.exitForeign()
}

func (t *Turn) outcome() hook.TurnOutcome {
	stop, signals := t.stopReasons()
	usage, cost := t.spent()
	out := hook.TurnOutcome{
		Stop: stop, Signals: signals, Message: t.finalMessage(), Usage: usage, Cost: cost,
		Steps: t.number - t.idleSteps, Calls: t.calls, Duration: t.env.Now().Sub(t.started),
	}
	switch stop {
	case hook.StopError, hook.StopCancelled, hook.StopUserRequested, hook.StopDenied:
		out.Err = joinErrors(t.errs)
	}
	return out
}

// finalMessage is the final answer as it stands.
func (t *Turn) finalMessage() message.Message {
	if t.final.Len() == 0 {
		return message.Message{}
	}
	return message.Message{Role: message.RoleAssistant, Content: t.final}
}

func joinErrors(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// PublicText is what clients are told of an error: of a hook's failure the place
// without the cause, which may quote secrets.
func PublicText(err error) string {
	var f *hook.Failure
	switch {
	case errors.As(err, &f):
		return f.Public()
	case err != nil:
		return err.Error()
	}
	return "the turn failed"
}

// signal notes a reason to stop.
func (t *Turn) signal(reason hook.StopReason, by, text string) {
	t.signals = append(t.signals, hook.StopSignal{Reason: reason, By: by, Text: text})
}

// fail ends the turn with an error; if the turn was cancelled, that is the
// reason instead. It returns false, for the callers that say whether to go on.
func (t *Turn) fail(err error) bool {
	if t.ctx.Err() != nil {
		return t.signalCancelled()
	}
	t.errs = append(t.errs, err)
	t.signal(hook.StopError, "", PublicText(err))
	return false
}

// signalCancelled notes that the turn's context has ended. It returns false.
func (t *Turn) signalCancelled() bool {
	cause := context.Cause(t.ctx)
	reason := hook.StopCancelled
	switch {
	case errors.Is(cause, errTimeLimit):
		reason = hook.StopTimeLimit
	case errors.Is(cause, ErrStopped):
		reason = hook.StopUserRequested
	}
	if t.hasSignal(reason) {
		return false
	}
	if reason != hook.StopTimeLimit {
		t.errs = append(t.errs, cause)
	}
	t.signal(reason, "", t.timeLimitText(reason))
	if !errors.Is(cause, ErrLeaseLost) {
		t.journalEnd()
	}
	return false
}

// timeLimitText says which limit of time was reached; "" for any other reason.
func (t *Turn) timeLimitText(reason hook.StopReason) string {
	if limit := t.place.Limits().Time; reason == hook.StopTimeLimit && limit > 0 {
		return fmt.Sprintf("Execution time limit reached: %.2fs/%.2fs", t.place.Elapsed().Seconds(), limit.Seconds())
	}
	return ""
}

// signalStop notes that a hook has answered stop.
func (t *Turn) signalStop(v hook.Verdict) { t.signal(hook.StopStopRequested, v.By, v.Reason) }

// hasStop reports whether a hook has answered stop.
func (t *Turn) hasStop() bool { return t.hasSignal(hook.StopStopRequested) }

// hasSignal reports whether there is a signal of that reason.
func (t *Turn) hasSignal(reason hook.StopReason) bool {
	return slices.ContainsFunc(t.signals, func(s hook.StopSignal) bool { return s.Reason == reason })
}

// grace is how long the turn waits for its tools and hooks after it was cancelled:
// a child half as long as its parent, which waits for it.
func (t *Turn) grace() time.Duration { return t.env.Grace >> t.depth }

// afterContext is the context for what has to be done although the turn may have been
// cancelled: then it lives for the grace period. The caller calls the function.
func (t *Turn) afterContext() (context.Context, func()) {
	if t.ctx.Err() == nil {
		return t.ctx, func() {}
	}
	return context.WithTimeout(t.noCancel, t.grace())
}

// commit stores what has been added to the history since the last time. It does
// so although the turn may have been cancelled.
func (t *Turn) commit(turnEnds bool) bool {
	return t.append(store.Append{TurnEnds: turnEnds})
}

func (t *Turn) append(a store.Append) bool {
	a.Forget = t.forget
	return t.write(func(events []store.Event, states []hook.StateValue) error {
		a.Events, a.States = events, states
		if err := t.thread.Lease.Commit(t.noCancel, t.history.stored, a); err != nil {
			return err
		}
		t.stored, t.endStored, t.forget = true, a.TurnEnds, nil
		return nil
	})
}

// emitHookFailed tells of a hook's failure. A composite has told of who was late
// already, because that one may still run.
func (t *Turn) emitHookFailed(ctx context.Context, f *hook.Failure) {
	if f.Late {
		return
	}
	t.event = f.Event()
	t.postWith(ctx, &t.event, stream.How{})
}
