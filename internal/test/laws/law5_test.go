package laws_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/differential"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Law 5: every After runs exactly once for every hook that has it and every call,
// step or turn that began, whatever the outcome, also if its own Before was not
// reached.

// register is who was asked about what: lines "A AfterTool t1/c1", "A BeforeTool t1/c1".
type register struct {
	mu    sync.Mutex
	times map[string]int
	// ended are the outcomes by call, step and turn.
	ended map[string]string
}

func newRegister() *register { return &register{times: map[string]int{}, ended: map[string]string{}} }

func (r *register) note(who string, p hook.Point, what string) {
	r.mu.Lock()
	r.times[fmt.Sprint(who, " ", p, " ", what)]++
	r.mu.Unlock()
}

func (r *register) ends(what, how string) {
	r.mu.Lock()
	r.ended[what] = how
	r.mu.Unlock()
}

// witness does at every point what a table says, and notes the points of this law.
// The first of a set owns the tools.
type witness struct {
	laws.Part
	name  string
	say   int
	do    map[hook.Point]differential.Mode
	reg   *register
	tools []tool
}

var _ laws.Part = (*witness)(nil)

func (w *witness) Schema() []message.Tool { return schemas(w.tools) }

func (w *witness) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	t := find(w.tools, call.Name())
	switch {
	case t == nil:
		return hook.Invocation{}, false
	case !strings.HasPrefix(string(call.Args()), "{}"):
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: call.Name(), Reason: "takes none"}), true
	}
	return hook.Bound("{}", t), true
}

func placeOf(s *hook.Step) string    { return fmt.Sprint(s.Turn().ID(), "/", s.Number()) }
func callOf(c *hook.ToolCall) string { return c.Step().Turn().ID() + "/" + c.ID() }

func (w *witness) BeforeTurn(ctx context.Context, t *hook.Turn, in message.Input) (hook.TurnDecision, error) {
	w.reg.note(w.name, point.BeforeTurn, t.ID())
	return w.Part.BeforeTurn(ctx, t, in)
}

func (w *witness) BeforeStep(ctx context.Context, s *hook.Step) (hook.StepDecision, error) {
	w.reg.note(w.name, point.BeforeStep, placeOf(s))
	return w.Part.BeforeStep(ctx, s)
}

func (w *witness) BeforeTool(ctx context.Context, c *hook.ToolCall) (hook.ToolDecision, error) {
	w.reg.note(w.name, point.BeforeTool, callOf(c))
	return w.Part.BeforeTool(ctx, c)
}

func (w *witness) AfterTool(ctx context.Context, c *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
	w.reg.note(w.name, point.AfterTool, callOf(c))
	w.reg.ends(callOf(c), string(o.Outcome))
	return w.Part.AfterTool(ctx, c, o)
}

func (w *witness) AfterStep(ctx context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
	w.reg.note(w.name, point.AfterStep, placeOf(s))
	w.reg.ends(placeOf(s), fmt.Sprint(o.Finish, " failed: ", o.Err != nil))
	return w.Part.AfterStep(ctx, s, o)
}

func (w *witness) AfterTurn(ctx context.Context, t *hook.Turn, o hook.TurnOutcome) {
	w.reg.note(w.name, point.AfterTurn, t.ID())
	w.reg.ends(t.ID(), string(o.Stop))
	w.Part.AfterTurn(ctx, t, o)
}

// WrapTool and WrapModel leave what they surround as it is, unless they fail.
func (w *witness) WrapTool(ctx context.Context, _ *hook.ToolCall, next hook.ToolNext) message.ToolResult {
	before := w.say%2 == 0
	if before {
		w.disturb(point.WrapTool)
	}
	r := next.Run(ctx)
	if !before {
		w.disturb(point.WrapTool)
	}
	return r
}

func (w *witness) WrapModel(ctx context.Context, _ *hook.Step, _ message.ModelRequest, next hook.ModelNext) message.ModelStream {
	w.disturb(point.WrapModel)
	return next.Stream(ctx)
}

func (w *witness) disturb(p hook.Point) {
	switch w.do[p] {
	case differential.Panics, differential.Fails:
		panic(w.name + " panics")
	case differential.Hangs:
		time.Sleep(2 * time.Second)
	}
}

// trouble are the points at which hooks do something in this law, with those of the
// law twice.
var trouble = func() []hook.Point {
	out := []hook.Point{point.Preprocess}
	for _, p := range subjects() {
		if p != point.BeforeCompaction && p != point.AfterCompaction {
			out = append(out, p)
		}
	}
	return append(out, point.WrapTool, point.WrapModel, point.BeforeTool, point.BeforeTool, point.Approve,
		point.BeforeTurn, point.BeforeStep, point.AfterTool, point.AfterStep, point.AfterTurn)
}()

// run is some turns of one conversation.
type run struct {
	set    set
	limits hook.Limits
	turns  []played
}

// played is what every hook, the model and the tools do in one turn, and when it is
// cancelled.
type played struct {
	do     map[string]map[hook.Point]differential.Mode
	rules  []script.Rule
	cancel time.Duration
	stop   bool
	// early: it is cancelled before it begins.
	early bool
}

var called = []string{"ok", "ok", "ok", "ok", "fails", "fails", "panics", "panics", "exits", "slow", "late", "deaf", "unknown", "invalid", "broken"}

// inRow is how many turns are played in one conversation.
const inRow = 5

func drawRun(r *rand.Rand) run {
	x := run{set: drawSet(r)}
	switch r.IntN(8) {
	case 0:
		x.limits.Time = time.Duration(1+r.IntN(3000)) * time.Millisecond
	case 1:
		x.limits.Steps = 1
	}
	for range inRow {
		x.turns = append(x.turns, drawTurn(r, x.set))
	}
	return x
}

func drawTurn(r *rand.Rand, s set) played {
	p := played{do: map[string]map[hook.Point]differential.Mode{}}
	for range r.IntN(4) {
		name := s.names[r.IntN(len(s.names))]
		if p.do[name] == nil {
			p.do[name] = map[hook.Point]differential.Mode{}
		}
		p.do[name][trouble[r.IntN(len(trouble))]] = modes[r.IntN(len(modes))]
	}
	steps := 1 + r.IntN(2)
	for i := range steps {
		rule := script.Rule{When: &script.When{Step: i + 1}, Say: "working"}
		for k := range r.IntN(4) {
			tool := called[r.IntN(len(called)-r.IntN(2))] // broken ends the turn
			call := script.Call{Tool: tool, ID: fmt.Sprintf("c%d_%d", i, k)}
			switch tool {
			case "invalid":
				call.Tool, call.Args = "ok", `{"x":1}`
			case "broken":
				call.Tool, call.Raw = "ok", `{"x":`
			}
			rule.Calls = append(rule.Calls, call)
		}
		if r.IntN(12) == 0 {
			rule.Err, rule.Calls = errors.New("the line is cut"), nil
		}
		p.rules = append(p.rules, rule)
	}
	p.rules = append(p.rules, script.Rule{When: &script.When{}, Say: "done"})
	if p.early = r.IntN(40) == 0; r.IntN(12) == 0 {
		p.cancel, p.stop = time.Duration(r.IntN(4000))*time.Millisecond, r.IntN(2) == 0
	}
	return p
}

// workshop are the tools of this law. What is deaf ends when the round does.
func workshop(over <-chan struct{}) []tool {
	does := func(name string, limit time.Duration, run func(context.Context) message.ToolResult) tool {
		return tool{message.Tool{Name: name, Timeout: limit}, func(ctx context.Context, _ *hook.Env) message.ToolResult { return run(ctx) }}
	}
	wait := func(ctx context.Context) message.ToolResult {
		select {
		case <-ctx.Done():
			return message.FailedResult(message.FailCancelled, "ended")
		case <-time.After(1500 * time.Millisecond):
			return message.TextResult("waited")
		}
	}
	return []tool{
		does("ok", 0, func(context.Context) message.ToolResult { return message.TextResult("ok") }),
		does("fails", 0, func(context.Context) message.ToolResult { return message.FailedResult(message.FailOperation, "no") }),
		does("panics", 0, func(context.Context) message.ToolResult { panic("boom") }),
		does("exits", 0, func(context.Context) message.ToolResult { goexit(); return message.ToolResult{} }),
		does("slow", 0, wait),
		does("late", time.Second, wait),
		does("deaf", 2*time.Second, func(context.Context) message.ToolResult { <-over; return message.ToolResult{} }),
	}
}

// plays gives the actors their parts.
func (x run) plays(p played, c *cast, reg *register, over <-chan struct{}) {
	for i, name := range x.set.names {
		w := &witness{Part: silent{}, name: name, say: x.set.say[name], do: p.do[name], reg: reg}
		if len(w.do) > 0 {
			w.Part = &differential.Member{Name: name, Log: &differential.Log{}, Say: w.say, Do: w.do}
		}
		if i == 0 {
			w.tools = workshop(over)
		}
		c.actors[name].Part = w
	}
}

// checkAfter plays the turns on a hook and says what breaks the law. seen gets the
// outcomes.
func checkAfter(t *testing.T, x run, h hook.Hook, c *cast, seen map[string]int) (broken error) {
	synctest.Test(t, func(*testing.T) { // nobody waits for what is slow
		over, reg := make(chan struct{}), newRegister()
		x.plays(x.turns[0], c, reg, over)
		model := &model{Script: new(script.Script)}
		s := open(t, h, model, runtime.Options{Calls: runtime.Calls{Grace: 500 * time.Millisecond}}, hook.AgentConfig{Name: "a", Limits: x.limits})
		for _, p := range x.turns {
			x.plays(p, c, reg, over)
			model.Script = script.New(p.rules...)
			p.send(s)
			time.Sleep(10 * time.Second) // who is late comes back
			synctest.Wait()
		}
		close(over)
		broken = x.owed(s, reg, seen)
		s.close(t)
	})
	return broken
}

func (p played) send(s *stage) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if p.cancel > 0 {
		end := cancel
		if p.stop {
			end = func() { dialog.Stop(s.conv) }
		}
		defer time.AfterFunc(p.cancel, end).Stop()
	}
	if p.early {
		cancel()
	}
	_, _ = s.send(ctx, "go")
}

// owed compares who was asked with what has begun, as the clients were told.
func (x run) owed(s *stage, reg *register, seen map[string]int) error {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	want := map[string]int{}
	add := func(before, after hook.Point, what string) {
		for _, name := range x.set.names {
			want[fmt.Sprint(name, " ", after, " ", what)] = 1
			reached := reg.times[fmt.Sprint(name, " ", before, " ", what)] > 0
			seen[fmt.Sprint(after, " ", reg.ended[what], " reached: ", reached)]++
		}
	}
	for _, ev := range s.events {
		switch ev.Kind {
		case event.TurnStart:
			add(point.BeforeTurn, point.AfterTurn, ev.Turn)
		case event.StepStart:
			add(point.BeforeStep, point.AfterStep, fmt.Sprint(ev.Turn, "/", ev.Step))
		case event.CallStart:
			add(point.BeforeTool, point.AfterTool, ev.Turn+"/"+ev.Detail().CallID)
		}
	}
	for line, n := range reg.times {
		if p := strings.Fields(line)[1]; strings.HasPrefix(p, "After") && n != want[line] {
			return fmt.Errorf("%s: %d times, and has to be %d", line, n, want[line])
		}
	}
	for line := range want {
		if reg.times[line] == 0 {
			return fmt.Errorf("%s: never", line)
		}
	}
	return nil
}

// afterEnds are the ends of calls, steps and turns that have to occur, with whether the
// hook was asked before.
var afterEnds = []string{
	"AfterTool executed reached: true", "AfterTool failed reached: true", "AfterTool panicked reached: true", "AfterTool timed_out reached: true",
	"AfterTool interrupted reached: true", "AfterTool denied reached: true", "AfterTool denied reached: false", "AfterTool answered reached: true",
	"AfterTool cancelled reached: true", "AfterTool cancelled reached: false", "AfterTool unknown reached: false", "AfterTool invalid reached: false",
	"AfterStep tool_calls failed: false reached: true", "AfterStep stop failed: false reached: true", "AfterStep  failed: true reached: true",
	"AfterStep  failed: true reached: false", "AfterStep  failed: false reached: false",
	"AfterTurn completed reached: true", "AfterTurn error reached: true", "AfterTurn error reached: false", "AfterTurn denied reached: true",
	"AfterTurn denied reached: false", "AfterTurn cancelled reached: true", "AfterTurn cancelled reached: false", "AfterTurn user_requested reached: true",
	"AfterTurn time_limit reached: true", "AfterTurn stop_requested reached: true", "AfterTurn steps_limit reached: true",
	"AfterTurn token_limit reached: true",
}

// TestLaw5EveryAfterRunsExactlyOnce plays random turns in which hooks, tools, models
// and clients do what they may.
func TestLaw5EveryAfterRunsExactlyOnce(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, casts, seen := rand.New(rand.NewPCG(seed, 5)), newCasts(t), map[string]int{}
	for round := 0; !enough(round, seen, afterEnds); round += inRow {
		x := drawRun(r)
		c := casts.of(x.set.names)
		for name, h := range c.subjects(round / inRow) {
			require.NoError(t, checkAfter(t, x, h, c, seen), "seed %d, round %d, %s: %+v", seed, round, name, x)
		}
	}
	assertSeen(t, seen, afterEnds)
}

// forgetful is a composite that breaks the law in one of several ways.
type forgetful struct {
	laws.Part
	how string
}

func (f forgetful) AfterTool(ctx context.Context, c *hook.ToolCall, o hook.ToolOutcome) (hook.OutcomeDecision, error) {
	if f.how == "not for denied calls" && o.Outcome == message.OutcomeDenied {
		return hook.OutcomeDecision{}, nil
	}
	return f.Part.AfterTool(ctx, c, o)
}

func (f forgetful) AfterStep(ctx context.Context, s *hook.Step, o hook.StepOutcome) (hook.StepDecision, error) {
	if f.how == "not for steps that failed" && o.Err != nil {
		return hook.StepDecision{}, nil
	}
	return f.Part.AfterStep(ctx, s, o)
}

func (f forgetful) AfterTurn(ctx context.Context, t *hook.Turn, o hook.TurnOutcome) {
	if f.how == "twice for turns that failed" && o.Err != nil {
		f.Part.AfterTurn(ctx, t, o)
	}
	f.Part.AfterTurn(ctx, t, o)
}

// hasty asks a hook at a judge of its own only as long as none has an opinion.
type hasty struct {
	laws.Part
	six *laws.Six
}

func (h hasty) AfterStep(ctx context.Context, s *hook.Step, o hook.StepOutcome) (d hook.StepDecision, err error) {
	for _, a := range []*laws.Actor{h.six.F, h.six.E, h.six.D, h.six.C, h.six.B, h.six.A} {
		if a != nil && d.Verdict().Kind == "" {
			func() {
				defer func() { _ = recover() }()
				d, err = a.AfterStep(ctx, s, o)
			}()
		}
	}
	return d, err
}

// TestLaw5IsTested: the check catches composites that break the law.
func TestLaw5IsTested(t *testing.T) {
	t.Parallel()
	casts := newCasts(t)
	for name, wrap := range map[string]func(*cast) hook.Hook{
		"not for denied calls":        func(c *cast) hook.Hook { return forgetful{c.six(), "not for denied calls"} },
		"not for steps that failed":   func(c *cast) hook.Hook { return forgetful{c.six(), "not for steps that failed"} },
		"twice for turns that failed": func(c *cast) hook.Hook { return forgetful{c.six(), "twice for turns that failed"} },
		"not behind an answer":        func(c *cast) hook.Hook { return hasty{c.six(), c.fields()} },
	} {
		requireCaught(t, name, 5, func(r *rand.Rand) error {
			x := drawRun(r)
			c := casts.of(x.set.names)
			return checkAfter(t, x, wrap(c), c, map[string]int{})
		})
	}
}
