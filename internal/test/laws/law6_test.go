package laws_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"slices"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/point"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Law 6: the calls of a step pass their gates in call order, one after the other;
// then they run at the same time; RewriteResult and AfterTool come on the loop's
// goroutine in completion order, then the result event; history is in call order.

// fates are what becomes of a call: those that run, and those that do not.
var fates = []string{"runs", "is rewritten", "is approved", "fails", "is denied", "is answered", "is refused", "is unknown", "is invalid"}

func doesRun(fate string) bool { return slices.Index(fates, fate) < slices.Index(fates, "is denied") }

// entry is one visit of a hook or tool.
type entry struct {
	what string
	call int
	// goroutine is "" where it is not known.
	goroutine string
}

// workday is one turn of this law, and what was seen of it.
type workday struct {
	number int
	// fate and lasts are by call; no two last equally long.
	fate  []string
	lasts []time.Duration
	// decider and approver are those hooks that have an opinion.
	decider, approver string
	exclusive         string
	// lingers is the call at which a decider takes its time, once.
	lingers int
	// watched: it is looked at on which goroutine things happen, which takes its time.
	watched bool

	mu      sync.Mutex
	inside  int
	entries []entry
	// overlaps: two hooks were asked at the same time. running are the tools that
	// have started, together is closed when all have, alone tells that one was not
	// joined by the others.
	overlaps, alone bool
	running         int
	together        chan struct{}
	loop            string
	results         []int
	history         []message.Message
}

func drawWorkday(r *rand.Rand, names []string) *workday {
	d := &workday{decider: names[r.IntN(len(names))], approver: names[r.IntN(len(names))], together: make(chan struct{})}
	order := r.Perm(6)
	d.lingers, d.watched = r.IntN(10), r.IntN(16) == 0
	for i := range 2 + r.IntN(4) {
		d.fate = append(d.fate, fates[r.IntN(len(fates))])
		d.lasts = append(d.lasts, time.Duration(1+order[i])*time.Second)
	}
	return d
}

func (d *workday) rules() []script.Rule {
	first := script.Rule{When: &script.When{Step: 1}}
	for i, fate := range d.fate {
		call := script.Call{Tool: "work", ID: d.id(i), Args: `{"by":"model"}`}
		switch fate {
		case "is unknown":
			call.Tool = "nobodys"
		case "is invalid":
			call.Args = `[]`
		}
		first.Calls = append(first.Calls, call)
	}
	return []script.Rule{first, {When: &script.When{}, Say: "done"}}
}

// id is that of a call, which ends with its number.
func (d *workday) id(call int) string { return fmt.Sprintf("d%d_%d", d.number, call) }

func goroutine() string {
	var buf [64]byte
	text, _, _ := bytes.Cut(buf[:goruntime.Stack(buf[:], false)], []byte(" ["))
	return string(text)
}

// visit notes a visit, and where it is if that is to be known: not of hooks that
// have goroutines of their own, because of a timeout.
func (d *workday) visit(what string, call int, known bool) {
	e := entry{what: what, call: call}
	if known {
		e.goroutine = goroutine()
	}
	d.mu.Lock()
	d.inside++
	d.overlaps = d.overlaps || d.inside > 1
	d.entries = append(d.entries, e)
	d.mu.Unlock()
	if call == d.lingers && what == point.BeforeTool.String() && known {
		d.lingers = -1
		time.Sleep(time.Millisecond) // who comes meanwhile is seen
	}
	d.mu.Lock()
	d.inside--
	d.mu.Unlock()
}

// Run implements hook.Runner: it ends only after all others have begun.
func (d *workday) Run(_ context.Context, env *hook.Env) message.ToolResult {
	i := env.Call.Index()
	d.mu.Lock()
	d.entries = append(d.entries, entry{what: "Run", call: i})
	if d.watched {
		d.entries[len(d.entries)-1].goroutine = goroutine()
	}
	if d.running++; d.running == d.runs() {
		close(d.together)
	}
	d.mu.Unlock()
	select {
	case <-d.together:
	case <-time.After(time.Hour):
		d.mu.Lock()
		d.alone = true
		d.mu.Unlock()
	}
	time.Sleep(d.lasts[i])
	if d.fate[i] == "fails" {
		return message.FailedResult(message.FailOperation, "no")
	}
	return message.TextResult("done")
}

func (d *workday) runs() (n int) {
	for _, fate := range d.fate {
		if doesRun(fate) {
			n++
		}
	}
	return n
}

// clerk notes when it is asked; the first of a set owns the tool.
type clerk struct {
	silent
	name  string
	owner bool
	day   *workday
}

var _ laws.Part = clerk{}

func (c clerk) timed(p hook.Point) bool {
	return c.name == "B" || c.name == "F" && (p == point.RewriteArgs || p == point.BeforeTool || p == point.AfterTool)
}

func (c clerk) visit(p hook.Point, call *hook.ToolCall) {
	c.day.visit(p.String(), call.Index(), c.day.watched && c.owner && !c.timed(p)) // one tells where all are
}

func (c clerk) Schema() []message.Tool {
	if !c.owner {
		return nil
	}
	return []message.Tool{{Name: "work", Exclusive: c.day.exclusive}}
}

func (c clerk) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if !c.owner || call.Name() != "work" {
		return hook.Invocation{}, false
	}
	c.visit(point.Dispatch, call)
	if call.Args()[0] != '{' {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: "work", Reason: "is no object"}), true
	}
	return hook.Bound(call.Args(), c.day), true
}

func (c clerk) BeforeStep(context.Context, *hook.Step) (d hook.StepDecision, err error) {
	if c.day.watched && c.owner && c.name != "B" {
		c.day.loop = goroutine()
	}
	return
}

func (c clerk) RewriteArgs(_ context.Context, call *hook.ToolCall, args message.JSON) (message.JSON, error) {
	c.visit(point.RewriteArgs, call)
	if c.name == c.day.decider && c.day.fate[call.Index()] == "is rewritten" {
		return `{"by":"hook"}`, nil
	}
	return args, nil
}

func (c clerk) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	c.visit(point.BeforeTool, call)
	if c.name != c.day.decider {
		return hook.ToolDecision{}, nil
	}
	switch c.day.fate[call.Index()] {
	case "is approved", "is refused":
		return hook.AskTool("sure?"), nil
	case "is denied":
		return hook.DenyTool("no"), nil
	case "is answered":
		return hook.AnswerTool(message.TextResult("instead")), nil
	}
	return hook.ToolDecision{}, nil
}

func (c clerk) Approve(_ context.Context, call *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
	c.visit(point.Approve, call)
	switch {
	case c.name != c.day.approver:
		return hook.ApprovalDecision{}, nil
	case c.day.fate[call.Index()] == "is refused":
		return hook.RefuseCall("no"), nil
	}
	return hook.ApproveCall(), nil
}

func (c clerk) RewriteResult(_ context.Context, call *hook.ToolCall, r message.ToolResult) (message.ToolResult, error) {
	c.visit(point.RewriteResult, call)
	return r, nil
}

func (c clerk) AfterTool(_ context.Context, call *hook.ToolCall, _ hook.ToolOutcome) (d hook.OutcomeDecision, err error) {
	c.visit(point.AfterTool, call)
	return
}

// completion is the order in which the calls end: those first that do not run, in
// their own order.
func (d *workday) completion() []int {
	order := make([]int, len(d.fate))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool {
		x, y := order[a], order[b]
		if doesRun(d.fate[x]) && doesRun(d.fate[y]) {
			return d.lasts[x] < d.lasts[y]
		}
		return !doesRun(d.fate[x]) && doesRun(d.fate[y])
	})
	return order
}

// broken says what of the law was not kept by what was seen.
func (d *workday) broken(hooks int) error {
	gates := map[string]bool{"Dispatch": true, "RewriteArgs": true, "BeforeTool": true, "Approve": true}
	began, first, last := false, -1, -1
	var after []entry
	for _, e := range d.entries {
		onLoop := e.goroutine == "" || d.loop == "" || e.goroutine == d.loop
		switch {
		case e.what == "Run":
			if began = true; onLoop && e.goroutine != "" && d.loop != "" {
				return fmt.Errorf("call %d runs on the loop's goroutine", e.call)
			}
			continue
		case !onLoop:
			return fmt.Errorf("%s of call %d is not on the loop's goroutine", e.what, e.call)
		case gates[e.what] && began:
			return fmt.Errorf("%s of call %d comes when calls run already", e.what, e.call)
		case e.what == "Dispatch" && last < 0:
			if e.call < first {
				return fmt.Errorf("call %d is bound behind call %d", e.call, first)
			}
			first = e.call
		case gates[e.what]:
			if e.call < last {
				return fmt.Errorf("%s of call %d comes behind the gates of call %d", e.what, e.call, last)
			}
			last = e.call
		default:
			after = append(after, e)
		}
	}
	switch {
	case d.overlaps:
		return fmt.Errorf("two hooks were asked at once")
	case d.alone:
		return fmt.Errorf("calls that wait for one another do not end")
	case d.running != d.runs():
		return fmt.Errorf("%d calls have run, and %d had to", d.running, d.runs())
	}
	return d.brokenAfter(after, hooks)
}

// brokenAfter looks at what comes behind the calls.
func (d *workday) brokenAfter(after []entry, hooks int) error {
	var want []string
	for _, call := range d.completion() {
		for _, p := range []string{"RewriteResult", "AfterTool"} {
			for range hooks {
				want = append(want, fmt.Sprint(p, " ", call))
			}
		}
		want = append(want, fmt.Sprint("event ", call))
	}
	var got []string // events are compared by themselves: clients may get one later
	for _, e := range after {
		got = append(got, fmt.Sprint(e.what, " ", e.call))
	}
	told := map[string]int{}
	got, told["events"] = withoutEvents(got)
	if want, _ := withoutEvents(want); !slices.Equal(want, got) {
		return fmt.Errorf("behind the calls came %v, and had to come %v", got, want)
	}
	if !slices.Equal(d.results, d.completion()) {
		return fmt.Errorf("results are told in the order %v, and ended in the order %v", d.results, d.completion())
	}
	for i, e := range after { // a result is told when all is done with it
		if e.what != "event" && slices.ContainsFunc(after[:i], func(o entry) bool { return o.what == "event" && o.call == e.call }) {
			return fmt.Errorf("the result of call %d was told before its %s", e.call, e.what)
		}
	}
	var stored []string
	for _, m := range d.history {
		if m.Role == message.RoleTool {
			stored = append(stored, m.CallID)
		}
	}
	for i := range d.fate {
		if i >= len(stored) || stored[i] != d.id(i) {
			return fmt.Errorf("the history has the results of %v", stored)
		}
	}
	return nil
}

func withoutEvents(lines []string) (rest []string, n int) {
	for _, line := range lines {
		if len(line) > 5 && line[:5] == "event" {
			n++
			continue
		}
		rest = append(rest, line)
	}
	return rest, n
}

// play plays the days, one turn each.
func playWork(t *testing.T, c *cast, h hook.Hook, days []*workday) {
	synctest.Test(t, func(*testing.T) {
		assign := func(d *workday) {
			for i, name := range c.names {
				c.actors[name].Part = clerk{name: name, owner: i == 0, day: d}
			}
		}
		assign(days[0])
		model := &model{Script: new(script.Script)}
		s := open(t, h, model, runtime.Options{})
		for i, d := range days {
			d.number = i
			assign(d)
			d.together = make(chan struct{})
			model.Script = script.New(d.rules()...)
			s.hear = func(ev hook.Event) {
				if ev.Kind != event.CallResult {
					return
				}
				i := int(ev.Detail().CallID[3] - '0')
				d.mu.Lock()
				d.entries, d.results = append(d.entries, entry{"event", i, ""}), append(d.results, i)
				d.mu.Unlock()
			}
			before := len(s.history(t))
			_, err := s.send(context.Background(), "go")
			require.NoError(t, err)
			d.history = s.history(t)[before:]
		}
		s.close(t)
	})
}

func TestLaw6GatesOneByOneCallsAtOnceResultsInOrder(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, casts, pairs := rand.New(rand.NewPCG(seed, 6)), newCasts(t), map[string]int{}
	var want []string
	for _, one := range fates {
		for _, two := range fates {
			want = append(want, one+", "+two)
		}
	}
	for round := 0; !enough(round, pairs, want); round += inRow {
		names := drawSet(r).names
		c, from := casts.of(names), r.Uint64()
		for name, h := range c.subjects(round / inRow) {
			again := rand.New(rand.NewPCG(from, 6))
			days := []*workday{}
			for range inRow {
				days = append(days, drawWorkday(again, names))
			}
			playWork(t, c, h, days)
			for i, d := range days {
				require.NoError(t, d.broken(len(names)), "seed %d, round %d, %s of %v: %v lasting %v", seed, round+i, name, names, d.fate, d.lasts)
				for k := 1; k < len(d.fate); k++ {
					pairs[d.fate[k-1]+", "+d.fate[k]]++
				}
			}
		}
	}
	assertSeen(t, pairs, want)
}

// restless is a composite that asks about the arguments once more, beside the loop.
type restless struct{ laws.Part }

func (x restless) RewriteArgs(ctx context.Context, call *hook.ToolCall, args message.JSON) (message.JSON, error) {
	go func() { _, _ = x.Part.RewriteArgs(ctx, call, args) }()
	time.Sleep(time.Microsecond)
	return x.Part.RewriteArgs(ctx, call, args)
}

// TestLaw6IsTested: the check catches what breaks the law.
func TestLaw6IsTested(t *testing.T) {
	t.Parallel()
	casts := newCasts(t)
	same := func(h hook.Hook) hook.Hook { return h }
	swap := func(entries []entry, what string) {
		at := -1
		for i, e := range entries {
			if e.what == what && at >= 0 && entries[at].call != e.call {
				entries[i], entries[at] = entries[at], e
				return
			} else if e.what == what {
				at = i
			}
		}
	}
	for how, break1 := range map[string]struct {
		prepare func(*workday)
		wrap    func(hook.Hook) hook.Hook
		tamper  func(*workday)
	}{
		"calls run one by one":        {func(d *workday) { d.exclusive = "x" }, same, nil},
		"a gate beside the loop":      {nil, func(h hook.Hook) hook.Hook { return restless{h.(laws.Part)} }, nil},
		"gates in another order":      {nil, same, func(d *workday) { swap(d.entries, "BeforeTool") }},
		"binding in another order":    {nil, same, func(d *workday) { swap(d.entries, "Dispatch") }},
		"judged in another order":     {nil, same, func(d *workday) { swap(d.entries, "AfterTool") }},
		"rewritten in another order":  {nil, same, func(d *workday) { swap(d.entries, "RewriteResult") }},
		"told in another order":       {nil, same, func(d *workday) { slices.Reverse(d.results) }},
		"stored in another order":     {nil, same, func(d *workday) { slices.Reverse(d.history) }},
		"told before it was judged":   {nil, same, func(d *workday) { d.entries = append([]entry{{"event", 0, ""}}, d.entries...) }},
		"judged on another goroutine": {nil, same, func(d *workday) { d.loop = "another" }},
	} {
		requireCaught(t, how, 6, func(r *rand.Rand) error {
			c := casts.of([]string{"A", "C", "E"})
			d := drawWorkday(r, c.names)
			if break1.prepare != nil {
				break1.prepare(d)
			}
			playWork(t, c, break1.wrap(c.six()), []*workday{d})
			if break1.tamper != nil {
				break1.tamper(d)
			}
			return d.broken(len(c.names))
		})
	}
}
