package powercut_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/powercut"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// What is recorded: turns of a runtime, and beside them conversations that claim
// leases and keep a journal by hand.
const (
	talkers  = 6 // conversations of the runtime at the same time
	turns    = 5 // of each in the first process, half as many in the second
	writers  = 2 // conversations by hand
	byHand   = 8 // turns of each of those, likewise
	maxCalls = 3
	longest  = 40_000 // bytes of a tool result
)

// record records two processes, one after the other, that use one new store.
func record(t *testing.T, o *powercut.Options, early bool) recorded {
	t.Helper()
	dir := t.TempDir()
	r, err := powercut.Record(dir, o)
	require.NoError(t, err)
	l := newLedger(r)
	l.early = early
	for process := range 2 {
		s, err := sqlite.Open(t.Context(), filepath.Join(dir, dbName), nil)
		require.NoError(t, err)
		l.Store = s
		err = errors.Join(work(t.Context(), l, process), s.Close())
		if err != nil {
			_, _ = r.Stop() // the next test has a recorder of its own
		}
		require.NoError(t, err)
	}
	trace, err := r.Stop()
	require.NoError(t, err)
	return recorded{trace, len(l.marks), l.examine}
}

func work(ctx context.Context, l *ledger, process int) error {
	rt := runtime.New(&looker{}, provider.Func(curious), &runtime.Options{Store: l})
	if err := rt.Open(ctx); err != nil {
		return err
	}
	if _, err := rt.Register(ctx, hook.AgentConfig{Name: "curious"}); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, talkers+writers)
	for i := range talkers {
		wg.Go(func() { errs[i] = talk(ctx, rt, fmt.Sprint("sender ", i), turns/(1+process)) })
	}
	for i := range writers {
		wg.Go(func() { errs[talkers+i] = writeByHand(ctx, l, process, fmt.Sprint("writer ", i)) })
	}
	wg.Wait()
	return errors.Join(append(errs, rt.Close(ctx))...)
}

func talk(ctx context.Context, rt *runtime.Runtime, sender string, turns int) error {
	conv, err := dialog.Conversation(ctx, rt, "curious", sender)
	if err != nil {
		return err
	}
	for range turns {
		if _, err := dialog.Send(ctx, conv, message.TextInput(words(1+rand.IntN(2000))), nil); err != nil {
			return err
		}
	}
	return nil
}

// curious is a model that calls tools in its first step and answers in its second.
func curious(_ context.Context, req message.ModelRequest) message.ModelStream {
	last := req.Messages.At(req.Messages.Len() - 1)
	return func(yield func(message.Chunk, error) bool) {
		ok := yield(message.Chunk{Kind: message.ChunkText, Text: words(1 + rand.IntN(500))}, nil)
		finish := message.FinishStop
		if last.Role == message.RoleUser {
			finish = message.FinishTools
			for i := range 1 + rand.IntN(maxCalls) {
				id := fmt.Sprintf("call-%d-%d", req.Messages.Len(), i)
				ok = ok && yield(message.Chunk{Kind: message.ChunkCallStart, Index: i, CallID: id, Tool: "look"}, nil) &&
					yield(message.Chunk{Kind: message.ChunkCallArgs, Index: i, Text: "{}"}, nil) &&
					yield(message.Chunk{Kind: message.ChunkCallEnd, Index: i}, nil)
			}
		}
		_ = ok && yield(message.Chunk{Kind: message.ChunkFinish, Finish: finish}, nil)
	}
}

// looker is a subsystem with one tool, whose results are short or span many pages.
type looker struct{ hook.Nop }

func (*looker) Schema() []message.Tool {
	return []message.Tool{{Name: "look", Input: `{"type":"object","additionalProperties":false}`}}
}

func (l *looker) Dispatch(_ context.Context, call *hook.ToolCall) (hook.Invocation, bool) {
	return hook.Bound("{}", l), call.Name() == "look"
}

func (*looker) Run(context.Context, *hook.Env) message.ToolResult {
	n := 1 + rand.IntN(300)
	if rand.IntN(3) == 0 {
		n = 1 + rand.IntN(longest)
	}
	return message.TextResult(words(n))
}

// words is text of n bytes that does not repeat itself.
func words(n int) string {
	var sb strings.Builder
	for sb.Len() < n {
		fmt.Fprintf(&sb, "%x ", rand.Uint64())
	}
	return sb.String()[:n]
}

// writeByHand does what no turn of this test does: it writes turns with a
// journal, compacts, forks, rewinds and searches.
func writeByHand(ctx context.Context, l *ledger, process int, sender string) error {
	rec, err := l.Conversation(ctx, store.Key{Agent: "by-hand", Sender: sender})
	if err != nil {
		return err
	}
	for n := range byHand / (1 + process) {
		owner := fmt.Sprint("process ", process)
		if rec, err = l.Claim(ctx, rec.ID, store.Claim{Owner: owner, Hold: time.Minute, Takes: rec.Lease.Epoch}); err != nil {
			return err
		}
		if rec.Version, err = journalTurn(ctx, l, rec); err != nil {
			return err
		}
		rec.Turns++
		at := store.At{Version: rec.Version, Epoch: rec.Lease.Epoch, Hold: time.Minute}
		switch n % 4 {
		case 0:
			_, err = l.Fork(ctx, rec.ID, rec.Turns, store.Key{Agent: "fork", Sender: fmt.Sprint(sender, process, n)})
		case 1:
			rec.Turns--
			rec.Version, err = l.Rewind(ctx, rec.ID, at, rec.Turns)
		case 2:
			rec.Version, err = l.Compact(ctx, rec.ID, at, 3, message.UserText("A summary: "+words(300)))
		case 3:
			_, err = l.Store.(store.Searcher).Search(ctx, store.Query{Text: "summary 1* 2* 3*"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func journalTurn(ctx context.Context, s store.Store, rec store.Record) (int64, error) {
	const hold = time.Minute
	epoch, ask := rec.Lease.Epoch, message.UserText(words(1+rand.IntN(500)))
	seq := rec.Events
	event := func() []store.Event {
		seq++
		return []store.Event{{Seq: seq, Data: message.JSON(fmt.Sprintf(`{"text":%q}`, words(1+rand.IntN(800))))}}
	}
	v, err := s.Append(ctx, rec.ID, store.Append{Version: rec.Version, Epoch: epoch, Hold: hold, Messages: message.MessagesOf(ask),
		Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{"turn":1}`}}, Events: event()})
	if err != nil {
		return 0, err
	}
	id := fmt.Sprint("call-", rec.Version)
	reply := message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock(words(100)))}
	result := message.Message{Role: message.RoleTool, CallID: id, Tool: "look", Result: message.TextResult(words(1 + rand.IntN(9000)))}
	for _, e := range []store.Entry{
		{Kind: store.EntryReply, Message: reply, Data: `{"step":1}`},
		{Kind: store.EntryStart, CallID: id, Data: `{}`},
		{Kind: store.EntryResult, CallID: id, Message: result},
	} {
		if _, err := s.Note(ctx, rec.ID, store.Note{Epoch: epoch, Hold: hold, Entries: []store.Entry{e}, Events: event()}); err != nil {
			return 0, err
		}
	}
	return s.Append(ctx, rec.ID, store.Append{Version: v, Epoch: epoch, Hold: hold, Messages: message.MessagesOf(reply, result),
		Events: event(), TurnEnds: true})
}
