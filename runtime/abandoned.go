package runtime

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/composite"
)

// Abandoned is work that nobody waits for any more and that still runs, because it
// ignores its context: calls of a tool, or calls of a hook at a point.
type Abandoned struct {
	// Tool is the name of the tool; "" for hooks and models.
	Tool string
	// Hook is the member of the composite that a turn was waiting for, or the members
	// that it can have been; "" where the hook is no composite, and for tools.
	Hook string
	// Point is where; "" for tools.
	Point string
	Count int
}

// String says what it is without its number.
func (a Abandoned) String() string {
	switch {
	case a.Tool != "":
		return "calls of " + a.Tool
	case a.Hook != "":
		return a.Point + " of " + a.Hook
	}
	return a.Point
}

// Abandoned returns what was abandoned and still runs, sorted by name. Hooks that were
// late at a timeout of their own are not among it: see LateHooks.
func (r *Runtime) Abandoned() []Abandoned { return r.abandoned.list() }

// LateHooks returns how many hooks of the process still run that did not answer within
// their timeout.
func (r *Runtime) LateHooks() int { return composite.Abandoned() }

// abandonments counts abandoned work. The zero value is ready.
type abandonments struct {
	mu sync.Mutex
	// counts are by what was abandoned, whose own Count is zero.
	counts map[Abandoned]int
	// none is closed when nothing is left; nil if nobody waits for that.
	none chan struct{}
}

func (a *abandonments) add(what Abandoned) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[Abandoned]int{}
	}
	a.counts[what]++
}

// ended takes back one add.
func (a *abandonments) ended(what Abandoned) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts[what]--; a.counts[what] == 0 {
		delete(a.counts, what)
	}
	if len(a.counts) == 0 && a.none != nil {
		close(a.none)
		a.none = nil
	}
}

func (a *abandonments) count(what Abandoned) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[what]
}

func (a *abandonments) list() []Abandoned {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]Abandoned, 0, len(a.counts))
	for what, n := range a.counts {
		what.Count = n
		out = append(out, what)
	}
	slices.SortFunc(out, func(x, y Abandoned) int {
		return cmp.Or(cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.Point, y.Point), cmp.Compare(x.Hook, y.Hook))
	})
	return out
}

// wait returns when nothing is left, or ctx has ended. The error says what is left.
func (a *abandonments) wait(ctx context.Context) error {
	a.mu.Lock()
	var none chan struct{}
	if len(a.counts) > 0 {
		if a.none == nil {
			a.none = make(chan struct{})
		}
		none = a.none
	}
	a.mu.Unlock()
	if none == nil {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
	}
	var left []string
	n := 0
	for _, what := range a.list() {
		n += what.Count
		left = append(left, fmt.Sprintf("%s (%d)", what, what.Count))
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d in all: %s", ErrAbandoned, n, strings.Join(left, ", "))
}
