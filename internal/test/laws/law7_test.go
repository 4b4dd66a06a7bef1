package laws_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/laws"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
)

// Law 7: rewritten arguments are bound, validated and scoped again. RewriteArgs runs
// once on the model's arguments and once on each human modification; BeforeTool
// decides again; an ask for the exact bytes just approved is satisfied; at most 3
// rounds, then deny. What approval shows is what runs and what history stores; the
// original is kept for audit.

// The tool of this law takes one number below valid. Whatever hooks do depends on the
// number alone, so that the whole pipeline is a walk over numbers.
const valid = 8

func args(n int) message.JSON { return message.JSON(fmt.Sprintf(`{"n":%d}`, n)) }

// number reads arguments, however they are written; false if they cannot be bound.
func number(a message.JSON) (int, bool) {
	var in struct{ N *int }
	d := json.NewDecoder(strings.NewReader(string(a)))
	if d.DisallowUnknownFields(); d.Decode(&in) != nil || in.N == nil || *in.N < 0 || *in.N >= valid {
		return 0, false
	}
	return *in.N, true
}

const (
	broken = -1 // the hook returns an error
	panics = -2
)

// clause is what one hook does with each number: rewritten to which, decided and
// approved how.
type clause struct {
	to      [valid]int // valid and above is what cannot be bound
	decides [valid]string
	answers [valid]string
	modify  [valid]int
}

var (
	decisions = []string{"", "", "", "", "ask", "ask", "ask", "deny", "answer", "broken"}
	approvals = []string{"", "approve", "modify", "modify", "modify", "refuse", "broken"}
)

func drawClause(r *rand.Rand) (c clause) {
	for n := range valid {
		c.to[n] = n
		if r.IntN(4) == 0 {
			c.to[n] = r.IntN(valid+3) - 2
		}
		c.decides[n] = decisions[r.IntN(len(decisions))]
		c.answers[n] = approvals[r.IntN(len(approvals))]
		c.modify[n] = r.IntN(valid + 1)
	}
	return c
}

// bargain is one call with everything that hooks do with it, and what was seen.
type bargain struct {
	names   []string
	clauses map[string]clause
	model   message.JSON
	seen    bargained
}

// bargained is what has to be seen of a call: who saw which arguments, in order.
type bargained struct {
	lines []string
	// ran are the arguments of the tool, "" if it did not run.
	ran     message.JSON
	outcome message.Outcome
	stored  message.JSON
}

func drawBargain(r *rand.Rand, names []string) *bargain {
	b := &bargain{names: names, clauses: map[string]clause{}}
	n := r.IntN(valid + 1)
	b.model = message.JSON([]string{`{"n":%d}`, ` { "n" : %d } `}[r.IntN(2)])
	b.model = message.JSON(fmt.Sprintf(string(b.model), n))
	for _, name := range names {
		b.clauses[name] = drawClause(r)
		if r.IntN(2) == 0 { // most hooks have no opinion
			quiet := clause{}
			for n := range valid {
				quiet.to[n] = n
			}
			b.clauses[name] = quiet
		}
	}
	if r.IntN(3) == 0 {
		b.haggle(r)
	}
	return b
}

// haggle has the first hook ask about everything and change every number, and the
// last one mostly modify, so that they rarely agree.
func (b *bargain) haggle(r *rand.Rand) {
	for _, name := range b.names {
		c := clause{}
		for n := range valid {
			c.to[n] = n
			if name == b.names[0] {
				c.to[n], c.decides[n] = (n+1)%valid, "ask"
			}
			if name == b.names[len(b.names)-1] {
				c.answers[n] = []string{"modify", "modify", "modify", "approve"}[r.IntN(4)]
				c.modify[n] = r.IntN(valid + 1)
			}
		}
		if name == b.names[0] {
			c.decides[r.IntN(valid)] = "answer"
		}
		b.clauses[name] = c
	}
}

// failsOpen tells whether a hook's own failure does not count: C fails open.
func failsOpen(name string) bool { return name == "C" }

// expected is the law, told once more.
func (b *bargain) expected() (want bargained) {
	n, ok := number(b.model)
	if !ok {
		want.outcome = message.OutcomeInvalid
		return want
	}
	want.stored = args(n)
	if n, ok = b.rewritten(n, &want); !ok {
		return want
	}
	approved := -1
	for range 3 {
		want.stored = args(n)
		asks := b.decided(n, &want)
		if want.outcome != "" {
			return want
		}
		if !asks || approved == n {
			want.outcome, want.ran = message.OutcomeExecuted, args(n)
			return want
		}
		to, answer := b.approved(n, &want)
		switch answer {
		case "approve":
			want.outcome, want.ran = message.OutcomeExecuted, args(n)
			return want
		case "modify":
		default:
			want.outcome = message.OutcomeDenied
			return want
		}
		if want.stored = args(to); to >= valid {
			want.outcome = message.OutcomeInvalid
			return want
		}
		approved = to
		if n, ok = b.rewritten(to, &want); !ok {
			return want
		}
		want.stored = args(n)
	}
	want.outcome = message.OutcomeDenied
	return want
}

// rewritten is a pass of all rewriters, who see what the one before left.
func (b *bargain) rewritten(n int, want *bargained) (int, bool) {
	for i := range b.names {
		name := b.names[i]
		to := n
		if n < valid {
			want.lines = append(want.lines, fmt.Sprintf("%s rewrites %s", name, args(n)))
			to = b.clauses[name].to[n]
		} else {
			want.lines = append(want.lines, fmt.Sprintf("%s rewrites %s", name, args(n)))
		}
		switch {
		case to >= 0:
			n = to
		case !failsOpen(name):
			want.outcome = message.OutcomeDenied
			return 0, false
		}
	}
	if n >= valid {
		want.outcome, want.stored = message.OutcomeInvalid, args(n)
		return 0, false
	}
	return n, true
}

// decided asks the deciders, of whom the first deny ends it.
func (b *bargain) decided(n int, want *bargained) (asks bool) {
	answers := false
	for _, name := range b.names {
		want.lines = append(want.lines, fmt.Sprintf("%s decides %s of %s", name, args(n), b.model))
		switch d := b.clauses[name].decides[n]; {
		case d == "deny", d == "broken" && !failsOpen(name):
			want.outcome = message.OutcomeDenied
			return false
		case d == "ask":
			asks = true
		case d == "answer":
			answers = true
		}
	}
	if answers && !asks {
		want.outcome = message.OutcomeAnswered
	}
	return asks
}

// approved asks who approves; the first answer counts, and none refuses.
func (b *bargain) approved(n int, want *bargained) (int, string) {
	want.lines = append(want.lines, fmt.Sprintf("clients are shown %s", args(n)))
	for _, name := range b.names {
		want.lines = append(want.lines, fmt.Sprintf("%s is shown %s", name, args(n)))
		c := b.clauses[name]
		switch a := c.answers[n]; {
		case a == "broken" && failsOpen(name), a == "":
		case a == "broken":
			return 0, "refuse"
		default:
			return c.modify[n], a
		}
	}
	return 0, "refuse"
}

// party is one hook of the bargain; the first of a set owns the tool.
type party struct {
	silent
	name  string
	owner bool
	b     *bargain
}

var _ laws.Part = party{}

func (p party) note(format string, values ...any) {
	p.b.seen.lines = append(p.b.seen.lines, p.name+" "+fmt.Sprintf(format, values...))
}

func (p party) Schema() []message.Tool {
	if !p.owner {
		return nil
	}
	return []message.Tool{{Name: "count"}}
}

func (p party) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if !p.owner {
		return hook.Invocation{}, false
	}
	n, ok := number(call.Args())
	if !ok {
		return hook.BadArgs(call.Args(), &hook.ArgError{Tool: "count", Reason: "is no number"}), true
	}
	return hook.Bound(args(n), counted{n, p.b}), true
}

// counted is the bound call.
type counted struct {
	n int
	b *bargain
}

func (c counted) Run(_ context.Context, env *hook.Env) message.ToolResult {
	c.b.seen.ran = args(c.n)
	if env.Call.Args() != args(c.n) {
		c.b.seen.ran = "bound " + c.b.seen.ran + " and told " + env.Call.Args()
	}
	return message.TextResult("counted")
}

func (p party) RewriteArgs(_ context.Context, _ *hook.ToolCall, in message.JSON) (message.JSON, error) {
	p.note("rewrites %s", in)
	n, ok := number(in)
	if !ok {
		return in, nil
	}
	switch to := p.b.clauses[p.name].to[n]; to {
	case broken:
		return "half", errors.New("broken")
	case panics:
		panic("broken")
	case n:
		return in, nil
	default:
		return args(to), nil
	}
}

func (p party) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	p.note("decides %s of %s", call.Args(), call.Original())
	n, _ := number(call.Args())
	switch p.b.clauses[p.name].decides[n] {
	case "ask":
		return hook.AskTool("sure?"), nil
	case "deny":
		return hook.DenyTool("no"), nil
	case "answer":
		return hook.AnswerTool(message.TextResult("instead")), nil
	case "broken":
		return hook.ToolDecision{}, errors.New("broken")
	}
	return hook.ToolDecision{}, nil
}

func (p party) Approve(_ context.Context, call *hook.ToolCall, _ hook.ToolDecision) (hook.ApprovalDecision, error) {
	p.note("is shown %s", call.Args())
	n, _ := number(call.Args())
	switch c := p.b.clauses[p.name]; c.answers[n] {
	case "approve":
		return hook.ApproveCall(), nil
	case "modify":
		return hook.ModifyCall(message.JSON(fmt.Sprintf(` {"n": %d}`, c.modify[n]))), nil
	case "refuse":
		return hook.RefuseCall("no"), nil
	case "broken":
		return hook.ApprovalDecision{}, errors.New("broken")
	}
	return hook.ApprovalDecision{}, nil
}

// playBargains plays one call after the other, a turn each.
func playBargains(t *testing.T, c *cast, h hook.Hook, all []*bargain) {
	assign := func(b *bargain) {
		b.seen = bargained{}
		for i, name := range c.names {
			c.actors[name].Part = party{name: name, owner: i == 0, b: b}
		}
	}
	assign(all[0])
	model := &model{Script: new(script.Script)}
	s := open(t, h, model, runtime.Options{})
	defer s.close(t)
	for _, b := range all {
		assign(b)
		model.Script = script.New(script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: "count", Raw: string(b.model)}}},
			script.Rule{When: &script.When{}, Say: "done"})
		s.hear = func(ev hook.Event) {
			switch ev.Kind {
			case event.ApprovalAsked:
				b.seen.lines = append(b.seen.lines, "clients are shown "+string(ev.Detail().Args))
			case event.CallResult:
				b.seen.outcome = ev.Detail().Outcome
			}
		}
		before := len(s.history(t))
		_, err := s.send(t.Context(), "go")
		require.NoError(t, err)
		for _, m := range s.history(t)[before:] {
			for _, call := range m.Content.All() {
				if call.Kind == message.BlockToolCall {
					b.seen.stored = call.JSON
				}
			}
		}
	}
}

// broken compares what was seen with the law.
func (b *bargain) broken() error {
	want, got := b.expected(), b.seen
	switch {
	case !slices.Equal(want.lines, got.lines):
		return fmt.Errorf("seen was\n%s\nand has to be\n%s", strings.Join(got.lines, "\n"), strings.Join(want.lines, "\n"))
	case want.outcome != got.outcome:
		return fmt.Errorf("the call was %s, and has to be %s", got.outcome, want.outcome)
	case want.ran != got.ran:
		return fmt.Errorf("run was %q, and has to be %q", got.ran, want.ran)
	case want.outcome != message.OutcomeInvalid && want.stored != got.stored:
		return fmt.Errorf("stored is %q, and has to be %q", got.stored, want.stored)
	}
	return nil
}

// bargains are the ends that have to occur, and behind how many questions.
var bargains = []string{
	"executed after 0", "executed after 1", "executed after 2", "executed after 3", "denied after 0", "denied after 1", "denied after 2", "denied after 3",
	"invalid after 0", "invalid after 1", "invalid after 2", "invalid after 3", "answered after 0", "answered after 1", "answered after 2",
}

func TestLaw7WhatIsApprovedRunsAndIsStored(t *testing.T) {
	t.Parallel()
	seed := needs.Seed(t)
	r, casts, seen := rand.New(rand.NewPCG(seed, 7)), newCasts(t), map[string]int{}
	for round := 0; !enough(round, seen, bargains); round += inRow {
		names := drawSet(r).names
		c, all := casts.of(names), []*bargain{}
		for range inRow {
			all = append(all, drawBargain(r, names))
		}
		for name, h := range c.subjects(round / inRow) {
			playBargains(t, c, h, all)
			for i, b := range all {
				require.NoError(t, b.broken(), "seed %d, round %d, %s: %+v", seed, round+i, name, b.clauses)
				seen[fmt.Sprint(b.seen.outcome, " after ", strings.Count(strings.Join(b.seen.lines, "\n"), "clients"))]++
			}
		}
	}
	assertSeen(t, seen, bargains)
}

// crooked is a composite that breaks the law in one of several ways.
type crooked struct {
	laws.Part
	how   string
	times *int
}

func (x crooked) Dispatch(ctx context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if x.how == "what was rewritten does not run" {
		inv, ok := x.Part.Dispatch(ctx, call.WithArgs(call.Original()))
		return inv, ok
	}
	return x.Part.Dispatch(ctx, call)
}

func (x crooked) RewriteArgs(ctx context.Context, call *hook.ToolCall, in message.JSON) (message.JSON, error) {
	if x.how == "rewritten twice" {
		if out, err := x.Part.RewriteArgs(ctx, call, in); err == nil {
			in = out
		}
	}
	return x.Part.RewriteArgs(ctx, call, in)
}

func (x crooked) BeforeTool(ctx context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if *x.times++; x.how == "decided once" && *x.times > 1 {
		return hook.ToolDecision{}, nil
	}
	return x.Part.BeforeTool(ctx, call)
}

func (x crooked) Approve(ctx context.Context, call *hook.ToolCall, asked hook.ToolDecision) (hook.ApprovalDecision, error) {
	if x.how == "something else is shown" {
		call = call.WithArgs(call.Original())
	}
	return x.Part.Approve(ctx, call, asked)
}

// TestLaw7IsTested: the check catches what breaks the law.
func TestLaw7IsTested(t *testing.T) {
	t.Parallel()
	casts := newCasts(t)
	for _, how := range []string{"what was rewritten does not run", "rewritten twice", "decided once", "something else is shown"} {
		requireCaught(t, how, 7, func(r *rand.Rand) error {
			c := casts.of([]string{"A", "C", "D"})
			b := drawBargain(r, c.names)
			playBargains(t, c, crooked{c.six(), how, new(int)}, []*bargain{b})
			return b.broken()
		})
	}
	for how, tamper := range map[string]func(*bargained){
		"something else is stored": func(b *bargained) { b.stored = `{"n":99}` },
		"something else runs":      func(b *bargained) { b.ran = `{"n":99}` },
	} {
		requireCaught(t, how, 7, func(r *rand.Rand) error {
			c := casts.of([]string{"A", "C", "D"})
			b := drawBargain(r, c.names)
			playBargains(t, c, c.six(), []*bargain{b})
			tamper(&b.seen)
			return b.broken()
		})
	}
}
