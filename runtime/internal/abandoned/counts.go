// Package abandoned counts work that ignores its context: nobody waits for it any more,
// and it still runs.
//
// A [Task] says whether one piece of work waits, runs, has ended or is abandoned. A [Call]
// is a function on a goroutine of its own that whoever waits for it can abandon. [Counts]
// knows the work that was abandoned and has not ended.
//
// Locks: Task.mu is taken before Counts.mu.
package abandoned

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Work is what is counted together: calls of a tool, or calls of a hook at a point.
type Work struct {
	// Tool is the name of the tool; "" for hooks and models.
	Tool string
	// Hook is the path of the member, or of the members one of which it is; "" for tools
	// and where there is no member.
	Hook string
	// Point is the name of the point; "" for tools.
	Point string
	// Count is how much of it there is. [Counts] ignores it in its arguments.
	Count int
}

// String says what it is without its number.
func (w Work) String() string {
	switch {
	case w.Tool != "":
		return "calls of " + w.Tool
	case w.Hook != "":
		return w.Point + " of " + w.Hook
	}
	return w.Point
}

// Text lists work with its numbers: "2 in all: calls of x (1), OnEvent of Log (1)".
func Text(all []Work) string {
	n, lines := 0, make([]string, len(all))
	for i, w := range all {
		n += w.Count
		lines[i] = fmt.Sprintf("%s (%d)", w, w.Count)
	}
	return fmt.Sprintf("%d in all: %s", n, strings.Join(lines, ", "))
}

// Counts counts abandoned work until it ends. The zero value is ready. It is safe for
// concurrent use.
type Counts struct {
	mu sync.Mutex
	// counts are by work whose own Count is zero.
	counts map[Work]int
	// none is closed when nothing is left; nil if nobody waits for that.
	none chan struct{}
}

// Add counts work that was abandoned. The caller calls [Counts.Ended] once when it ends.
func (c *Counts) Add(w Work) {
	w.Count = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[Work]int{}
	}
	c.counts[w]++
}

// Ended takes back one [Counts.Add] of the same work.
func (c *Counts) Ended(w Work) {
	w.Count = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[w]--; c.counts[w] == 0 {
		delete(c.counts, w)
	}
	if len(c.counts) == 0 && c.none != nil {
		close(c.none)
		c.none = nil
	}
}

// Of returns how much of the work is abandoned and has not ended.
func (c *Counts) Of(w Work) int {
	w.Count = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[w]
}

// List returns what is abandoned and has not ended, sorted by tool, point and hook. It is
// empty, not nil, if there is nothing.
func (c *Counts) List() []Work {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Work, 0, len(c.counts))
	for w, n := range c.counts {
		w.Count = n
		out = append(out, w)
	}
	slices.SortFunc(out, func(x, y Work) int {
		return cmp.Or(cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.Point, y.Point), cmp.Compare(x.Hook, y.Hook))
	})
	return out
}

// Wait returns when all has ended, or ctx has. It returns what is left.
func (c *Counts) Wait(ctx context.Context) []Work {
	select {
	case <-c.allEnded():
		return nil
	case <-ctx.Done():
		return c.List()
	}
}

// allEnded returns a channel that is closed when nothing is left.
func (c *Counts) allEnded() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	none := c.none
	if none == nil {
		none = make(chan struct{})
	}
	if len(c.counts) == 0 {
		close(none)
		return none
	}
	c.none = none
	return none
}
