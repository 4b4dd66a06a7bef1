package loop

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/drive"
	"github.com/grapnel-go/grapnel/runtime/internal/durable"
	"github.com/grapnel-go/grapnel/runtime/internal/given"
	"github.com/grapnel-go/grapnel/runtime/internal/scope"
	"github.com/grapnel-go/grapnel/runtime/internal/stream"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
)

// Turn is the state of one turn. It belongs to the goroutine of its loop; other goroutines
// share the ledger, the handle, deadline, event and end.
type Turn struct {
	*ledger
	turnState
	loop       drive.Loop
	turnCtx    turnContext
	lastingCtx lastingContext
	// deadline is when the cancelled turn has ended at the latest; nil before its
	// cancellation.
	deadline atomic.Pointer[time.Time]
	// hostCalls counts the calls of the host that wait for an agent, a model or people.
	hostCalls atomic.Int32
	// summary is one that requests do not begin with yet.
	summary atomic.Pointer[Summary]
	// event is the loop's newest event, and end its turn_end. They are not in turnState: the
	// goroutine that delivers an event also writes it.
	event, end hook.Event
}

// ledger counts what a turn, its children, tools and hooks use up.
type ledger struct {
	// children counts the agents that the turn and its descendants have run. Only the root
	// turn counts.
	children atomic.Int64
	// money is what the turn and its descendants spend. Only that of the root turn counts.
	money spending.Turn
	// payer has it instead, for a Requester within a turn.
	payer *spending.Turn

	mu    sync.Mutex
	usage message.Usage
	cost  hook.Cost
	// own is the cost of the turn's own model calls, without its children; charged is what
	// AfterStep has seen of it.
	own, charged hook.Cost
}

// turnState is what the owner of an abandoned turn copies to end the turn.
type turnState struct {
	identity
	resources
	contexts
	endState
	storeState
	planState
	emitState
	stepState
	job turnJob
	// out is the outcome, once the job is done.
	out hook.TurnOutcome
	// pendingSteers were taken from the queue; no gate has decided on them yet.
	pendingSteers []durable.Steer
}

// identity says which turn this is.
type identity struct {
	env     *Env
	thread  *Thread
	handle  *Handle
	id      string
	started time.Time
	// read is the weakest label of what the model was given; "" if it was not asked.
	read message.Trust
	// parent is the turn that runs this one; nil for a turn of a user. depth counts the
	// turns above this one.
	parent *Turn
	depth  int
	// ordinal is the number of the turn in its conversation, from 1.
	ordinal int
	// place is the turn as hooks see it. teller updates it.
	place   *hook.Turn
	teller  hook.TurnTeller
	session *session
}

// resources are what a turn may use.
type resources struct {
	// answering is the agent that answers: the conversation's own or a guest.
	answering *Agent
	// base is the setup of the conversation's own agent, and setup that of the agent that answers.
	base, setup *Setup
	// untrackGuest undoes Registration.TrackGuestTurn; nil without a guest.
	untrackGuest func()
	cfg          *hook.AgentConfig
	// model has what this turn overrides of the agent's model.
	model message.Model
	view  *scope.View
	// given are the tools that the caller gives the turn; view has them, too.
	given given.Set
	// ungiven are the names of tools that the turn was given before it was interrupted, and that are the agent's own now. A call
	// of before is not one of the agent's tool.
	ungiven []string
	// hooks are the agent's under the layers of this turn.
	hooks  *scope.Hooks
	layers []plan.Layer
	// allowed are the tools that its parent allows a child; nil allows all of the parent's.
	allowed scope.NameSet
}

// contexts are the contexts of a turn.
type contexts struct {
	// ctx ends when the turn is cancelled or its time is over. noCancel has the same values
	// and never ends.
	ctx      context.Context
	noCancel context.Context
	// expire cancels ctx and frees its timer; nil without a time limit.
	expire context.CancelFunc
	// ownerCtx is the context of the owner, who waits for the loop.
	ownerCtx context.Context
}

// endState decides how the turn ends.
type endState struct {
	signals []hook.StopSignal
	errs    []error
	// overruled counts the leading signals that no longer decide.
	overruled int
	// continued counts how often OnStop continued the turn.
	continued int
	// idleSteps counts the steps that ended before they asked a model.
	idleSteps int
	// unreadableReplies counts the latest replies in a row whose arguments were no JSON.
	unreadableReplies int
	// calls counts the tool calls of the turn.
	calls int
	// final is the content of the last message; empty if there is none.
	final message.List[message.Block]
	// outcomeFixed: the outcome does not change any more.
	outcomeFixed bool
	// explained has, by tool, the id of the call whose error showed the model the schema.
	explained map[string]string
}

// storeState is the history, and how far the store has the turn.
type storeState struct {
	history transcript
	// summarized is the summary that requests begin with; nil without one.
	summarized *Summary
	// firstMessage is the index of the turn's first message in the history, and eventsBefore
	// the sequence of the last event before the turn.
	firstMessage int
	eventsBefore uint64
	// entries are the journal entries that stay until the turn ends. The next commit deletes
	// those in forget.
	entries, forget []int64
	// stored: the history has something of the turn. endStored: its journal entries are
	// deleted. leaseLost: another process has continued the conversation.
	stored, endStored, leaseLost bool
	// resumed counts how often the turn was resumed.
	resumed int
	// interrupted is the journal of the turn that this one resumes; nil once all that it
	// asks for is done. callsRestored: its calls are in openCalls.
	interrupted   *durable.Interrupted
	callsRestored bool
}

// emitState says which events the loop has emitted, and which last hooks it has called. The
// loop sets each bool before it emits or calls.
type emitState struct {
	// emitting is the event that the loop is emitting; nil between two events.
	emitting    *hook.Event
	emittingHow stream.How
	// holding: the loop holds the delivery, so events wait until they are stored.
	holding bool
	// startEmitted is about turn_start, endEmitted about turn_end.
	startEmitted, endEmitted bool
	// subagentEndEmitted is about the event after a child's turn_end.
	subagentEndEmitted bool
	afterTurnCalled    bool
}

// stepState is the state of the running step.
type stepState struct {
	// number counts from 1.
	number     int
	step       *hook.Step
	response   response
	attempts   attempts
	stepRecord stepRecord
	openCalls  openCalls
	// inStep: the step has not ended. afterStepCalled is set before the call.
	inStep, afterStepCalled bool
}

// stepRecord collects the outcome of the step for AfterStep.
type stepRecord struct {
	hook.StepOutcome
	began time.Time
	// errsBefore is how many errors the turn had when the step began.
	errsBefore int
}

// response is the state of one model call.
type response struct {
	collector provider.Collector
	// yield consumes the streams. It is made once a turn.
	yield func(message.Chunk, error) bool
	// open is the kind of the text segment that has not ended.
	open message.BlockKind
	// pieces masks the text of the open segment; nil if nothing is masked.
	pieces io.WriteCloser
	// held: text is shown only after the hooks accept it. shown: some text was shown.
	held, shown bool
	// done: the consumer has asked the stream to stop.
	done bool
	err  error
	// control: the reply is for the loop, so its text is not shown. noTools: its calls are dropped.
	control, noTools bool
}
