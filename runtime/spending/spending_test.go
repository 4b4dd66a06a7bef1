package spending_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/spending"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A token of input costs a cent, one of output two, one that is written to a cache three. The
// model "free" costs nothing, and "novel" has no price.
func price(model string, u message.Usage) (hook.Cost, bool) {
	const cent = hook.Dollar / 100
	switch model {
	case "free":
		return 0, true
	case "novel":
		return 0, false
	}
	return cent * hook.Cost(u.Input-u.CacheWrite+2*u.Output+3*u.CacheWrite), true
}

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// world is a ledger over a store, late in the evening of a city behind UTC.
type world struct {
	*spending.Ledger
	t     *testing.T
	clock *clock
	store store.Spending
}

func newWorld(t *testing.T, l spending.Limits) *world {
	t.Helper()
	c := &clock{now: time.Date(2026, 11, 25, 22, 0, 0, 0, time.FixedZone("XST", -5*3600))}
	s := mem.New(&mem.Options{Now: c.Now})
	return &world{ledgerOver(t, s, l, c.Now), t, c, s}
}

func ledgerOver(t *testing.T, s store.Spending, l spending.Limits, now func() time.Time) *spending.Ledger {
	t.Helper()
	ledger, err := spending.New(s, &spending.Options{Limits: l, Price: price, Now: now})
	require.NoError(t, err)
	return ledger
}

// request has as many tokens of input as it says, and of output at most.
func request(model string, input, most int) *message.ModelRequest {
	return &message.ModelRequest{Model: message.Model{Name: model, MaxTokens: most}, Messages: message.MessagesOf(message.UserText(strings.Repeat("word", input)))}
}

// asked is a provider that plays one answer.
type asked message.ModelStream

func (a asked) Stream(context.Context, message.ModelRequest) message.ModelStream {
	return message.ModelStream(a)
}

// call is a request, and who makes it.
type call struct {
	turn    *spending.Turn
	project string
	req     *message.ModelRequest
}

// running is a request whose answer has begun, with no text so far.
type running struct {
	next func() (message.Chunk, error, bool)
	stop func()
	// usage is what the model will report.
	usage *message.Usage
	// told are the sentences for people.
	told *[]string
}

// begin makes the request and returns when its answer has begun.
func begin(t *testing.T, l *spending.Ledger, c call) (*running, error) {
	t.Helper()
	r := &running{usage: new(message.Usage), told: new([]string)}
	model := asked(func(yield func(message.Chunk, error) bool) {
		if yield(message.Chunk{Kind: message.ChunkText}, nil) {
			yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: *r.usage}, nil)
		}
	})
	r.next, r.stop = iter.Pull2(l.Stream(t.Context(), model, *c.req, spending.Caller{
		Project: c.project, Agent: "a", Turn: c.turn, Tell: func(text string) { *r.told = append(*r.told, text) },
	}))
	t.Cleanup(r.stop)
	_, err, _ := r.next()
	return r, err
}

// ends ends a request with a usage.
func ends(t *testing.T, r *running, u message.Usage) {
	t.Helper()
	*r.usage = u
	for {
		_, err, more := r.next()
		if !more {
			return
		}
		require.NoError(t, err)
	}
}

func turnOf(token string) *spending.Turn {
	t := new(spending.Turn)
	t.Resume(token, 0)
	return t
}

// spends makes a call that costs a number of cents.
func (w *world) spends(turn *spending.Turn, project string, cents int64) {
	w.t.Helper()
	r, err := begin(w.t, w.Ledger, call{turn, project, request("m", 1, 1)})
	require.NoError(w.t, err)
	ends(w.t, r, message.Usage{Input: cents})
}

// refuses returns why a call is refused.
func (w *world) refuses(c call) *spending.RefusedError {
	w.t.Helper()
	_, err := begin(w.t, w.Ledger, c)
	refused, ok := errors.AsType[*spending.RefusedError](err)
	require.True(w.t, ok, "%v", err)
	require.ErrorIs(w.t, err, hook.ErrBudget)
	return refused
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	one := hook.Dollar
	for name, tt := range map[string]struct {
		limits spending.Limits
		token  string
		want   string
	}{
		"turn": {spending.Limits{Turn: one}, "",
			"spending limit reached: $1.0000 spent, of $1.0000 for one turn; the next turn begins at $0; raise turn in spending.Limits"},
		"day": {spending.Limits{Day: one, Source: "~/.grapnel/config.yaml"}, "",
			"spending limit reached: $1.0000 spent, of $1.0000 for today in all projects; it begins anew at 2026-11-26 00:00 XST; raise spending.day in ~/.grapnel/config.yaml"},
		"project.day": {spending.Limits{Project: spending.Scope{Day: one}}, "",
			"for today in this project; it begins anew at 2026-11-26 00:00 XST; raise project.day in"},
		"project.total": {spending.Limits{Project: spending.Scope{Total: one}}, "",
			"for this project; it counts all time and does not begin anew; raise project.total in"},
		"token.day": {spending.Limits{Token: spending.Scope{Day: one}}, "ci",
			`for today for the token "ci"; it begins anew at 2026-11-26 00:00 XST; raise token.day in`},
		"token.total": {spending.Limits{Token: spending.Scope{Day: 9 * one}, Tokens: map[string]spending.Scope{"ci": {Total: one}}}, "ci",
			`for the token "ci"; it counts all time and does not begin anew; raise tokens.ci.total in`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.limits)
			turn := turnOf(tt.token)
			w.spends(turn, "/p", 100)
			got := w.refuses(call{turn, "/p", request("m", 1, 1)})
			assert.Contains(t, got.Error(), tt.want)
			assert.Equal(t, name, got.Limit)
			assert.Equal(t, one, got.Spent)
			assert.JSONEq(t, `{"limit":"`+name+`","currentCost":1,"maxCost":1}`, string(got.Figures()))
			free, err := begin(t, w.Ledger, call{turn, "/p", request("free", 1, 1)})
			require.NoError(t, err, "a limit on money is none on a model that costs nothing")
			ends(t, free, message.Usage{Input: 5})
			w.refuses(call{turn, "/p", request("novel", 1, 1)})
		})
	}
}

func TestWhatIsReservedCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, spending.Limits{Day: hook.Dollar, Turn: 10 * hook.Dollar})
	turn := new(spending.Turn)
	running, err := begin(t, w.Ledger, call{turn, "/p", request("m", 10, 40)}) // 30 cents of input, if it is written to a cache, and 80
	require.NoError(t, err)
	got := w.refuses(call{turn, "/p", request("m", 1, 1)})
	assert.Equal(t, "spending limit reached: $0.0000 spent and up to $1.1000 in use by requests that run (1), of $1.0000 for today in all projects; "+
		"there may be room when these have ended; raise day in spending.Limits", got.Error())
	assert.JSONEq(t, `{"limit":"day","currentCost":0,"reservedCost":1.1,"maxCost":1}`, string(got.Figures()))
	ends(t, running, message.Usage{Input: 10, Output: 1})
	w.spends(turn, "/q", 1)

	w = newWorld(t, spending.Limits{Turn: hook.Dollar})
	_, err = begin(t, w.Ledger, call{turn, "/p", request("m", 10, 0)})
	require.NoError(t, err)
	assert.Equal(t, hook.Cost(30+2*spending.AssumedOutput)*hook.Dollar/100, w.refuses(call{turn, "/p", request("m", 1, 1)}).Reserved, "without MaxTokens")
}

func TestADayEndsAtLocalMidnight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, spending.Limits{Day: hook.Dollar, Project: spending.Scope{Total: 3 * hook.Dollar}})
	w.spends(new(spending.Turn), "/p", 100)
	w.clock.set(w.clock.Now().Add(119 * time.Minute))
	w.refuses(call{new(spending.Turn), "/p", request("m", 1, 1)})
	w.clock.set(w.clock.Now().Add(time.Minute))
	w.spends(new(spending.Turn), "/p", 250)
	w.clock.set(w.clock.Now().Add(24 * time.Hour))
	assert.Equal(t, "project.total", w.refuses(call{new(spending.Turn), "/p", request("m", 1, 1)}).Limit)
	w.spends(new(spending.Turn), "/q", 1)
	rows, err := w.store.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	days := []string{rows[0].Day, rows[1].Day, rows[2].Day}
	assert.Equal(t, []string{"2026-11-25", "2026-11-26", "2026-11-27"}, days)
}

func TestTokensAreBoundedEachForItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, spending.Limits{Token: spending.Scope{Total: hook.Dollar}, Tokens: map[string]spending.Scope{"big": {Total: 2 * hook.Dollar}}})
	for token, cents := range map[string]int64{"a": 100, "b": 100, "big": 200} {
		w.spends(turnOf(token), "/p", cents)
		w.refuses(call{turnOf(token), "/q", request("m", 1, 1)})
	}
	w.spends(new(spending.Turn), "/p", 1000)
	w.spends(new(spending.Turn), "/p", 1000)
	w.spends(turnOf("c"), "/p", 1)
}

func TestUnknownPrices(t *testing.T) {
	t.Parallel()
	w := newWorld(t, spending.Limits{Day: hook.Dollar})
	turn := new(spending.Turn)
	for i := range 3 {
		r, err := begin(t, w.Ledger, call{turn, "/p", request("novel", 1, 1)})
		require.NoError(t, err)
		assert.Equal(t, i == 0, len(*r.told) == 1, "once a turn")
		ends(t, r, message.Usage{Input: 1})
	}
	w = newWorld(t, spending.Limits{RefuseUnknown: true, Source: "config.yaml"})
	assert.Equal(t, "there is no price for the model \"novel\", and config.yaml refuses such models; give it a price, or write `unknown: allow` there",
		w.refuses(call{turn, "/p", request("novel", 1, 1)}).Error())
	w = newWorld(t, spending.Limits{})
	r, err := begin(t, w.Ledger, call{turn, "/p", request("novel", 1, 1)})
	require.NoError(t, err)
	assert.Empty(t, *r.told, "there is no limit that does not see it")
}

// Nothing that a server reports, and no name, breaks the sums or gets round a limit.
func TestFiguresThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, spending.Limits{Turn: hook.Dollar})
	long := strings.Repeat("é", 300)
	turn := turnOf(long)
	r, err := begin(t, w.Ledger, call{turn, long, &message.ModelRequest{Model: message.Model{Name: long, MaxTokens: math.MaxInt}}})
	require.NoError(t, err)
	ends(t, r, message.Usage{Input: math.MinInt64, Output: math.MinInt64})
	r, err = begin(t, w.Ledger, call{turn, long + "x", &message.ModelRequest{Model: message.Model{Name: long, MaxTokens: 1}}})
	require.NoError(t, err, "a negative usage gives nothing back, and takes nothing")
	ends(t, r, message.Usage{Input: math.MaxInt64, Output: math.MaxInt64, CacheWrite: math.MaxInt64})
	assert.Positive(t, w.refuses(call{turn, long, request("m", 1, 1)}).Spent)
	rows, err := w.store.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		assert.Less(t, len(row.Model), 201)
		assert.Less(t, len(row.Token), 201)
		assert.LessOrEqual(t, row.Cost, store.MaxCallCost)
	}
}

func TestALimitThatNeedsAStoreHasToHaveOne(t *testing.T) {
	t.Parallel()
	_, err := spending.New(nil, &spending.Options{Limits: spending.Limits{Day: 1}})
	require.EqualError(t, err, "spending: a limit of a day, a project or a token needs a store that keeps spending")
	ledger, err := spending.New(nil, &spending.Options{Price: price})
	require.NoError(t, err)
	assert.False(t, ledger.Counts())
	assert.Equal(t, hook.Dollar/100, ledger.Price("m", message.Usage{Input: 1}))
	ledger = nil
	assert.False(t, ledger.Counts())
	assert.Zero(t, ledger.Price("m", message.Usage{Input: 1}))
}

// TestParallelTurns: calls of random costs from turns that run at the same time, in two ledgers
// as of two processes. Every call that ended is there once, and the limits are exceeded by one
// call at most.
func TestParallelTurns(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "x.db"), nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			limits := spending.Limits{Turn: 3 * hook.Dollar, Day: 10 * hook.Dollar, Project: spending.Scope{Total: 8 * hook.Dollar}}
			ledgers := []*spending.Ledger{ledgerOver(t, s, limits, time.Now), ledgerOver(t, s, limits, time.Now)}
			var mu sync.Mutex
			got := map[string]hook.Cost{}
			var worst hook.Cost
			var wg sync.WaitGroup
			for n := range 6 {
				turn, project := new(spending.Turn), fmt.Sprintf("/%d", n%2)
				for worker := range 2 { // a turn and a child of it
					rnd := rand.New(rand.NewPCG(seed, uint64(2*n+worker)))
					wg.Go(func() {
						for {
							input, most := 1+rnd.IntN(20), 1+rnd.IntN(20)
							u := message.Usage{Input: int64(input), Output: rnd.Int64N(int64(most) + 1)}
							model := asked(func(yield func(message.Chunk, error) bool) {
								yield(message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop, Usage: u}, nil)
							})
							_, err := provider.Collect(ledgers[n%2].Stream(t.Context(), model, *request("m", input, most), spending.Caller{
								Project: project, Turn: turn, Tell: func(text string) { assert.Fail(t, text) },
							}))
							if errors.Is(err, hook.ErrBudget) || !assert.NoError(t, err) {
								return
							}
							cost, _ := price("m", u)
							mu.Lock()
							got["all"] += cost
							got[project] += cost
							got[fmt.Sprint("turn ", n)] += cost
							worst = max(worst, hook.Cost(3*input+2*most)*hook.Dollar/100)
							mu.Unlock()
						}
					})
				}
			}
			wg.Wait()
			rows, err := s.Spent(t.Context(), store.SpendingFilter{})
			require.NoError(t, err)
			kept := map[string]hook.Cost{}
			for _, row := range rows {
				kept["all"] += row.Cost
				kept[row.Project] += row.Cost
			}
			for _, key := range []string{"all", "/0", "/1"} {
				assert.Equal(t, got[key], kept[key], key)
			}
			for key, limit := range map[string]hook.Cost{"all": limits.Day, "/0": limits.Project.Total, "/1": limits.Project.Total} {
				assert.Less(t, got[key], limit+worst, key)
			}
			for n := range 6 {
				assert.Less(t, got[fmt.Sprint("turn ", n)], limits.Turn+worst)
			}
			assert.Greater(t, got["all"], limits.Day/2, "most of the money can be spent")
		})
	}
}

// What a process was doing when it was killed counts as an estimate after a while, as long as there are limits.
func TestCallsOfAKilledProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, spending.Limits{Day: hook.Dollar})
	turn := new(spending.Turn)
	_, err := begin(t, w.Ledger, call{turn, "/p", request("m", 10, 200)}) // and is never heard of again
	require.NoError(t, err)
	w.clock.set(w.clock.Now().Add(20 * time.Minute))
	again := ledgerOver(t, w.store, spending.Limits{Day: hook.Dollar}, w.clock.Now)
	r, err := begin(t, again, call{new(spending.Turn), "/p", request("m", 1, 1)})
	require.NoError(t, err)
	ends(t, r, message.Usage{Input: 1})
	rows, err := w.store.Spent(t.Context(), store.SpendingFilter{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, hook.Cost(11)*hook.Dollar/100, rows[0].Cost)
	assert.EqualValues(t, 1, rows[0].Estimated)
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	gone := &provider.Error{Class: message.FailureNetwork, Err: errors.New("gone")}
	half, image := message.Chunk{Kind: message.ChunkText, Text: "12345678"}, message.Chunk{Kind: message.ChunkBlock, Block: &message.Block{Kind: message.BlockImage, Data: "AAAA"}}
	for name, tt := range map[string]struct {
		chunks []message.Chunk
		err    error
		cancel bool
		want   message.Usage
	}{
		"cancelled before an answer": {nil, context.Canceled, true, message.Usage{Input: 10}},
		"cut off":                    {[]message.Chunk{half}, gone, false, message.Usage{Input: 10, Output: 2}},
		"with media":                 {[]message.Chunk{half, image}, gone, false, message.Usage{Input: 10, Output: 1602}},
		"refused":                    {nil, &provider.Error{Class: message.FailureRateLimit, Err: errors.New("slow down")}, false, message.Usage{}},
		"not reached":                {nil, gone, false, message.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, spending.Limits{Day: hook.Dollar})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			model := asked(func(yield func(message.Chunk, error) bool) {
				for _, c := range tt.chunks {
					yield(c, nil)
				}
				if tt.cancel {
					cancel()
				}
				yield(message.Chunk{}, tt.err)
			})
			for _, err := range w.Stream(ctx, model, *request("m", 10, 1), spending.Caller{Project: "/p", Turn: new(spending.Turn), Tell: func(text string) { assert.Fail(t, text) }}) {
				if err != nil {
					assert.ErrorIs(t, err, tt.err)
				}
			}
			rows, err := w.store.Spent(t.Context(), store.SpendingFilter{})
			require.NoError(t, err)
			if tt.want == (message.Usage{}) {
				assert.Empty(t, rows)
				return
			}
			require.Len(t, rows, 1)
			assert.Equal(t, tt.want, rows[0].Usage)
			assert.EqualValues(t, 1, rows[0].Estimated)
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := spending.Parse([]byte(`{"turn": 1, "day": 20.5, "project": {"day": 5, "total": 100}, "token": {"day": 2}, "tokens": {"ci": {"total": 50}}, "unknown": "refuse"}`), "config.yaml")
	require.NoError(t, err)
	assert.Equal(t, spending.Limits{
		Turn: hook.Dollar, Day: 41 * hook.Dollar / 2, Project: spending.Scope{Day: 5 * hook.Dollar, Total: 100 * hook.Dollar}, Token: spending.Scope{Day: 2 * hook.Dollar},
		Tokens: map[string]spending.Scope{"ci": {Total: 50 * hook.Dollar}}, RefuseUnknown: true, Source: "config.yaml",
	}, got)
	got, err = spending.Parse([]byte(`{}`), "x")
	require.NoError(t, err)
	assert.Equal(t, spending.Limits{Source: "x"}, got)
	for text, want := range map[string]string{
		`{"dey": 1}`:                     "x: dey: unknown key; known are day, project, token, tokens, turn, unknown",
		`{"day": 0}`:                     "x: day: 0 is no limit; write dollars from 0.0001 to 1000000, or leave the key out",
		`{"turn": -1}`:                   "x: turn: -1 is no limit",
		`{"project": {"total": 1e9}}`:    "x: project.total: 1e+09 is no limit",
		`{"tokens": {"ci": {"day": 0}}}`: "x: tokens.ci.day: 0 is no limit",
		`{"tokens": {"": {"day": 1}}}`:   "x: tokens: a token has a name",
		`{"unknown": "maybe"}`:           `x: unknown: "maybe" is none of the two choices; write allow or refuse`,
		`{"day": "5"}`:                   "x: day: ",
		`[]`:                             "x: must be an object",
	} {
		_, err := spending.Parse([]byte(text), "x")
		assert.ErrorContains(t, err, want)
	}
}

// What is tightened never allows more than either of both.
func TestTightened(t *testing.T) {
	t.Parallel()
	a := spending.Limits{Turn: 5, Project: spending.Scope{Day: 3}, Token: spending.Scope{Total: 7}, Tokens: map[string]spending.Scope{"x": {Total: 100}}, Source: "a"}
	b := spending.Limits{Turn: 9, Day: 4, Project: spending.Scope{Day: 2, Total: 8}, Token: spending.Scope{Total: 6}, RefuseUnknown: true, Source: "b"}
	want := spending.Limits{
		Turn: 5, Day: 4, Project: spending.Scope{Day: 2, Total: 8}, Token: spending.Scope{Total: 6}, Tokens: map[string]spending.Scope{"x": {Total: 6}}, RefuseUnknown: true,
	}
	for _, got := range []spending.Limits{a.Tightened(b), b.Tightened(a)} {
		got.Source = ""
		assert.Equal(t, want, got)
	}
	assert.Equal(t, "a and b", a.Tightened(b).Source)
	assert.Equal(t, a, a.Tightened(spending.Limits{}))
}
