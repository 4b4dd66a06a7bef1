package cost_test

import (
	"flag"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/hooktest"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/cost"
)

func dollars(v float64) *float64 { return &v }

func table() cost.Table {
	return cost.Table{
		"small":   {Input: 0.075, Output: 0.3},
		"big*":    {Input: 1.25, Output: 10, CacheRead: dollars(0.125), CacheWrite: dollars(2.5)},
		"big-pro": {Input: 15, Output: 120},
		"big-p*":  {Input: 2, Output: 2},
	}
}

func newCost(t *testing.T) *cost.Cost {
	t.Helper()
	c, err := cost.New(&cost.Options{Prices: table()})
	require.NoError(t, err)
	return c
}

var update = flag.Bool("update", false, "write what the subsystem has into testdata/descriptor.txt")

func TestConformance(t *testing.T) {
	t.Parallel()
	hooktest.Run(t, func(t *testing.T) hook.Hook { return newCost(t) }, &hooktest.Options{Golden: "testdata/descriptor.txt", Update: *update})
	hooktest.Run(t, func(t *testing.T) hook.Hook {
		c, err := cost.New(nil)
		require.NoError(t, err)
		return c
	}, nil)
}

func TestPrice(t *testing.T) {
	t.Parallel()
	c := newCost(t)
	million := message.Usage{Input: 1e6, Output: 1e6}
	for model, want := range map[string]string{
		"small": "$0.3750", "big": "$11.2500", "big-4": "$11.2500", "big-pro": "$135.0000", "big-pr": "$4.0000", "small-2": "$0.0000", "": "$0.0000",
	} {
		assert.Equal(t, want, c.Price(model, million).String(), model)
	}
	assert.EqualValues(t, 75, c.Price("small", message.Usage{Input: 1}), "a token costs a whole number of billionths")
	cached := message.Usage{Input: 100, CacheRead: 60, CacheWrite: 30, Output: 10, Reasoning: 5}
	assert.EqualValues(t, 10*1250+60*125+30*2500+10*10_000, c.Price("big", cached), "cached input is part of the input, reasoning of the output")
	assert.EqualValues(t, 100*75+10*300, c.Price("small", cached), "without prices of its own the cache costs as input does")
}

// TestFallback: a price that the table does not have, by the size of a request.
func TestFallback(t *testing.T) {
	t.Parallel()
	c, err := cost.New(&cost.Options{Prices: table(), Fallback: func(model string, input int64) (cost.Price, bool) {
		switch {
		case model == "v:broken":
			return cost.Price{Input: -1}, true
		case model != "v:other":
			return cost.Price{}, false
		case input > 100:
			return cost.Price{Input: 2}, true
		}
		return cost.Price{Input: 0.0375}, true
	}})
	require.NoError(t, err)
	for _, tt := range []struct {
		model string
		input int64
		want  hook.Cost
		known bool
	}{
		{"v:other", 100, 3750, true}, {"v:other", 101, 202_000, true}, {"v:other", 1, 38, true}, {"small", 1, 75, true},
		{"v:small", 1, 75, true}, {"v:big-4", 1, 1250, true}, {"v:none", 1, 0, false}, {"v:broken", 1, 0, false}, {"v:", 1, 0, false},
	} {
		got, known := c.Priced(tt.model, message.Usage{Input: tt.input})
		assert.Equal(t, tt.want, got, tt.model)
		assert.Equal(t, tt.known, known, tt.model)
	}
	huge, _ := c.Priced("big-pro", message.Usage{Input: math.MaxInt64, Output: math.MaxInt64})
	assert.Positive(t, huge)
	less, _ := c.Priced("big-pro", message.Usage{Input: math.MinInt64, Output: math.MinInt64})
	assert.Zero(t, less)
}

// TestStepCosts: what the runtime says a step has cost is charged, whatever the table says.
func TestStepCosts(t *testing.T) {
	t.Parallel()
	c := newCost(t)
	turn := hooktest.Turn(hooktest.Conversation(nil, nil), "hello")
	_, err := c.AfterStep(t.Context(), hook.NewStep(turn, 1, "small"), hook.StepOutcome{Usage: message.Usage{Input: 1}, Cost: 42})
	require.NoError(t, err)
	assert.EqualValues(t, 42, c.Turn(turn))
}

func TestTableErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		table cost.Table
		want  string
	}{
		{cost.Table{"m": {Input: -1}}, `price of "m": input: -1 is no price; write dollars per million tokens, from 0 to 1000000`},
		{cost.Table{"m": {Output: math.NaN()}}, `price of "m": output: NaN is no price`},
		{cost.Table{"m": {CacheRead: dollars(2e6)}}, `price of "m": cache_read: 2e+06 is no price`},
		{cost.Table{"a*b": {}}, `price of "a*b": a model is named by its id, or by its beginning and one * at the end`},
		{cost.Table{"": {}}, `price of "": a model is named`},
	} {
		_, err := cost.New(&cost.Options{Prices: tt.table})
		assert.ErrorContains(t, err, tt.want)
	}
}

// charge plays a step of a model.
func charge(t *testing.T, c *cost.Cost, turn *hook.Turn, model string, u message.Usage) {
	t.Helper()
	d, err := c.AfterStep(t.Context(), hook.NewStep(turn, 1, model), hook.StepOutcome{Usage: u})
	require.NoError(t, err)
	assert.Empty(t, d)
}

func TestTotals(t *testing.T) {
	t.Parallel()
	c := newCost(t)
	conv := hooktest.Conversation(hooktest.Agent(hook.AgentConfig{Name: "ann"}), nil)
	turn := hooktest.Turn(conv, "hello")
	ten := message.Usage{Input: 10}
	charge(t, c, turn, "big", ten)
	assert.EqualValues(t, 12_500, c.Turn(turn))
	charge(t, c, turn, "small", message.Usage{Input: 15})
	assert.EqualValues(t, 12_500+15*75, c.Turn(turn))

	child, _ := hook.NewTurn(hook.TurnData{
		Conversation: hooktest.Conversation(hooktest.Agent(hook.AgentConfig{Name: "bob"}), nil), ID: "child", Parent: turn,
	})
	charge(t, c, child, "big", ten)
	assert.EqualValues(t, 12_500+15*75+12_500, c.Turn(turn), "with the child")
	assert.Equal(t, c.Turn(turn), c.Turn(child))
	assert.Equal(t, c.Turn(turn), c.Conversation(conv))

	next, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: "next"})
	charge(t, c, next, "big", ten)
	assert.EqualValues(t, 12_500, c.Turn(next))
	assert.EqualValues(t, 12_500+15*75+25_000, c.Conversation(conv))
	assert.Equal(t, cost.Totals{Usage: message.Usage{Input: 35}, Cost: 25_000 + 15*75, Steps: 3}, c.Agent("ann"))
	assert.Equal(t, cost.Totals{Usage: ten, Cost: 12_500, Steps: 1}, c.Agent("bob"))
	assert.Empty(t, c.Agent("nobody"))
}

// TestUnknownModel: it is told of once.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	c, host := newCost(t), &hooktest.Recorder{}
	turn := hooktest.Turn(hooktest.Conversation(nil, host), "hello")
	for range 3 {
		charge(t, c, turn, "novel", message.Usage{Input: 1})
	}
	require.Len(t, host.Events(), 1)
	assert.Equal(t, event.Diagnostic, host.Events()[0].Kind)
	assert.Contains(t, host.Events()[0].Text, "novel")
	quiet, err := cost.New(&cost.Options{Quiet: true})
	require.NoError(t, err)
	charge(t, quiet, turn, "other", message.Usage{Input: 1})
	assert.Len(t, host.Events(), 1)
	assert.Zero(t, c.Turn(turn))
}

// TestConcurrent: turns of several agents at once; totals lose nothing.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	c := newCost(t)
	conv := hooktest.Conversation(nil, nil)
	root := hooktest.Turn(conv, "hello")
	var wg sync.WaitGroup
	for n := range 8 {
		child, _ := hook.NewTurn(hook.TurnData{Conversation: conv, ID: fmt.Sprint(n), Parent: root})
		wg.Go(func() {
			for range 100 {
				charge(t, c, child, "small", message.Usage{Input: 1})
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 800*75, c.Turn(root))
	assert.EqualValues(t, 800*75, c.Conversation(conv))
	assert.EqualValues(t, 800, c.Agent("tester").Steps)
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := cost.Parse([]byte(`{"models": {"m*": {"input": 1.25, "output": 10, "cache_read": 0.125}}}`), "prices.json")
	require.NoError(t, err)
	assert.Equal(t, cost.Table{"m*": {Input: 1.25, Output: 10, CacheRead: dollars(0.125)}}, got)
	for text, want := range map[string]string{
		`{"models": {"m": {"in": 1}}}`:                  `prices.json: models.m.in: unknown key; known are cache_read, cache_write, input, output`,
		`{"models": {"m": {"input": 1}, "m": {}}}`:      `prices.json: models.m: given twice`,
		`{"models": {"m": {"input": -1, "output": 2}}}`: `prices.json: price of "m": input: -1 is no price`,
		`[]`:          `prices.json: must be an object`,
		`{"models": `: `prices.json: unexpected end of the text`,
	} {
		_, err := cost.Parse([]byte(text), "prices.json")
		assert.ErrorContains(t, err, want)
	}
}
