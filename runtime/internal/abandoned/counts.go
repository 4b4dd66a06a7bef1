// Package abandoned counts work that ignores its context: it still runs, but its caller has
// stopped waiting.
//
// A [Task] records whether one piece of work waits, runs, has ended or is abandoned. A
// [Call] runs a function on a goroutine of its own, and its caller can abandon it. [Counts]
// counts the abandoned work that has not ended.
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

// Work is one kind of work: calls of a tool, or calls of a hook at a point.
type Work struct {
	// Tool is the name of the tool; "" for hooks and models.
	Tool string
	// Hook is the path of the member, or the paths if it is one of several members; "" for
	// tools and outside members.
	Hook string
	// Point is the name of the point; "" for tools.
	Point string
	// Count is the number of calls. [Counts] ignores it in arguments.
	Count int
}

// String returns the kind without the number.
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
	// counts has keys whose Count is zero.
	counts map[Work]int
	// none is closed when no work is left; nil if no caller waits.
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

// Of returns how many calls of that kind are abandoned and have not ended.
func (c *Counts) Of(w Work) int {
	w.Count = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[w]
}

// List returns the abandoned work that has not ended, sorted by tool, point and hook. It is
// empty, not nil, if there is none.
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

// Wait returns when all work or ctx has ended. It returns the work that is left.
func (c *Counts) Wait(ctx context.Context) []Work {
	select {
	case <-c.allEnded():
		return nil
	case <-ctx.Done():
		return c.List()
	}
}

// allEnded returns a channel that is closed when no work is left.
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
