package laws_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Law 10: hooks follow delegation: children pass the same gates, and share depth and
// budget.

// errand is one task of the tree: it is somebody's turn if it is given to him.
type errand struct {
	id, depth int
	agent     string
	parent    *errand
	// steps are the tasks that each step but the last gives away; nil gives none and
	// works instead.
	steps []*errand
	// denied: a hook denies the work; rejected: a hook rejects the turn.
	denied, rejected bool
}

func (e *errand) task() string { return fmt.Sprint("task ", e.id) }

// family is one round: a tree of errands, the limits that it is under, and what was
// seen of it.
type family struct {
	names   []string
	all     []*errand
	depth   int
	limits  map[string]int64
	seen    map[string]*done
	worked  []string
	tooDeep int
	bouncer string
	forbids string
}

// done is what became of one errand. gates counts who was asked where.
type done struct {
	depth int
	stop  hook.StopReason
	spent int64
	gates map[string]int
}

const perCall = 15 // tokens

func drawFamily(r *rand.Rand, names []string) *family {
	f := &family{names: names, depth: 1 + r.IntN(3), limits: map[string]int64{}}
	f.bouncer, f.forbids = names[r.IntN(len(names))], names[r.IntN(len(names))]
	for _, agent := range []string{"a", "b"} {
		if r.IntN(2) == 0 {
			f.limits[agent] = int64(perCall*(1+r.IntN(6)) - r.IntN(2))
		}
	}
	f.grow(r, nil)
	return f
}

// grow adds an errand below another, with those below it.
func (f *family) grow(r *rand.Rand, parent *errand) *errand {
	e := &errand{id: len(f.all), agent: "a", parent: parent, denied: r.IntN(3) == 0}
	f.all = append(f.all, e)
	if parent != nil {
		e.depth, e.agent = parent.depth+1, []string{"a", "b"}[r.IntN(2)]
		e.rejected = r.IntN(6) == 0
	}
	for range r.IntN(3) + 1 {
		if e.depth < 4 && len(f.all) < 8 && r.IntN(3) > 0 {
			e.steps = append(e.steps, f.grow(r, e))
			continue
		}
		e.steps = append(e.steps, nil)
	}
	return e
}

func (f *family) rules() (rules []script.Rule) {
	for _, e := range f.all {
		on := func(step int) *script.When { return &script.When{User: script.Text{Equals: e.task()}, Step: step} }
		for i, child := range e.steps {
			call := script.Call{Tool: "work"}
			if child != nil {
				call = script.Call{Tool: "run", Args: message.JSON(fmt.Sprint(child.id))}
			}
			rules = append(rules, script.Rule{When: on(i + 1), Calls: []script.Call{call}, Usage: &message.Usage{Input: 10, Output: 5}})
		}
		rules = append(rules, script.Rule{When: on(len(e.steps) + 1), Say: "done", Usage: &message.Usage{Input: 10, Output: 5}})
	}
	return rules
}

// expected is the law, told once more.
type expected10 struct {
	f       *family
	seen    map[string]*done
	worked  []string
	tooDeep int
}

func (x *expected10) play(e *errand) {
	d := &done{depth: e.depth, stop: hook.StopCompleted, gates: map[string]int{}}
	x.seen[e.task()] = d
	at := func(p string, until string) {
		for _, name := range x.f.names {
			if d.gates[name+" "+p]++; name == until {
				return
			}
		}
	}
	defer at("AfterTurn", "")
	if e.rejected {
		at("BeforeTurn", x.f.bouncer)
		d.stop = hook.StopDenied
		return
	}
	at("BeforeTurn", "")
	for i := range len(e.steps) + 1 {
		if x.over(e) {
			d.stop = hook.StopTokenLimit
			return
		}
		at("BeforeStep", "")
		at("BeforeModel", "")
		at("AfterModel", "")
		for above := e; above != nil; above = above.parent {
			x.seen[above.task()].spent += perCall
		}
		if i < len(e.steps) {
			x.call(e, e.steps[i], at)
		}
		at("AfterStep", "")
	}
}

func (x *expected10) call(e, child *errand, at func(p, until string)) {
	switch {
	case child == nil && e.denied:
		at("BeforeTool", x.f.forbids)
	case child == nil:
		at("BeforeTool", "")
		x.worked = append(x.worked, e.task())
	case child.depth > x.f.depth:
		at("BeforeTool", "")
		x.tooDeep++
	default:
		at("BeforeTool", "")
		x.play(child)
	}
	at("AfterTool", "")
}

// over tells whether the errand, or one above it, has used up its tokens.
func (x *expected10) over(e *errand) bool {
	for ; e != nil; e = e.parent {
		if limit := x.f.limits[e.agent]; limit > 0 && x.seen[e.task()].spent >= limit {
			return true
		}
	}
	return false
}

// relative is a hook of the family; the first one owns the tools.
type relative struct {
	silent
	name  string
	first bool
	f     *family
}

var _ laws.Part = relative{}

func (x relative) note(p string, t *hook.Turn) *errand {
	task := t.Input().Text()
	d := x.f.seen[task]
	if d == nil {
		d = &done{gates: map[string]int{}}
		x.f.seen[task] = d
	}
	d.gates[x.name+" "+p]++
	d.depth = t.Depth()
	for _, e := range x.f.all {
		if e.task() == task {
			return e
		}
	}
	return &errand{}
}

func (x relative) Schema() []message.Tool {
	if !x.first {
		return nil
	}
	return []message.Tool{{Name: "work"}, {Name: "run", Waits: true}}
}

func (x relative) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), &tool{message.Tool{}, x.run}), x.first
}

func (x relative) run(ctx context.Context, env *hook.Env) message.ToolResult {
	if env.Call.Name() == "work" {
		x.f.worked = append(x.f.worked, env.Call.Step().Turn().Input().Text())
		return message.ToolResult{}
	}
	var id int
	if err := json.Unmarshal([]byte(env.Call.Args()), &id); err != nil {
		return message.FailedResult(message.FailArguments, err.Error())
	}
	e := x.f.all[id]
	_, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: e.agent, Input: message.TextInput(e.task()), Call: env.Call})
	if errors.Is(err, hook.ErrDepth) {
		x.f.tooDeep++
	}
	return message.TextResult("came back")
}

func (x relative) BeforeTurn(_ context.Context, t *hook.Turn, _ message.Input) (hook.TurnDecision, error) {
	if e := x.note("BeforeTurn", t); e.rejected && x.name == x.f.bouncer {
		return hook.RejectTurn("not you"), nil
	}
	return hook.TurnDecision{}, nil
}

func (x relative) BeforeStep(_ context.Context, s *hook.Step) (d hook.StepDecision, err error) {
	x.note("BeforeStep", s.Turn())
	return
}

func (x relative) BeforeModel(_ context.Context, s *hook.Step, _ message.ModelRequest) (d hook.ModelDecision, err error) {
	x.note("BeforeModel", s.Turn())
	return
}

func (x relative) AfterModel(_ context.Context, s *hook.Step, _ message.ModelReply) (d hook.ReplyDecision, err error) {
	x.note("AfterModel", s.Turn())
	return
}

func (x relative) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	e := x.note("BeforeTool", call.Step().Turn())
	if e.denied && x.name == x.f.forbids && call.Name() == "work" {
		return hook.DenyTool("no"), nil
	}
	return hook.ToolDecision{}, nil
}

func (x relative) AfterTool(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
	x.note("AfterTool", call.Step().Turn())
	return
}

func (x relative) AfterStep(_ context.Context, s *hook.Step, _ hook.StepOutcome) (d hook.StepDecision, err error) {
	x.note("AfterStep", s.Turn())
	return
}

func (x relative) AfterTurn(_ context.Context, t *hook.Turn, o hook.TurnOutcome) {
	x.note("AfterTurn", t)
	d := x.f.seen[t.Input().Text()]
	d.stop, d.spent = o.Stop, o.Usage.Total()
}

// check plays the round on h and says what breaks the law.
func (f *family) check(t *testing.T, c *cast, h hook.Hook) error {
	f.seen, f.worked, f.tooDeep = map[string]*done{}, nil, 0
	for i, name := range c.names {
		c.actors[name].Part = relative{name: name, first: i == 0, f: f}
	}
	s := open(t, h, script.New(f.rules()...), runtime.Options{Limits: runtime.Limits{Depth: f.depth}},
		hook.AgentConfig{Name: "a", Limits: hook.Limits{Tokens: f.limits["a"]}}, hook.AgentConfig{Name: "b", Limits: hook.Limits{Tokens: f.limits["b"]}})
	defer s.close(t)
	_, err := s.send(t.Context(), f.all[0].task())
	require.NoError(t, err)
	want := expected10{f: f, seen: map[string]*done{}}
	want.play(f.all[0])
	for task, d := range want.seen {
		got := f.seen[task]
		switch {
		case got == nil:
			return fmt.Errorf("%s: nobody has seen it", task)
		case got.depth != d.depth || got.stop != d.stop || got.spent != d.spent:
			return fmt.Errorf("%s at depth %d ended with %s and %d tokens, and has to end at %d with %s and %d", task, got.depth, got.stop, got.spent, d.depth, d.stop, d.spent)
		}
		for gate, n := range d.gates {
			if got.gates[gate] != n {
				return fmt.Errorf("%s: %s was asked %d times, and has to be %d", task, gate, got.gates[gate], n)
			}
		}
		if len(got.gates) != len(d.gates) {
			return fmt.Errorf("%s: asked were %v, and had to be %v", task, got.gates, d.gates)
		}
	}
	switch {
	case len(f.seen) != len(want.seen):
		return fmt.Errorf("%d errands have begun, and %d had to", len(f.seen), len(want.seen))
	case !slices.Equal(f.worked, want.worked):
		return fmt.Errorf("work was done for %v, and had to be for %v", f.worked, want.worked)
	case f.tooDeep != want.tooDeep:
		return fmt.Errorf("%d errands were too deep, and %d had to be", f.tooDeep, want.tooDeep)
	}
	return nil
}

func TestLaw10HooksFollowDelegation(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, casts, seen := rand.New(rand.NewPCG(seed, 10)), newCasts(t), map[string]int{}
	want := []string{"completed at 0", "token_limit at 0", "work denied at 0 true"}
	for depth := 1; depth < 4; depth++ {
		for _, what := range []string{"completed at %d", "token_limit at %d", "denied at %d", "work denied at %d true", "too deep at %d true"} {
			want = append(want, fmt.Sprintf(what, depth))
		}
	}
	for round, played := 0, 0; !enough(played, seen, want); round++ {
		names := drawSet(r).names
		f, c := drawFamily(r, names), casts.of(names)
		for name, h := range c.subjects(round) {
			require.NoError(t, f.check(t, c, h), "seed %d, round %d, %s: depth %d, limits %v", seed, round, name, f.depth, f.limits)
		}
		played += len(f.seen)
		for _, d := range f.seen {
			seen[fmt.Sprint(d.stop, " at ", d.depth)]++
		}
		seen[fmt.Sprint("too deep at ", f.depth, " ", f.tooDeep > 0)]++
		for _, e := range f.all {
			d := f.seen[e.task()]
			seen[fmt.Sprint("work denied at ", e.depth, " ", e.denied && d != nil && d.spent > 0)]++
		}
	}
	assertSeen(t, seen, want)
}

// lenient is a composite that leaves children alone at one point.
type lenient struct {
	laws.Part
	how string
}

func (x lenient) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	if x.how == "BeforeTurn" && t.Depth() > 0 {
		return hook.TurnDecision{}, nil
	}
	return x.Part.BeforeTurn(ctx, t, in)
}

func (x lenient) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if x.how == "BeforeTool" && call.Step().Turn().Depth() > 1 {
		return hook.ToolDecision{}, nil
	}
	return x.Part.BeforeTool(ctx, call)
}

func (x lenient) OnBuildAgent(ctx context.Context, cfg hook.AgentConfig) (hook.AgentConfig, error) {
	if x.how == "budget" {
		cfg.Limits.Tokens *= 2
	}
	return x.Part.OnBuildAgent(ctx, cfg)
}

func (x lenient) AfterTurn(ctx context.Context, t *hook.Turn, o hook.TurnOutcome) {
	if x.how == "usage" && t.Depth() > 0 {
		o.Usage = message.Usage{}
	}
	x.Part.AfterTurn(ctx, t, o)
}

// TestLaw10IsTested: the check catches what breaks the law.
func TestLaw10IsTested(t *testing.T) {
	t.Parallel()
	casts := newCasts(t)
	for _, how := range []string{"BeforeTurn", "BeforeTool", "budget", "usage"} {
		requireCaught(t, how, 10, func(r *rand.Rand) error {
			c := casts.of([]string{"A", "D"})
			return drawFamily(r, c.names).check(t, c, lenient{c.six(), how})
		})
	}
	requireCaught(t, "depth", 10, func(r *rand.Rand) error {
		c := casts.of([]string{"A", "D"})
		f := drawFamily(r, c.names)
		x := *f
		x.depth = f.depth - 1 // what is one too deep runs
		want := expected10{f: &x, seen: map[string]*done{}}
		want.play(f.all[0])
		require.NoError(t, f.check(t, c, c.six()))
		if f.tooDeep != want.tooDeep {
			return errors.New("seen")
		}
		return nil
	})
}
