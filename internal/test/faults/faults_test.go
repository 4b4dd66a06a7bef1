package faults_test

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/test/needs"
)

// occur are the faults that have to have occurred, whatever the number of turns.
func occur() []string {
	return append(faults(),
		"tool ok", "tool fail", "tool panic", "tool goexit", "tool goexit_limited", "tool hang", "tool hang_limited",
		"tool deaf", "tool deaf_limited", "tool big", "tool garbled", "tool child",
		"duplicate id", "empty id", "unusable id", "unknown tool", "malformed args", "ambiguous args", "truncated args", "no args",
		"provider error", "provider EOF", "provider hang", "provider panic", "provider breaks the rules", "provider says nothing",
		"WrapModel panic", "WrapModel error", "WrapModel answer", "Dispatch panic", "OnEvent panic",
		"OnModelError retry", "OnModelError fallback", "OnModelError respond",
		"OnInvalidTool repair", "OnInvalidTool rename", "OnInvalidTool retry",
		"AfterModel retry", "BeforeTool ask", "Approve refuse", "Approve modify", "AfterTool withhold", "AfterTool stop",
		"WrapTool panic", "WrapTool panic behind the tool", "WrapTool answer", "WrapTool retry",
		"cancel by context", "cancel by Stop", "cancel by Close", "steering", "queued message", "guest",
		"store append fails", "store note fails", "lease lost",
	)
}

const (
	workers = 2
	// maxLonger is how many times longer is played if a fault has not occurred yet: which
	// of several rare ones does depends on who is scheduled first.
	maxLonger = 4
)

// missing are the faults that have not occurred.
func (c *counts) missing() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range occur() {
		if c.n[name] == 0 {
			out = append(out, name)
		}
	}
	return out
}

// TestFaultInjectedTurns plays conversations in which everything may fail. Nothing
// that has happened is lost, nothing is there twice, everything that begins ends,
// and whatever is sent to a model keeps the rules of the strictest servers.
func TestFaultInjectedTurns(t *testing.T) {
	needs.Proof(t)
	n, total := &counts{}, atomic.Int64{}
	requests, calls := atomic.Int64{}, atomic.Int64{}
	t.Run("play", func(t *testing.T) {
		for worker := range workers {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				r, err := newRig()
				require.NoError(t, err)
				wanted := *turnsFlag / turnsEach / workers
				for i := 0; i < wanted || i < maxLonger*wanted && n.missing() != nil; i++ {
					seed := 1 + uint64(i*workers+worker)
					if *seedFlag != 0 {
						seed = *seedFlag
					}
					w := playSeed(t, seed, r, n)
					if t.Failed() {
						return
					}
					total.Add(int64(len(w.turns)))
					calls.Add(int64(len(w.runs)))
					requests.Add(int64(w.strict[0].Requests() + w.strict[1].Requests()))
					if *seedFlag != 0 {
						return
					}
				}
			})
		}
	})
	if t.Failed() || *seedFlag != 0 {
		return
	}
	figure(t, "seed", 1, "of the first conversation, then 2, 3, …")
	figure(t, "turns", total.Load(), "")
	figure(t, "calls", calls.Load(), "tools that ran")
	figure(t, "requests", requests.Load(), "taken by the two strict servers, 0 refused")
	figure(t, "faults", len(n.n), "kinds that occurred")
	for _, name := range slices.Sorted(maps.Keys(n.n)) {
		t.Logf("%6d %s", n.n[name], name)
	}
	for _, name := range n.missing() {
		t.Errorf("the fault %q never occurred", name)
	}
}

// playSeed plays the conversation of one seed. A deadlock is a failure like others.
func playSeed(t *testing.T, seed uint64, r *rig, n *counts) (w *world) {
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%v\n%s", v, debug.Stack())
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, seed, r, n)
		w.play()
	})
	return w
}
