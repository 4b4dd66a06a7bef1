package hook

import (
	"context"
	"iter"
	"math/bits"
)

// A point is a moment of the lifecycle at which hooks may act: one one-method
// interface each, declared here and nowhere else. The directive above each
// names its kind, its combination rule and its default fail policy; generator,
// composites, function adapters and documentation are made from it.
//
// Rewriters return the value to go on with, each on what the one before left.
// Deciders answer about the final value and cannot change it; their zero answer
// is no opinion. Wraps surround the operation. Observers return nothing. A
// returned error, a panic and a time-out are the hook's own failure: "closed"
// below says what then takes the place of its answer, "open" means as if the
// hook were not there.

// RewriteArgs may change a tool call's arguments. Called on the loop's
// goroutine, in call order, once on the model's arguments and once on each
// modification by a person; what it returns is bound, validated and scoped
// again. args are canonical. Closed: the call is denied.
//
//hook:point rewrite fold failclosed
type RewriteArgs interface {
	RewriteArgs(ctx context.Context, call *ToolCall, args JSON) (JSON, error)
}

// BeforeTool decides whether a bound call may run: no opinion, stop, deny, ask,
// answer in the tool's place, or narrow the grant. Called on the loop's
// goroutine, in call order, before any call of the step runs; the first deny or
// stop ends it. call.Args are final unless a person modifies them, and then it
// is called again. Closed: denied.
//
//hook:point decide gate failclosed
type BeforeTool interface {
	BeforeTool(ctx context.Context, call *ToolCall) (ToolDecision, error)
}

// Approve answers an ask, usually by asking a person; it may block until ctx
// ends. The first answer counts; without any the call is refused. asked is the
// decision that asked. Closed: refused.
//
//hook:point decide first failclosed
type Approve interface {
	Approve(ctx context.Context, call *ToolCall, asked ToolDecision) (ApprovalDecision, error)
}

// WrapTool surrounds the execution of a call, inside which are the exclusive
// key, the slots, the timeout and the recovery of panics. Called concurrently
// for the calls of a step. It calls next.Run once; a second time only for a tool
// that is read-only or idempotent. If it panics, the result of next stands if
// next had returned, else the call gets an error result.
//
//hook:point wrap nest failclosed
type WrapTool interface {
	WrapTool(ctx context.Context, call *ToolCall, next ToolNext) ToolResult
}

// RewriteResult may change a result before anyone else sees it. Called on the
// loop's goroutine in completion order, inner hook first. Closed: withheld.
//
//hook:point rewrite fold reverse failclosed
type RewriteResult interface {
	RewriteResult(ctx context.Context, call *ToolCall, result ToolResult) (ToolResult, error)
}

// AfterTool judges how a call ended: stop, withhold, or add context. Called
// exactly once for every call that the model made, whatever became of it, on the
// loop's goroutine in completion order, inner hook first; all are asked and the
// most severe answer wins. Closed: withheld.
//
//hook:point decide judge reverse failclosed
type AfterTool interface {
	AfterTool(ctx context.Context, call *ToolCall, outcome ToolOutcome) (OutcomeDecision, error)
}

// RewriteRequest may change what the model is asked, for this request only.
// Called once per request, outer hook first. Closed: the step fails.
//
//hook:point rewrite fold failclosed
type RewriteRequest interface {
	RewriteRequest(ctx context.Context, step *Step, req ModelRequest) (ModelRequest, error)
}

// BeforeModel decides about the final request: stop, reject, or respond in the
// model's place. The first stop or reject ends it. Closed: the step fails.
//
//hook:point decide gate failclosed
type BeforeModel interface {
	BeforeModel(ctx context.Context, step *Step, req ModelRequest) (ModelDecision, error)
}

// WrapModel surrounds the stream of one model call. It may look at, delay, drop
// or add chunks and must pass on an error. Closed: the stream ends with the
// failure.
//
//hook:point wrap nest failclosed
type WrapModel interface {
	WrapModel(ctx context.Context, step *Step, req ModelRequest, next ModelNext) ModelStream
}

// RewriteReply may change a whole reply before it is judged. Where one is
// present, text is held back until it has returned. Inner hook first. Closed:
// the step fails.
//
//hook:point rewrite fold reverse failclosed
type RewriteReply interface {
	RewriteReply(ctx context.Context, step *Step, reply ModelReply) (ModelReply, error)
}

// AfterModel judges the final reply: stop, reject, or retry with feedback. All
// are asked, inner hook first, and the most severe answer wins. Closed: the step
// fails.
//
//hook:point decide judge reverse failclosed
type AfterModel interface {
	AfterModel(ctx context.Context, step *Step, reply ModelReply) (ReplyDecision, error)
}

// AfterTurn observes how a turn ended. Called exactly once for every turn that
// began, inner hook first; ctx is not the turn's and still alive.
//
//hook:point observe fanout reverse failopen
type AfterTurn interface {
	AfterTurn(ctx context.Context, turn *Turn, outcome TurnOutcome)
}

// OnOpen is called once, when the process starts and before any agent is
// registered. h stays valid until OnClose has returned. An error ends the start:
// those opened before are closed in reverse order.
//
//hook:point observe open failclosed
type OnOpen interface {
	OnOpen(ctx context.Context, h Host) error
}

// OnClose is called once when the process ends, after the last agent is
// unregistered, inner hook first. All are called; the errors are joined.
//
//hook:point observe close reverse failopen
type OnClose interface {
	OnClose(ctx context.Context) error
}

// ToolNext is the rest of a tool's execution, as a wrap sees it.
type ToolNext struct {
	chain ToolChain
	at    int
}

// ToolChain is a chain of wraps around one execution. Composites and the runtime
// implement it: one value for the whole chain, however many wraps there are.
type ToolChain interface {
	// WrapToolAt runs the chain from position at on.
	WrapToolAt(ctx context.Context, at int) ToolResult
}

// NewToolNext returns the rest of the chain from position at on.
func NewToolNext(chain ToolChain, at int) ToolNext { return ToolNext{chain, at} }

// Run runs the rest. It takes only a context: a wrap cannot change the call.
func (n ToolNext) Run(ctx context.Context) ToolResult { return n.chain.WrapToolAt(ctx, n.at) }

// ModelNext is the rest of a model call, as a wrap sees it.
type ModelNext struct {
	chain ModelChain
	at    int
}

// ModelChain is a chain of wraps around one model call.
type ModelChain interface {
	// WrapModelAt starts the chain from position at on.
	WrapModelAt(ctx context.Context, at int) ModelStream
}

// NewModelNext returns the rest of the chain from position at on.
func NewModelNext(chain ModelChain, at int) ModelNext { return ModelNext{chain, at} }

// Stream starts the rest. It takes only a context: a wrap cannot change the
// request.
func (n ModelNext) Stream(ctx context.Context) ModelStream { return n.chain.WrapModelAt(ctx, n.at) }

// Point names a method of [Hook] or a point beside it. The constants are
// generated from the declarations.
type Point uint8

// PointInfo is what the declaration of a point says.
type PointInfo struct {
	Name string
	// Kind is facade, contribute, rewrite, decide, wrap or observe.
	Kind string
	// Combine is the rule by which the answers of several hooks become one.
	Combine string
	// Reverse: the last hook comes first.
	Reverse bool
	// Closed is the default fail policy.
	Closed bool
	// Place is the name of the type that says what the point is about, ToolCall or
	// Turn; "" for none.
	Place string
}

// Info returns what the declaration of the point says; zero for an unknown one.
func (p Point) Info() PointInfo {
	if int(p) >= len(pointInfos) {
		return PointInfo{}
	}
	return pointInfos[p]
}

// String returns the point's name, "BeforeTool".
func (p Point) String() string { return p.Info().Name }

// Points yields all points, the methods of Hook first, in the order of their
// declaration.
func Points() iter.Seq2[Point, PointInfo] {
	return func(yield func(Point, PointInfo) bool) {
		for p, info := range pointInfos {
			if p > 0 && !yield(Point(p), info) {
				return
			}
		}
	}
}

// PointSet is a set of points.
type PointSet uint64

// SetOf returns the set of the points.
func SetOf(points ...Point) PointSet {
	var s PointSet
	for _, p := range points {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s PointSet) Has(p Point) bool { return s&(1<<p) != 0 }

// With returns the union of both sets.
func (s PointSet) With(o PointSet) PointSet { return s | o }

// Len returns the number of points in the set.
func (s PointSet) Len() int { return bits.OnesCount64(uint64(s)) }

// All yields the points of the set in the order of their declaration.
func (s PointSet) All() iter.Seq[Point] {
	return func(yield func(Point) bool) {
		for p := Point(1); int(p) < len(pointInfos); p++ {
			if s.Has(p) && !yield(p) {
				return
			}
		}
	}
}

// PointsOf returns the points beside Hook's own methods that h implements. A
// composite is asked through its method Points() PointSet, because it may have
// the method of a point that none of its members has; any other hook by its
// interfaces. A nil hook has none.
func PointsOf(h Hook) PointSet {
	if c, ok := h.(interface{ Points() PointSet }); ok {
		return c.Points()
	}
	return implemented(h)
}
