package quota

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Gate counts what one tenant uses of this daemon, and refuses what is beyond its limits. Other daemons over the same store count for
// themselves; tokens they count together. It is safe for concurrent use.
type Gate struct {
	limits Limits
	used   func(ctx context.Context) (int64, error)
	now    func() time.Time

	mu      sync.Mutex
	open    int            // requests
	waiting int            // requests for turns
	turns   map[string]int // requests that begin a turn or wait for one, by conversation
	last    time.Time      // when the last request ended
}

// NewGate returns the gate of a tenant. used returns how many tokens it has used today; it is asked only if there is such a limit.
func NewGate(l Limits, used func(ctx context.Context) (int64, error)) *Gate {
	g := &Gate{limits: l, used: used, now: time.Now, turns: map[string]int{}}
	g.last = g.now()
	return g
}

// LimitError: a request is beyond a limit of the tenant. Nothing was changed.
type LimitError struct {
	// Limit is the key of the limit in the section tenants.
	Limit string
	// After is when it is worth another try.
	After time.Duration
	text  string
}

// Error says which limit was reached, and who can raise it.
func (e *LimitError) Error() string { return e.text }

func limited(limit string, after time.Duration, format string, args ...any) error {
	return &LimitError{limit, after, fmt.Sprintf(format, args...) + "; who runs the daemon sets it as tenants." + limit + " in config.yaml"}
}

// Enter counts a request until leave is called. The error is a [*LimitError].
func (g *Gate) Enter() (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if most := g.limits.Connections; most > 0 && g.open >= most {
		return nil, limited("connections", time.Second, "%d requests and streams are open, which is the limit: end one", most)
	}
	g.open++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open--
		g.last = g.now()
	}, nil
}

// Open returns how many requests are open, and how many of them wait for the turn before theirs.
func (g *Gate) Open() (requests, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open, g.waiting
}

// Unused returns for how long no request has been open; 0 while one is.
func (g *Gate) Unused() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open > 0 {
		return 0
	}
	return g.now().Sub(g.last)
}

// Turn admits a request that begins a turn of a conversation. Call done when the turn has begun, or when none begins. running returns the
// conversations whose turns run now: a request for one of them waits. It is called with the gate locked, so that no other turn begins
// meanwhile, and must not block. The error is a [*LimitError], or that of used.
func (g *Gate) Turn(ctx context.Context, conversation string, running func() []string) (done func(), err error) {
	if err := g.checkTokens(ctx); err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	active := map[string]bool{}
	for _, id := range running() {
		active[id] = true
	}
	for id := range g.turns {
		active[id] = true
	}
	waits := 0
	switch {
	case active[conversation]:
		if most := g.limits.Waiting; most > 0 && g.waiting >= most {
			return nil, limited("waiting", time.Second, "%d requests wait for the turns before them, which is the limit: wait until some have begun", most)
		}
		waits = 1
	case g.limits.Turns > 0 && len(active) >= g.limits.Turns:
		return nil, limited("turns", time.Second, "%d turns run, which is the limit: wait until one has ended", len(active))
	}
	g.waiting += waits
	g.turns[conversation]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.waiting -= waits
		if g.turns[conversation]--; g.turns[conversation] == 0 {
			delete(g.turns, conversation)
		}
	}, nil
}

func (g *Gate) checkTokens(ctx context.Context) error {
	if g.limits.Tokens == 0 {
		return nil
	}
	used, err := g.used(ctx)
	if err != nil {
		return fmt.Errorf("the tokens of today cannot be counted, so no turn begins: %w", err)
	}
	if used < g.limits.Tokens {
		return nil
	}
	now := g.now()
	y, m, d := now.Date()
	tomorrow := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())
	return limited("tokens", tomorrow.Sub(now), "models have read and written %d tokens today, and the limit is %d: it begins anew at %s",
		used, g.limits.Tokens, tomorrow.Format("2006-01-02 15:04 MST"))
}
