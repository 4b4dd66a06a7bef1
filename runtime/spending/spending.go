// Package spending keeps what model calls cost, and refuses calls beyond a limit: of a turn, a
// day, a project or an API token.
//
//	ledger, err := spending.New(store, &spending.Options{Price: prices, Limits: spending.Limits{Day: 20 * hook.Dollar}})
//	rt := runtime.New(h, model, &runtime.Options{Store: store, Spending: ledger})
//
// The runtime asks the ledger before every request to a model, whoever makes it: steps, retries,
// fallback models, hooks, summaries and children. A limit is reached when what was spent, and
// what requests that run may cost at most, come to it. Then the request is not made: a turn
// ends with hook.StopCostLimit, after the tools of its last step.
//
// So all processes that share a store exceed a limit together by one request at most, if no
// request costs more than its estimate: the estimated tokens of its text, plus its MaxTokens of
// output, or AssumedOutput without one. A request that costs more than that, or runs longer
// than 20 minutes, exceeds the limit by the difference. A request may be refused because of
// others that run and turn out to cost less; then there is room again.
//
// What a request has cost is written when it ends. A stream that breaks off, or that the turn
// cancels, reports no usage and is estimated. If the process is killed, the requests in flight
// are counted with their estimated input if there are limits, and not at all without limits.
package spending

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
)

// AssumedOutput is the output in tokens that a request without MaxTokens reserves.
const AssumedOutput = 4096

// hold is how long a request counts with its reservation.
const hold = 20 * time.Minute

// settleTime bounds how long the end of a request waits for the store.
const settleTime = 10 * time.Second

// Ledger prices model calls and keeps what they cost. It is safe for concurrent use. A nil
// Ledger knows no prices and keeps nothing.
type Ledger struct {
	store store.Spending
	o     Options
}

// Options are the settings of a [Ledger]; nil is all zero values.
type Options struct {
	Limits Limits
	// Price returns the cost of a call of the model with that usage, and whether the model has
	// a price. It is called from several goroutines. Nil knows no price.
	Price func(model string, u message.Usage) (cost hook.Cost, known bool)
	// Now is the clock, whose location decides when a day begins; nil is time.Now.
	Now func() time.Time
}

// New returns a ledger over the store; nil keeps nothing, and only a turn can have a limit.
func New(s store.Spending, o *Options) (*Ledger, error) {
	l := &Ledger{store: s}
	if o != nil {
		l.o = *o
	}
	if l.o.Now == nil {
		l.o.Now = time.Now
	}
	if s == nil && l.o.Limits.stored() {
		return nil, errors.New("spending: a limit of a day, a project or a token needs a store that keeps spending")
	}
	return l, nil
}

// Priced returns a ledger that knows prices and keeps nothing; nil knows none.
func Priced(price func(model string, u message.Usage) hook.Cost) *Ledger {
	if price == nil {
		return nil
	}
	return &Ledger{o: Options{Now: time.Now, Price: func(model string, u message.Usage) (hook.Cost, bool) { return price(model, u), true }}}
}

// Price returns the cost of a model call; 0 if the model has no price.
func (l *Ledger) Price(model string, u message.Usage) hook.Cost {
	cost, _ := l.price(model, u)
	return cost
}

func (l *Ledger) price(model string, u message.Usage) (hook.Cost, bool) {
	if l == nil || l.o.Price == nil {
		return 0, false
	}
	return l.o.Price(model, u)
}

// Counts reports whether Stream does anything but ask the provider.
func (l *Ledger) Counts() bool { return l != nil && (l.store != nil || l.o.Limits.Any()) }

// Turn adds up the model calls of one turn of a user, with those of its children. The zero Turn
// is one of the local user. It is safe for concurrent use and must not be copied.
type Turn struct {
	token string

	mu              sync.Mutex
	spent, reserved hook.Cost
	running         int64
	// unknown has the models without a price that were reported.
	unknown map[string]bool
}

// Resume sets for whom the turn runs, and what it had cost before it was interrupted. It is called
// before the first request.
func (t *Turn) Resume(token string, spent hook.Cost) { t.token, t.spent = token, spent }

// Token is the name of the credential for which the turn runs; "" is the local user.
func (t *Turn) Token() string { return t.token }

// reserve adds the reservation of a call. It returns a [*store.LimitError] if the turn has reached the limit.
func (t *Turn) reserve(amount, limit hook.Cost) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit != 0 && t.spent+t.reserved >= limit {
		return &store.LimitError{
			Limit: store.SpendingLimit{Name: "turn", Max: limit}, Spent: t.spent, Reserved: t.reserved, Running: t.running,
		}
	}
	t.reserved += amount
	t.running++
	return nil
}

// settle takes the reservation back and adds what the call has cost.
func (t *Turn) settle(reserved, cost hook.Cost) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved -= reserved
	t.spent += cost
	t.running--
}

// firstUnknown reports whether the model is new among those without a price.
func (t *Turn) firstUnknown(model string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unknown[model] || len(t.unknown) == maxUnknown {
		return false
	}
	if t.unknown == nil {
		t.unknown = map[string]bool{}
	}
	t.unknown[model] = true
	return true
}

// maxUnknown limits the reported models without a price.
const maxUnknown = 100

// Caller says who makes a request.
type Caller struct {
	Project, Agent string
	// Turn is that of the user for whom the request is made; not nil.
	Turn *Turn
	// Tell gets a sentence for people about the request; not nil.
	Tell func(text string)
}

// Stream makes the request unless a limit is reached: then the stream has a [*RefusedError], and
// the provider is not asked. Other errors are those of the store, if it cannot check a limit,
// and of the provider.
func (l *Ledger) Stream(ctx context.Context, p provider.Provider, req message.ModelRequest, c Caller) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		r, err := l.begin(ctx, &req, c)
		if err != nil {
			yield(message.Chunk{}, err)
			return
		}
		defer func() { // also if the provider panics
			if err := r.end(ctx); err != nil {
				c.Tell(err.Error())
			}
		}()
		for chunk, err := range p.Stream(ctx, req) {
			r.note(&chunk, err)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// begin reserves what the request may cost.
func (l *Ledger) begin(ctx context.Context, req *message.ModelRequest, c Caller) (*running, error) {
	model := req.Model.Name
	r := &running{ledger: l, turn: c.Turn, request: req, key: store.SpentKey{
		Day: l.o.Now().Format(time.DateOnly), Project: c.Project, Agent: short(c.Agent), Model: short(model), Token: short(c.Turn.token),
	}}
	if !l.o.Limits.Any() {
		return r, c.Turn.reserve(0, 0)
	}
	input := tokensOf(req)
	least, known := l.price(model, message.Usage{Input: input})
	if known {
		r.reserved = l.worst(model, input, req.Model.MaxTokens)
	} else {
		if l.o.Limits.RefuseUnknown {
			return nil, l.unknownPrice(model)
		}
		if c.Turn.firstUnknown(model) {
			c.Tell(fmt.Sprintf("spending: there is no price for the model %s; it counts as free, and the limits do not see what it costs", model))
		}
	}
	free := known && r.reserved == 0 // a limit on money is none on a model that costs nothing
	if err := c.Turn.reserve(r.reserved, limitUnless(free, l.o.Limits.Turn)); err != nil {
		return nil, l.refused(err)
	}
	if free || !l.o.Limits.stored() {
		return r, nil
	}
	estimate := store.Spent{SpentKey: r.key, Calls: 1, Estimated: 1, Usage: message.Usage{Input: input}, Cost: least}
	if !known {
		estimate.Unpriced = 1
	}
	var err error
	r.id, err = l.store.Reserve(ctx, store.Reservation{Least: estimate, Most: r.reserved, Hold: hold}, l.limits(r.key))
	if err != nil {
		c.Turn.settle(r.reserved, 0)
		return nil, l.refused(err)
	}
	return r, nil
}

func limitUnless(free bool, limit hook.Cost) hook.Cost {
	if free {
		return 0
	}
	return limit
}

// worst is what a call costs at most by estimate: all of its input may be written to a cache.
func (l *Ledger) worst(model string, input int64, maxTokens int) hook.Cost {
	output := int64(AssumedOutput)
	if maxTokens > 0 {
		output = int64(maxTokens)
	}
	plain, _ := l.price(model, bounded(message.Usage{Input: input, Output: output}))
	cached, _ := l.price(model, bounded(message.Usage{Input: input, CacheWrite: input, Output: output}))
	return min(max(plain, cached, 0), store.MaxCallCost)
}

// The names of limits, as in a configuration.
const (
	nameTurn         = "turn"
	nameDay          = "day"
	nameProjectDay   = "project.day"
	nameProjectTotal = "project.total"
	nameTokenDay     = "token.day"
	nameTokenTotal   = "token.total"
	nameUnknown      = "unknown"
)

// limits returns the limits that a store has to check for a call of the key.
func (l *Ledger) limits(k store.SpentKey) []store.SpendingLimit {
	token := l.o.Limits.token(k.Token)
	today, always := k.Day, "" // the first day
	var out []store.SpendingLimit
	for _, limit := range []store.SpendingLimit{
		{SpendingFilter: store.SpendingFilter{Since: today}, Name: nameDay, Max: l.o.Limits.Day},
		{SpendingFilter: store.SpendingFilter{Since: today, Project: &k.Project}, Name: nameProjectDay, Max: l.o.Limits.Project.Day},
		{SpendingFilter: store.SpendingFilter{Since: always, Project: &k.Project}, Name: nameProjectTotal, Max: l.o.Limits.Project.Total},
		{SpendingFilter: store.SpendingFilter{Since: today, Token: &k.Token}, Name: nameTokenDay, Max: token.Day},
		{SpendingFilter: store.SpendingFilter{Since: always, Token: &k.Token}, Name: nameTokenTotal, Max: token.Total},
	} {
		if limit.Max != 0 {
			out = append(out, limit)
		}
	}
	return out
}
