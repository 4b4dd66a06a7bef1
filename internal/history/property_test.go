package history_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// exchange is a part of a random history: a question, calls, their results, and
// what stands behind them.
type exchange struct {
	before  []message.Message
	ask     message.Message
	calls   []message.Block
	results []message.Message
	behind  []message.Message
}

// world is a random history and what is true about it.
type world struct {
	t     *rapid.T
	parts []exchange
	// answered are the calls whose results must be kept, by the number that
	// stands in the metadata of the call and in the text of the result.
	answered map[int]bool
	free     []int // exchanges without damage
	next     int
}

func newWorld(t *rapid.T) *world {
	w := &world{t: t, answered: map[int]bool{}}
	for range rapid.IntRange(3, 8).Draw(t, "exchanges") {
		w.free = append(w.free, len(w.parts))
		w.parts = append(w.parts, w.exchange())
	}
	return w
}

func (w *world) exchange() exchange {
	x := exchange{ask: user("?"), behind: []message.Message{says(text("ok"))}}
	for range rapid.IntRange(1, 4).Draw(w.t, "calls") {
		w.next++
		tool := rapid.SampledFrom([]string{"a", "b"}).Draw(w.t, "tool")
		id := fmt.Sprintf("id_%d", w.next)
		c := call(id, tool, `{"p":1}`)
		c.Meta = message.JSON(fmt.Sprint(w.next))
		x.calls = append(x.calls, c)
		x.results = append(x.results, result(id, tool, fmt.Sprint("r", w.next)))
		w.answered[w.next] = true
	}
	return x
}

func (w *world) messages() []message.Message {
	var out []message.Message
	for _, x := range w.parts {
		out = append(out, x.before...)
		out = append(out, x.ask, says(append([]message.Block{text("I look")}, x.calls...)...))
		out = append(out, x.results...)
		out = append(out, x.behind...)
	}
	return out
}

// part takes an exchange that has no damage, so that each has one at most and it
// stays clear which result belongs to which call.
func (w *world) part() *exchange {
	i := rapid.IntRange(0, len(w.free)-1).Draw(w.t, "exchange")
	at := w.free[i]
	w.free = slices.Delete(w.free, i, i+1)
	return &w.parts[at]
}

// one returns the index of one of the exchange's calls.
func (w *world) one(x *exchange) int { return rapid.IntRange(0, len(x.calls)-1).Draw(w.t, "call") }

func number(c message.Block) (n int) {
	_, _ = fmt.Sscan(string(c.Meta), &n)
	return n
}

// take takes a result out of its exchange.
func (w *world) take(x *exchange, i int) message.Message {
	m := x.results[i]
	x.results = slices.Delete(x.results, i, i+1)
	return m
}

// somewhere puts a message behind a random exchange.
func (w *world) somewhere(m message.Message) {
	x := &w.parts[rapid.IntRange(0, len(w.parts)-1).Draw(w.t, "where")]
	x.behind = append(x.behind, m)
}

// breaks are the kinds of damage. Each takes one exchange and breaks it.
var breaks = map[string]func(w *world, x *exchange){
	"a result is lost": func(w *world, x *exchange) {
		i := w.one(x)
		delete(w.answered, number(x.calls[i]))
		w.take(x, i)
	},
	"a result belongs to nobody": func(w *world, x *exchange) { w.somewhere(result("nobody", "a", "?")) },
	"a call is lost": func(w *world, x *exchange) {
		i := w.one(x)
		delete(w.answered, number(x.calls[i]))
		x.calls = slices.Delete(x.calls, i, i+1)
	},
	"a result comes twice": func(w *world, x *exchange) {
		again := x.results[w.one(x)]
		again.Result = message.TextResult("again")
		x.results = append(x.results, again)
	},
	"a result comes twice, the second time elsewhere": func(w *world, x *exchange) {
		again := x.results[w.one(x)]
		x.behind = append(x.behind, again)
	},
	"a call was given up before its result": func(w *world, x *exchange) {
		i := w.one(x)
		x.results = slices.Insert(x.results, 0, cancelled(x.results[i].CallID, "a"))
	},
	"the results are turned round": func(w *world, x *exchange) { slices.Reverse(x.results) },
	"somebody speaks in between": func(w *world, x *exchange) {
		x.results = slices.Insert(x.results, w.one(x), user("hurry"))
	},
	"a result is somewhere else":      func(w *world, x *exchange) { w.somewhere(w.take(x, w.one(x))) },
	"a result stands before its call": func(w *world, x *exchange) { x.before = append(x.before, w.take(x, w.one(x))) },
	"no ids": func(w *world, x *exchange) {
		for i := range x.calls {
			x.calls[i].CallID, x.results[i].CallID = "", ""
		}
	},
	"a result has no id": func(w *world, x *exchange) { x.results[w.one(x)].CallID = "" },
	"a call has no id":   func(w *world, x *exchange) { x.calls[w.one(x)].CallID = "" },
	"one id for all": func(w *world, x *exchange) {
		for i := range x.calls {
			x.calls[i].CallID, x.results[i].CallID = "same", "same"
		}
	},
	"the id of an earlier call": func(w *world, x *exchange) {
		if len(w.free) > 0 {
			i, id := w.one(x), w.part().calls[0].CallID
			x.calls[i].CallID, x.results[i].CallID = id, id
		}
	},
	"an id that nobody takes": func(w *world, x *exchange) {
		i := w.one(x)
		x.calls[i].CallID += ":0"
		x.results[i].CallID += ":0"
	},
	"a tool that cannot be": func(w *world, x *exchange) {
		i := w.one(x)
		x.calls[i].Tool, x.results[i].Tool = "a b", "a b"
	},
	"a result of another tool":     func(w *world, x *exchange) { x.results[w.one(x)].Tool = "" },
	"arguments nobody can read":    func(w *world, x *exchange) { x.calls[w.one(x)].JSON = `{"p":` },
	"arguments with half an emoji": func(w *world, x *exchange) { x.calls[w.one(x)].JSON = `{"p":"\ud83d"}` },
	"an empty answer":              func(w *world, x *exchange) { x.before = append(x.before, says(reasoning("hm"))) },
	"an empty question":            func(w *world, x *exchange) { x.ask = user("") },
	"an unknown role":              func(w *world, x *exchange) { x.results[w.one(x)].Role = "function" },
	"a result in the wrong field": func(w *world, x *exchange) {
		r := &x.results[w.one(x)]
		r.Content, r.Result.Content = r.Result.Content, message.List[message.Block]{}
	},
	"a user who calls": func(w *world, x *exchange) {
		x.ask.Content = x.ask.Content.Append(call("user", "a", "{}"))
	},
}

func TestAnyDamageIsMendedWithoutLoss(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(breaks))
	for _, first := range kinds {
		t.Run(first, func(t *testing.T) {
			t.Parallel()
			noticed := 0
			rapid.Check(needs.Seeded(t), func(t *rapid.T) {
				w := newWorld(t)
				done := []string{first}
				for range rapid.IntRange(0, 4).Draw(t, "more damages") {
					done = append(done, rapid.SampledFrom(kinds).Draw(t, "damage"))
				}
				for _, k := range done {
					if len(w.free) > 0 {
						breaks[k](w, w.part())
					}
				}
				noticed += checkMended(t, w, done)
			})
			require.Positive(t, noticed, "no history had this damage") // one call cannot be turned round
		})
	}
}

// checkMended mends the history of w and finds that every result is still the one of
// its call. It returns the number of problems that were told.
func checkMended(t *rapid.T, w *world, done []string) int {
	in := w.messages()
	out, problems := repairs(t, in)
	kept := map[int]bool{}
	for i, m := range out {
		n := 0
		for _, b := range m.Content.All() {
			if b.Kind != message.BlockToolCall {
				continue
			}
			n++
			r := out[i+n].Result
			if r.Failure == message.FailCancelled {
				continue
			}
			require.Contains(t, []string{fmt.Sprint("r", number(b)), "again"}, r.Text(), "%v: a result of another call: %v", done, lines(in))
			kept[number(b)] = r.Text() != "again"
		}
	}
	for n := range w.answered {
		require.True(t, kept[n], "%v: result r%d is lost: %v became %v", done, n, lines(in), lines(out))
	}
	return len(problems)
}
