package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/strictwire"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

const (
	turnsEach = 4           // of one conversation, without its calm end
	grace     = time.Second // of a cancelled turn
	patience  = time.Minute + 333_333
	// longest is how long a turn may take in virtual time. Its steps, the time limits
	// of its tools and hooks and its grace periods add up to less.
	longest = 10 * time.Minute
)

// world is one conversation of many turns, and everything that is known of it.
type world struct {
	t    *testing.T
	seed uint64
	rt   *runtime.Runtime
	conv *runtime.Conversation
	mem  *mem.Store
	st   *gated
	tally
	counts *counts
	// strict are the servers through which every request goes.
	strict []*strictwire.Server
	// journaled: the store is one that outlives the process.
	journaled bool
	// release ends what does not listen; calm ends all faults.
	release chan struct{}
	calm    atomic.Bool
	turnIDs atomic.Int64

	mu      sync.Mutex
	asked   map[string]int
	visits  map[string]int
	touched map[string]bool
	after   map[string]int
	ended   map[string]int
	// steps are the calls of AfterStep, and sessions what has become of them.
	steps, sessions map[string]int
	events          []hook.Event
	// lost are the turns that have lost their lease; sent and steered the texts that
	// were taken in, by text the turn and whether it has to be in the history.
	lost    map[string]bool
	sent    map[string]bool
	steered []string
	turns   []turnRun
	// roots are filled in for the check.
	roots map[string]string
}

// turnRun is one Send.
type turnRun struct {
	id       string
	from, to time.Time
	out      hook.TurnOutcome
	err      error
	events   []hook.Event
}

func newWorld(t *testing.T, seed uint64, r *rig, n *counts) *world {
	w := &world{
		t: t, seed: seed, counts: n, release: make(chan struct{}),
		asked: map[string]int{}, visits: map[string]int{}, touched: map[string]bool{}, after: map[string]int{}, ended: map[string]int{},
		steps: map[string]int{}, sessions: map[string]int{},
		lost: map[string]bool{}, sent: map[string]bool{},
	}
	r.w = w
	w.journaled = !one(dice(seed, "volatile"), 4)
	w.mem = mem.New(&mem.Options{Journal: w.journaled})
	w.st = &gated{keeper: w.mem}
	w.open(r)
	return w
}

func (w *world) open(r *rig) {
	anthropic := strictwire.Anthropic(models{w})
	openai := strictwire.OpenAI(anthropic)
	w.strict = []*strictwire.Server{anthropic, openai}
	w.rt = runtime.New(r.hook, openai, &runtime.Options{
		Store: w.st, Calls: runtime.Calls{Grace: grace, Slots: 3}, Limits: runtime.Limits{Depth: 1},
		NewID: func() string { return fmt.Sprintf("t%d", w.turnIDs.Add(1)) },
	})
	ctx := w.t.Context()
	require.NoError(w.t, w.rt.Open(ctx))
	visible := []string{}
	for _, tool := range toolbox() {
		if tool.Name != "hidden" {
			visible = append(visible, tool.Name)
		}
	}
	for _, cfg := range []hook.AgentConfig{
		{Name: "main", Model: message.Model{Name: "main"}, Tools: visible, Limits: hook.Limits{Steps: 4}},
		{Name: "child", Model: message.Model{Name: "child"}, Limits: hook.Limits{Steps: 2}},
		{Name: "guest", Model: message.Model{Name: "guest"}},
	} {
		_, err := w.rt.Register(ctx, cfg)
		require.NoError(w.t, err)
	}
	var err error
	w.conv, err = dialog.Conversation(ctx, w.rt, "main", "ann")
	require.NoError(w.t, err)
}

// play plays the conversation to its end and checks what is left.
func (w *world) play() {
	defer w.explain()
	closed := false
	for n := range turnsEach {
		last := n == turnsEach-1 && one(dice(w.seed, "close"), 4)
		closed = w.turn(n, last) || closed
	}
	time.Sleep(time.Millisecond) // what ends now has ended behind the last turn
	close(w.release)
	synctest.Wait()
	if !closed {
		w.calm.Store(true)
		w.arm(nil)
		w.send("calm", nil)
		require.NoError(w.t, w.rt.Close(context.Background()))
	}
	synctest.Wait()
	w.checkSessions()
	if !closed { // a turn that was closed down may be left to the next process
		w.check()
	}
	for _, s := range w.strict {
		for _, r := range s.Rejections() {
			w.t.Errorf("a strict server refuses: %s: %.500s", r.Rule, r.Message)
		}
	}
}

// explain says how to play a conversation alone that has failed, and what happened
// in one that is.
func (w *world) explain() {
	if !w.t.Failed() {
		return
	}
	w.t.Logf("seed %d: play it alone with -faults.seed=%d", w.seed, w.seed)
	if *seedFlag == 0 {
		return
	}
	for _, ev := range w.events {
		text, _ := json.Marshal(ev)
		w.t.Logf("%.300s", text)
	}
	for _, r := range w.turns {
		w.t.Logf("turn %s: %v to %v, stop %s, %v", r.id, r.from.Format(time.StampNano), r.to.Format(time.StampNano), r.out.Stop, r.err)
	}
}

// turn plays one turn with everything that happens around it. It reports whether
// the runtime was closed meanwhile.
func (w *world) turn(n int, closes bool) bool {
	d := dice(w.seed, "turn", fmt.Sprint(n))
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var o runtime.TurnOptions
	if one(d, 12) {
		w.counts.add("guest")
		o.Guest = "guest"
	}
	w.troubleStore(d.IntN(24), d.IntN(8))
	var around sync.WaitGroup
	at := func(name string, do func()) {
		after := time.Duration(d.IntN(2500))*time.Millisecond + 777_777
		around.Go(func() {
			time.Sleep(after)
			w.counts.add(name)
			do()
		})
	}
	switch {
	case closes:
		at("cancel by Close", func() {
			over, end := context.WithCancel(context.Background())
			end()
			if err := w.rt.Close(over); err != nil && !errors.Is(err, runtime.ErrAbandoned) {
				w.t.Errorf("close: %v", err)
			}
		})
	case one(d, 5):
		at("cancel by context", cancel)
	case one(d, 6):
		at("cancel by Stop", func() { dialog.Stop(w.conv) })
	}
	for i := range d.IntN(3) {
		at("steering", func() { w.steer(fmt.Sprintf("steer %d.%d", n, i)) })
	}
	if one(d, 5) {
		at("queued message", func() {
			w.sendIn(w.t.Context(), fmt.Sprintf("queued %d", n), &runtime.TurnOptions{WhenBusy: runtime.Queue})
		})
	}
	w.sendIn(ctx, fmt.Sprintf("input %d", n), &o)
	around.Wait()
	w.arm(nil)
	return closes
}

func (w *world) arm(before func(write) error) {
	w.st.mu.Lock()
	w.st.before = before
	w.st.mu.Unlock()
}

// troubleStore makes one write fail, or gives the lease to somebody else.
func (w *world) troubleStore(kind, nth int) {
	failing := func(name string, is func(write) bool) {
		w.arm(func(x write) error {
			if !is(x) {
				return nil
			}
			if nth--; nth != -1 {
				return nil
			}
			w.counts.add(name)
			return errDisk
		})
	}
	switch {
	case kind < 2:
		failing("store append fails", func(x write) bool { return x.add != nil })
	case kind < 4:
		failing("store note fails", func(x write) bool { return x.note != nil })
	case kind == 4 && w.journaled:
		w.arm(func(x write) error {
			if nth--; nth != -1 {
				return nil
			}
			turn := w.current()
			if x.claim != nil || turn == "" {
				nth++
				return nil
			}
			w.counts.add("lease lost")
			w.mu.Lock()
			w.lost[turn] = true
			w.mu.Unlock()
			w.steal()
			return nil
		})
	}
}

// steal is what another process does that takes this one for gone.
func (w *world) steal() {
	ctx := context.Background()
	rec, err := w.mem.Conversation(ctx, store.Key{Agent: "main", Sender: "ann"})
	if err == nil {
		rec, err = w.mem.Claim(ctx, rec.ID, store.Claim{Owner: "thief", Hold: time.Minute, Takes: rec.Lease.Epoch})
	}
	if err == nil {
		_, err = w.mem.Note(ctx, rec.ID, store.Note{Epoch: rec.Lease.Epoch})
	}
	if err != nil {
		w.t.Errorf("steal the lease: %v", err)
	}
}

// current is the turn that has begun and not ended, of the conversation itself.
func (w *world) current() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ev := range slices.Backward(w.events) {
		if ev.Depth > 0 {
			continue
		}
		if ev.Kind == event.TurnEnd {
			return ""
		}
		return ev.Turn
	}
	return ""
}

func (w *world) steer(text string) {
	err := dialog.Steer(w.t.Context(), w.conv, message.TextInput(text))
	switch {
	case err == nil:
		w.mu.Lock()
		w.steered = append(w.steered, text)
		w.mu.Unlock()
	case !errors.Is(err, runtime.ErrIdle) && !errors.Is(err, errDisk) && !errors.Is(err, store.ErrFenced):
		w.t.Errorf("steer: %v", err)
	}
}

func (w *world) send(text string, o *runtime.TurnOptions) { w.sendIn(w.t.Context(), text, o) }

func (w *world) sendIn(ctx context.Context, text string, o *runtime.TurnOptions) {
	var r turnRun
	var opts runtime.TurnOptions
	if o != nil {
		opts = *o
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stuck := time.AfterFunc(2*longest, func() { panic(fmt.Sprintf("seed %d: the turn of %q hangs", w.seed, text)) })
	defer stuck.Stop()
	opts.Observe = func(ev hook.Event) { r.events = append(r.events, ev) }
	r.from = time.Now()
	r.out, r.err = dialog.Send(ctx, w.conv, message.TextInput(text), &opts)
	r.to = time.Now()
	if took := r.to.Sub(r.from); took > longest {
		w.t.Errorf("the turn of %q took %v", text, took)
	}
	for _, ev := range r.events {
		if ev.Depth == 0 && ev.Turn != "" {
			r.id = ev.Turn
			break
		}
	}
	w.mu.Lock()
	w.turns = append(w.turns, r)
	w.sent[text] = r.out.Steps > 0 && !errors.Is(r.err, errDisk) && !w.lost[r.id]
	w.mu.Unlock()
}
