package kills_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// childVariable names the variable by which the test makes its own binary be the
// program that is killed: the directory of its files.
const childVariable = "GRAPNEL_TEST_KILLED_IN"

// variantVariable makes the child a known-bad one.
const variantVariable = "GRAPNEL_TEST_KILLED_VARIANT"

// The known-bad variants.
const (
	// lateCommit acknowledges writes before they are made.
	lateCommit = "late commit"
	// noJournal does not write down that a call is about to run.
	noJournal = "no journal"
	// earlyStart says that a turn begins before its input is stored.
	earlyStart = "early start"
	// halfIsWhole does not keep that a reply was cut off, nor how its turn ends.
	halfIsWhole = "half is whole"
	// jobsApart queues the jobs of a write in a step of their own.
	jobsApart = "jobs apart"
)

// conversations is how many run turns at the same time.
const conversations = 4

// report is a line by which the child says what it has done. Who reads it knows
// that it was done before.
type report struct {
	Conversation int            `json:"c"`
	Kind         hook.EventKind `json:"k"`
	// Text is the input or the answer of a turn, and the result of a call.
	Text string `json:"t,omitzero"`
	Call string `json:"id,omitzero"`
	Turn string `json:"turn,omitzero"`
	// Stop is why a turn has ended.
	Stop hook.StopReason `json:"stop,omitzero"`
}

// runChild runs turns until it is killed. It first goes on with those that the one
// before it has left.
func runChild(dir string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, dir+"/conversations.db", nil)
	check(err)
	var kept store.Store = s
	switch os.Getenv(variantVariable) {
	case lateCommit:
		kept = newLate(s)
	case noJournal:
		kept = unjournaled{s}
	case earlyStart:
		kept = startsEarly{s}
	case halfIsWhole:
		kept = endless{s}
	case jobsApart:
		kept = parted{s}
	}
	rt := runtime.New(&till{ledger: dir + "/ledger"}, customer{}, &runtime.Options{
		Store: kept, Gone: func(string) bool { return true }, Limits: runtime.Limits{Resumes: 1000},
	})
	check(rt.Open(ctx))
	_, err = rt.Register(ctx, hook.AgentConfig{Name: "a"})
	check(err)
	fmt.Println("ready")
	var wg sync.WaitGroup
	for i := range conversations {
		conv, err := dialog.Conversation(ctx, rt, "a", strconv.Itoa(i))
		check(err)
		wg.Go(func() { runTurns(ctx, conv, i) })
	}
	wg.Wait()
}

func runTurns(ctx context.Context, conv *runtime.Conversation, i int) {
	say := func(ev hook.Event) {
		r := report{Conversation: i, Kind: ev.Kind, Text: ev.Text, Turn: ev.Turn, Stop: ev.Detail().Stop}
		switch ev.Kind {
		case event.TextDelta:
			if strings.HasPrefix(ev.Text, half) {
				dialog.Stop(conv)
			}
			return
		case event.CallResult:
			d := ev.Detail()
			r.Call, r.Text = d.CallID, d.Result.Text()
		}
		line, err := json.Marshal(r)
		check(err)
		fmt.Println(string(line)) // one write, so that lines of conversations do not mix
	}
	_, err := dialog.Resume(ctx, conv, &runtime.TurnOptions{Observe: say})
	checkTurn(err)
	for {
		_, err := dialog.Send(ctx, conv, message.TextInput([]string{"buy ", half}[rand.IntN(2)]+strconv.FormatUint(rand.Uint64(), 36)), &runtime.TurnOptions{Observe: say})
		checkTurn(err)
	}
}

// checkTurn is check for how a turn may end.
func checkTurn(err error) {
	if !errors.Is(err, runtime.ErrNotInterrupted) && !errors.Is(err, runtime.ErrStopped) {
		check(err)
	}
}

// half is how inputs begin whose turn is stopped within its answer, and what there is of
// the answer.
const half = "half "

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// customer is a model that buys twice, with two calls each time, and then answers. What
// begins with half it answers with a beginning, and then waits until it is cancelled.
type customer struct{}

func (customer) Stream(ctx context.Context, req message.ModelRequest) message.ModelStream {
	if strings.HasPrefix(req.Messages.At(req.Messages.Len()-1).Text(), half) {
		pause()
		return func(yield func(message.Chunk, error) bool) {
			_ = yield(message.Chunk{Kind: message.ChunkText, Text: half + strconv.FormatUint(rand.Uint64(), 36)}, nil)
			<-ctx.Done()
			_ = yield(message.Chunk{}, ctx.Err())
		}
	}
	asked := 0
	for i := req.Messages.Len() - 1; i >= 0 && req.Messages.At(i).Role != message.RoleUser; i-- {
		if req.Messages.At(i).Role == message.RoleAssistant {
			asked++
		}
	}
	pause()
	if asked == 2 {
		return stream(message.Chunk{Kind: message.ChunkText, Text: "bought " + strconv.FormatUint(rand.Uint64(), 36)},
			message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishStop})
	}
	var cs []message.Chunk
	for i, tool := range []string{"charge", "look"} {
		cs = append(cs, message.Chunk{Kind: message.ChunkCallStart, Index: i, Tool: tool, CallID: strconv.FormatUint(rand.Uint64(), 36)},
			message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: "{}"}, message.Chunk{Kind: message.ChunkCallEnd, Index: i})
	}
	return stream(append(cs, message.Chunk{Kind: message.ChunkFinish, Finish: message.FinishTools})...)
}

func stream(cs ...message.Chunk) message.ModelStream {
	return func(yield func(message.Chunk, error) bool) {
		for _, c := range cs {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// pause is the time that models and tools take: a real one, because a kill has to
// come within it.
func pause() { time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond) }

// till has a tool that must not run twice, and one that may. It takes its time with
// inputs, and with half answers.
type till struct {
	hook.Nop
	ledger string
}

// BeforeTurn implements hook.BeforeTurn.
func (t *till) BeforeTurn(context.Context, *hook.Turn, message.Input) (hook.TurnDecision, error) {
	pause()
	return hook.TurnDecision{}, nil
}

// AfterTurn implements hook.AfterTurn. It queues a job, which nobody runs.
func (t *till) AfterTurn(ctx context.Context, turn *hook.Turn, _ hook.TurnOutcome) {
	pause()
	_ = turn.Host().Enqueue(ctx, hook.Job{Kind: "receipt", Key: turn.ID()}) // some variants keep no jobs
	pause()
}

func (t *till) Schema() []message.Tool {
	return []message.Tool{
		{Name: "charge", Description: "Charges the customer.", Input: `{"type":"object"}`},
		{Name: "look", Description: "Looks at the price.", Input: `{"type":"object"}`, Annotations: message.Annotations{ReadOnly: true}},
	}
}

func (t *till) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	if call.Name() == "charge" {
		return hook.Bound("{}", charge{t.ledger}), true
	}
	return hook.Bound("{}", look{}), true
}

type charge struct{ ledger string }

// Run writes the key of the call into the ledger: the side effect that must not
// happen twice.
func (c charge) Run(_ context.Context, env *hook.Env) message.ToolResult {
	pause()
	f, err := os.OpenFile(c.ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = f.WriteString(env.Key + "\n")
	check(errors.Join(err, f.Close()))
	pause()
	return message.TextResult("charged " + env.Key)
}

type look struct{}

func (look) Run(_ context.Context, env *hook.Env) message.ToolResult {
	pause()
	return message.TextResult("looked " + env.Key)
}

// late is a store that says that things are written a little before they are.
type late struct {
	store.Store
	writes chan func()
}

func newLate(s store.Store) *late {
	l := &late{s, make(chan func(), 1000)}
	go func() {
		for write := range l.writes {
			time.Sleep(time.Millisecond)
			write()
		}
	}()
	return l
}

func (l *late) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	l.writes <- func() {
		_, err := l.Store.Append(context.WithoutCancel(ctx), id, a)
		check(err)
	}
	return a.Version + 1, nil
}

func (l *late) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	l.writes <- func() {
		_, err := l.Store.Note(context.WithoutCancel(ctx), id, n)
		check(err)
	}
	return 1, nil
}

// Conversation waits until what it reads is written.
func (l *late) Conversation(ctx context.Context, key store.Key) (store.Record, error) {
	done := make(chan struct{})
	l.writes <- func() { close(done) }
	<-done
	return l.Store.Conversation(ctx, key)
}

// unjournaled is a store that forgets what a turn is about to do: then a turn that
// is resumed asks for it again.
type unjournaled struct{ store.Store }

func (u unjournaled) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	entries := len(n.Entries)
	n.Entries = nil
	if entries == 0 {
		return u.Store.Note(ctx, id, n)
	}
	return 1, nil
}

// startsEarly is a store that does not keep the beginning of a turn before the input is
// history: the runtime tells of the turn all the same.
type startsEarly struct{ *sqlite.Store }

func (s startsEarly) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	if slices.ContainsFunc(n.Entries, func(e store.Entry) bool { return e.Kind == store.EntryInput }) {
		n.Entries = nil
		_, err := s.Store.Note(ctx, id, n)
		return 1, err
	}
	return s.Store.Note(ctx, id, n)
}

// parted is a store that queues the jobs of a write in a step of their own.
type parted struct{ *sqlite.Store }

func (s parted) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	jobs := a.Jobs
	a.Jobs = nil
	version, err := s.Store.Append(ctx, id, a)
	if err == nil && len(jobs) > 0 {
		pause()
		for _, j := range jobs {
			_, failed := s.Enqueue(ctx, j)
			check(failed)
		}
	}
	return version, err
}

// endless is a store that keeps neither that a message is half of one nor how a turn ends.
type endless struct{ *sqlite.Store }

func withoutEnd(entries []store.Entry) []store.Entry {
	return slices.DeleteFunc(entries, func(e store.Entry) bool { return e.Kind == store.EntryEnd })
}

func (s endless) Note(ctx context.Context, id string, n store.Note) (int64, error) {
	n.Entries = withoutEnd(n.Entries)
	first, err := s.Store.Note(ctx, id, n)
	return max(1, first), err
}

func (s endless) Append(ctx context.Context, id string, a store.Append) (int64, error) {
	a.Entries = withoutEnd(a.Entries)
	messages := a.Messages.Slice()
	for i := range messages {
		messages[i].Partial = false
	}
	a.Messages = message.MessagesOf(messages...)
	return s.Store.Append(ctx, id, a)
}
