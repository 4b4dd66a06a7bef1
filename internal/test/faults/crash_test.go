package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/history"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

var errDead = errors.New("the process is dead")

// ledger is what outlives the processes of one conversation: the store, and what
// was seen from outside of what happened.
type ledger struct {
	t     *testing.T
	disk  keeper
	turns atomic.Int64

	mu sync.Mutex
	// writes are counted without those that prolong a lease; dies is the one behind
	// which the process dies, 0 for none.
	writes, dies int
	dead         bool
	// effects says for each effect, by key, how often it happened, and ended after how
	// many writes of all processes. The result of a durable one had to be written.
	effects map[string]int
	ended   map[string]int
	durable map[string]bool
	where   map[string]string // the conversation
	total   int
	// said are the texts that were written down.
	said map[string]bool
}

// gate lets the writes through until the process dies.
func (l *ledger) gate() *gated {
	return &gated{keeper: l.disk, before: func(w write) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.dead {
			return errDead
		}
		return nil
	}, wrote: func(w write) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keep(w)
		if w.prolongs() {
			return
		}
		l.total++
		if l.writes++; l.writes == l.dies {
			l.dead = true
			for key, at := range l.ended {
				l.durable[key] = l.durable[key] || at < l.total
			}
		}
	}}
}

func (l *ledger) keep(w write) {
	var ms []message.Message
	if w.add != nil {
		ms = w.add.Messages.Slice()
	}
	if w.note != nil {
		for _, e := range w.note.Entries {
			if e.Kind == store.EntrySteer {
				ms = append(ms, e.Message)
			}
		}
	}
	for _, m := range ms {
		if m.Role == message.RoleUser && strings.Contains(m.Text(), "#") {
			l.said[m.Text()] = true
		}
	}
}

// begin starts a process that dies behind that many writes.
func (l *ledger) begin(dies int) {
	l.mu.Lock()
	l.writes, l.dies, l.dead = 0, dies, false
	clear(l.ended)
	l.mu.Unlock()
}

func (l *ledger) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// act is what a tool does to the world. A process that dies at once does not come
// to it.
func (l *ledger) act(env *hook.Env, early bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead && early {
		return
	}
	l.effects[env.Key]++
	l.ended[env.Key] = l.total
	l.where[env.Key] = env.Call.Step().Turn().Conversation().ID()
}

// doer has the tools of these tests. What has to wait for a person asks for
// approval.
type doer struct {
	hook.Nop
	l     *ledger
	early bool
}

var doerTools = []message.Tool{
	{Name: "put"}, {Name: "get", Annotations: message.Annotations{ReadOnly: true}}, {Name: "careful"}, {Name: "wait"},
	{Name: "child", Waits: true}, {Name: "look", Waits: true, Annotations: message.Annotations{ReadOnly: true}}, {Name: "ask", Waits: true},
}

// Schema implements hook.Hook.
func (d *doer) Schema() []message.Tool {
	out := slices.Clone(doerTools)
	for i := range out {
		out[i].Input = toolInput
	}
	return out
}

// Dispatch implements hook.Hook.
func (d *doer) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound(call.Args(), d), true
}

// BeforeTool implements hook.BeforeTool.
func (d *doer) BeforeTool(_ context.Context, call *hook.ToolCall) (hook.ToolDecision, error) {
	if call.Name() == "careful" {
		return hook.AskTool("sure?"), nil
	}
	return hook.ToolDecision{}, nil
}

// Approve implements hook.Approve.
func (d *doer) Approve(context.Context, *hook.ToolCall, hook.ToolDecision) (hook.ApprovalDecision, error) {
	time.Sleep(time.Millisecond)
	return hook.ApproveCall(), nil
}

// Run implements hook.Runner.
func (d *doer) Run(ctx context.Context, env *hook.Env) message.ToolResult {
	// Each ends, and is written down, before the next.
	time.Sleep(time.Duration(env.Call.Index()+1)*time.Millisecond + time.Duration(env.Call.Step().Turn().Depth())*300*time.Microsecond)
	switch env.Call.Name() {
	case "wait":
		<-ctx.Done()
		return message.FailedResult(message.FailCancelled, "stopped")
	case "ask":
		q := hook.Inquiry{ID: env.Key, Questions: message.ListOf(hook.Question{Text: "which?"})}
		if _, err := env.Call.Host().Ask(ctx, q); err != nil {
			return message.FailedResult(message.FailOperation, err.Error())
		}
	case "child", "look":
		out, err := env.Call.Host().RunAgent(ctx, hook.AgentRun{Agent: "child", Input: message.TextInput("child of " + env.Call.ID()), Call: env.Call})
		if err != nil {
			return message.FailedResult(message.FailOperation, "the child failed")
		}
		return message.TextResult("child: " + out.Text())
	}
	d.l.act(env, d.early)
	return message.TextResult(env.Call.Name() + " " + env.Key)
}

// answers plays models whose next answer follows from the history alone, so that a
// turn that is resumed goes the same way. The steps are "put get; put".
func answers(_ context.Context, req message.ModelRequest) message.ModelStream {
	script, step, turn := "", 0, 0
	for _, m := range req.Messages.All() {
		switch {
		case m.Role == message.RoleUser && strings.Contains(m.Text(), "#"):
			_, s, _ := strings.Cut(m.Text(), "#")
			if s != "" {
				script, step, turn = s, 0, turn+1
			}
		case m.Role == message.RoleUser && strings.HasPrefix(m.Text(), "child of"):
			script, step, turn = "put get", 0, turn+1
		case m.Role == message.RoleAssistant:
			step++
		}
	}
	steps := strings.Split(script, ";")
	if script == "answer" || step >= len(steps) || req.Model.Name == "guest" {
		return chunks(message.Chunk{Kind: message.ChunkText, Text: fmt.Sprintf("answer %d.%d", turn, step)}, finish(message.FinishStop))
	}
	if script == "error" {
		return chunks(message.Chunk{Kind: message.ChunkText, Text: "cut o"})
	}
	var cs []message.Chunk
	for i, name := range strings.Fields(steps[step]) {
		cs = append(cs, message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: fmt.Sprintf("%s%d_%d_%d", req.Model.Name, turn, step, i), Tool: name},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: `{}`}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return chunks(append(cs, finish(message.FinishTools))...)
}

// scenario is a conversation: what is said in each of its turns, in front of # what
// is special about the turn.
type scenario struct {
	name  string
	turns []string
}

var scenarios = []scenario{
	{"no tools", []string{"a#answer", "b#answer", "c#answer", "d#answer", "e#answer", "f#answer", "g#answer"}},
	{"one tool", []string{"a#put", "b#get", "c#put", "d#put", "e#get"}},
	{"several tools", []string{"a#put get put put", "b#put put get;put get", "c#get get"}},
	{"several steps", []string{"a#put;put;get;put", "b#put get;get put"}},
	{"child", []string{"a#child put", "b#look;child", "c#put"}},
	{"steering", []string{"steer a#put get", "steer b#put;put", "steer c#answer", "d#answer"}},
	{"question", []string{"a#ask", "b#put ask", "c#ask;put", "d#ask"}},
	{"approval", []string{"a#careful", "b#put careful", "c#careful careful", "d#answer"}},
	{"guest", []string{"a#put", "guest b#", "c#put get", "guest d#", "e#put"}},
	{"cancel", []string{"cancel a#put wait", "b#put", "cancel c#put put wait", "d#get"}},
	{"error", []string{"a#put", "b#error", "c#put get", "d#error", "e#put"}},
}

// process is one life of a program.
type process struct {
	l    *ledger
	rt   *runtime.Runtime
	conv *runtime.Conversation
}

// open starts a process on the ledger's disk; wrap, if not nil, is a bad store.
func (l *ledger) open(early bool, wrap func(store.Store) store.Store) *process {
	var s store.Store = l.gate()
	if wrap != nil {
		s = wrap(s)
	}
	rt := runtime.New(&doer{l: l, early: early}, provider.Func(answers), &runtime.Options{
		Store: s, Calls: runtime.Calls{Grace: time.Second}, Gone: func(string) bool { return true }, Limits: runtime.Limits{Resumes: 100},
		NewID: func() string { return fmt.Sprintf("t%d", l.turns.Add(1)) },
	})
	p := &process{l: l, rt: rt}
	ctx := context.Background()
	require.NoError(l.t, rt.Open(ctx))
	for _, name := range []string{"main", "child", "guest"} {
		_, err := rt.Register(ctx, hook.AgentConfig{Name: name, Model: message.Model{Name: name}})
		require.NoError(l.t, err)
	}
	var err error
	p.conv, err = dialog.Conversation(ctx, rt, "main", "ann")
	require.NoError(l.t, err)
	return p
}

func (p *process) close() { _ = p.rt.Close(context.Background()) }

// observe answers questions, steers and cancels.
func (p *process) observe(text string, cancel func()) func(hook.Event) {
	kind, _, _ := strings.Cut(text, " ")
	return func(ev hook.Event) {
		switch {
		case ev.Kind == event.QuestionAsked:
			// A dead process is not told.
			_ = p.rt.Answer(p.conv.ID(), ev.Detail().Inquiry.ID, "ann", hook.Response{Given: message.ListOf(hook.Given{Text: "this"})})
		case ev.Depth > 0:
		case kind == "steer" && ev.Kind == event.StepStart && ev.Step == 1:
			_ = dialog.Steer(context.Background(), p.conv, message.TextInput("wait "+text[:7]+"#"))
		case kind == "cancel" && ev.Kind == event.CallStart && strings.HasSuffix(text, fmt.Sprint(" ", ev.Detail().Tool)):
			time.AfterFunc(100*time.Millisecond, cancel)
		}
	}
}

// play plays the turns until the process dies.
func (p *process) play(s scenario) {
	for _, text := range s.turns {
		if p.l.gone() {
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		o := runtime.TurnOptions{Observe: p.observe(text, cancel)}
		if strings.HasPrefix(text, "guest") {
			o.Guest = "guest"
		}
		_, _ = dialog.Send(ctx, p.conv, message.TextInput(text), &o)
		cancel()
	}
}

// recover brings the interrupted turn to its end, in one way or the other, and
// reports whether that was done before the process died.
func (p *process) recover(resume bool) error {
	o := &runtime.TurnOptions{Observe: p.observe("", nil)}
	if resume {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o.Observe = p.observe("cancel #wait wait", cancel) // somebody still wants it to end
		_, err := dialog.Resume(ctx, p.conv, o)
		if err == nil || errors.Is(err, runtime.ErrNotInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, provider.ErrNoFinish) {
			return nil
		}
		return err
	}
	_, err := dialog.Send(context.Background(), p.conv, message.TextInput("and now#answer"), o)
	return err
}

// crash is one history of the world: where the first process dies, where the one
// that recovers does (0 is nowhere), and how.
type crash struct {
	s             scenario
	first, second int
	resume, early bool
}

func (c crash) String() string {
	return fmt.Sprintf("%s, behind write %d, then behind write %d of the recovery, resume %t, at once %t", c.s.name, c.first, c.second, c.resume, c.early)
}

// happen plays it and returns what is wrong, the history up to the recovery's own
// turn, and the writes of the first process and of the recovery.
func (c crash) happen(t *testing.T, disk keeper, wrap func(store.Store) store.Store) (wrong []string, lines []string, first, second int) {
	l := &ledger{t: t, disk: disk, effects: map[string]int{}, ended: map[string]int{}, durable: map[string]bool{}, where: map[string]string{}, said: map[string]bool{}}
	l.begin(c.first)
	p := l.open(c.early, wrap)
	p.play(c.s)
	first = l.writes
	died := l.gone()
	p.close()
	if !died && c.first > 0 {
		return nil, nil, first, 0
	}
	l.begin(c.second)
	p = l.open(c.early, nil)
	err := p.recover(c.resume)
	second = l.writes
	died = l.gone()
	p.close()
	if died {
		l.begin(0)
		p = l.open(c.early, nil)
		err = p.recover(c.resume)
		p.close()
	}
	l.begin(0)
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("the recovery failed: %v", err))
	}
	more, lines := l.examine()
	return append(wrong, more...), lines, first, second
}

// examine returns what is wrong with what is left.
func (l *ledger) examine() (wrong, lines []string) {
	ctx := context.Background()
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	rec, err := l.disk.Conversation(ctx, store.Key{Agent: "main", Sender: "ann"})
	require.NoError(l.t, err)
	children, err := l.disk.Children(ctx, rec.ID)
	require.NoError(l.t, err)
	found, results := map[string]int{}, map[string]string{}
	for _, r := range append(children, rec) {
		ms, err := l.disk.Messages(ctx, r.ID)
		require.NoError(l.t, err)
		if r.Journaled {
			bad("%s has a turn that has not ended", r.Key.Agent)
		}
		for _, p := range history.Check(ms) {
			bad("history of %s: %v", r.Key.Agent, p)
		}
		for _, m := range ms {
			switch {
			case m.Role == message.RoleUser:
				found[m.Text()]++
			case m.Role == message.RoleTool:
				results[r.ID+" "+m.CallID] = m.Result.Text()
			}
			if r.ID == rec.ID {
				lines = append(lines, fmt.Sprint(m.Role, m.CallID, m.Text(), m.Result.Text()))
			}
		}
	}
	l.examineEffects(results, bad)
	for text := range l.said {
		if n := found[text]; n != 1 && !strings.HasPrefix(text, "and now") {
			bad("%q was written down and is in the history %d times", text, n)
		}
	}
	l.examineLog(rec.ID, bad)
	return wrong, lines
}

// examineEffects finds the call of everything that was done, and the result of what
// had ended before the last write.
func (l *ledger) examineEffects(results map[string]string, bad func(string, ...any)) {
	for key, n := range l.effects {
		_, id, _ := strings.Cut(key, "/")
		result, there := results[l.where[key]+" "+id]
		reads := strings.HasPrefix(result, "get ")
		switch {
		case !there:
			bad("%s was done and is not in the history", key)
		case n > 1 && !reads:
			bad("%s was done %d times", key, n)
		case l.durable[key] && !strings.HasSuffix(result, key):
			bad("%s had ended before the last write, and its result is lost: %s", key, result)
		}
	}
}

func (l *ledger) examineLog(id string, bad func(string, ...any)) {
	events, err := l.disk.Events(context.Background(), id, 0, 1<<20)
	require.NoError(l.t, err)
	results, ends := map[string]int{}, map[string]int{}
	last := uint64(0)
	for _, e := range events {
		if e.Seq <= last {
			bad("event %d is kept behind event %d", e.Seq, last)
		}
		last = e.Seq
		var ev struct {
			Kind           hook.EventKind
			Turn           string
			Depth          int
			CallID, Result string
		}
		require.NoError(l.t, json.Unmarshal([]byte(strings.ReplaceAll(string(e.Data), "call_id", "callid")), &ev))
		switch ev.Kind {
		case event.CallResult:
			results[ev.Turn+"/"+ev.CallID]++
		case event.TurnStart:
			if ev.Depth == 0 {
				ends[ev.Turn] += 0
			}
		case event.TurnEnd:
			if ev.Depth == 0 { // a child's may wait for its parent's next write
				ends[ev.Turn]++
			}
		}
	}
	for key, n := range results {
		if n != 1 {
			bad("the result of %s is told %d times", key, n)
		}
	}
	for turn, n := range ends {
		if n != 1 {
			bad("the end of %s is told %d times", turn, n)
		}
	}
	for key := range l.effects { // a child's events are written with its parent's next
		if results[key] == 0 && !strings.Contains(key, "/child") {
			bad("the result of %s is not in the log", key)
		}
	}
}

// disks are the stores, made anew for each crash.
func newMem(*testing.T) keeper { return mem.New(&mem.Options{Journal: true}) }

func newSQLite(t *testing.T) keeper {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "c.db"), nil)
	require.NoError(t, err)
	return s
}

// inBubble plays a crash in a bubble of virtual time.
func inBubble(t *testing.T, c crash, disk func(*testing.T) keeper, wrap func(store.Store) store.Store) (wrong, lines []string, first, second int) {
	synctest.Test(t, func(t *testing.T) {
		d := disk(t)
		wrong, lines, first, second = c.happen(t, d, wrap)
		if closer, ok := d.(interface{ Close() error }); ok {
			assert.NoError(t, closer.Close())
		}
	})
	return wrong, lines, first, second
}

// TestCrashAfterEveryJournalStep lets a process die behind every write of every
// scenario, and the process that recovers behind every write of its own. What is
// left is the same history as without the second death, with everything in it that
// was done.
func TestCrashAfterEveryJournalStep(t *testing.T) {
	needs.Time(t)
	steps, crashes := atomic.Int64{}, atomic.Int64{}
	t.Run("mem", func(t *testing.T) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				_, _, all, _ := inBubble(t, crash{s: s}, newMem, nil)
				require.GreaterOrEqual(t, all, 20, "steps")
				steps.Add(int64(all))
				for first := 1; first <= all; first++ {
					for _, how := range []crash{{s: s}, {s: s, early: true}, {s: s, resume: true}, {s: s, resume: true, early: true}} {
						how.first = first
						wrong, want, _, recovery := inBubble(t, how, newMem, nil)
						require.Empty(t, wrong, "%v", how)
						crashes.Add(1)
						for second := 1; second <= recovery; second++ {
							how.second = second
							wrong, got, _, _ := inBubble(t, how, newMem, nil)
							require.Empty(t, wrong, "%v", how)
							if !how.resume { // one that goes on has calls of its own to lose
								require.Equal(t, withoutNow(want), withoutNow(got), "%v", how)
							}
							crashes.Add(1)
						}
						how.second = 0
					}
				}
			})
		}
	})
	t.Run("sqlite", func(t *testing.T) {
		for _, s := range scenarios[1:5] {
			_, _, all, _ := inBubble(t, crash{s: s}, newSQLite, nil)
			for first := 2; first <= all; first += 3 {
				how := crash{s: s, first: first, second: first % 4, resume: first%2 == 0}
				wrong, _, _, _ := inBubble(t, how, newSQLite, nil)
				require.Empty(t, wrong, "%v", how)
				crashes.Add(1)
			}
		}
	})
	figure(t, "scenarios", len(scenarios), "")
	figure(t, "steps", steps.Load(), "behind which a process died")
	figure(t, "crashes", crashes.Load(), "with those of the recoveries")
}

// withoutNow leaves out what the recovery itself said: one that died has said it
// once more.
func withoutNow(lines []string) []string {
	i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "and now#") })
	if i < 0 {
		return lines
	}
	return lines[:i]
}

// lateJournal is a store whose journal is written after the calls have run: what is
// about to happen waits for the next write.
type lateJournal struct {
	store.Store
	mu   sync.Mutex
	late []store.Note
}

func (s *lateJournal) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	starts := slices.ContainsFunc(n.Entries, func(e store.Entry) bool { return e.Kind == store.EntryStart })
	s.mu.Lock()
	defer s.mu.Unlock()
	if starts {
		s.late = append(s.late, n)
		return 1, nil
	}
	if err := s.flush(ctx, id); err != nil {
		return 0, err
	}
	return s.Store.Note(ctx, id, n)
}

func (s *lateJournal) flush(ctx context.Context, id string) error {
	late := s.late
	s.late = nil
	for _, n := range late {
		if _, err := s.Store.Note(ctx, id, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *lateJournal) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flush(ctx, id); err != nil {
		return 0, err
	}
	return s.Store.Append(ctx, id, a)
}

// resultsAtTheEnd is a store that keeps results only with the whole step.
type resultsAtTheEnd struct{ store.Store }

func (s resultsAtTheEnd) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	isResult := func(e store.Entry) bool { return e.Kind == store.EntryResult }
	n.Entries = slices.DeleteFunc(slices.Clone(n.Entries), isResult)
	return s.Store.Note(ctx, id, n)
}

// TestCrashesFindWhoWritesTooLate lets the same crashes happen to two stores that
// are wrong, and has to find it.
func TestCrashesFindWhoWritesTooLate(t *testing.T) {
	several := scenarios[2]
	for name, wrap := range map[string]func(store.Store) store.Store{
		"bad.late-journal":       func(s store.Store) store.Store { return &lateJournal{Store: s} },
		"bad.results-at-the-end": func(s store.Store) store.Store { return resultsAtTheEnd{s} },
	} {
		found := 0
		for first := 1; first <= 20; first++ {
			for _, resume := range []bool{false, true} {
				wrong, _, _, _ := inBubble(t, crash{s: several, first: first, resume: resume}, newMem, wrap)
				found += len(wrong)
			}
		}
		assert.Positive(t, found, name)
		figure(t, name, found, "wrongs found")
	}
}
