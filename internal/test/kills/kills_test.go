package kills_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
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
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

var (
	kills = flag.Int("kills.n", 20, "how often the program is killed")
	seed  = flag.Uint64("kills.seed", 1, "which moments it is killed at")
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		runChild(dir)
		return
	}
	flag.Parse()
	os.Exit(m.Run())
}

// told is what the child has said that it had done, over all its lives.
type told struct {
	// results are those of calls, by conversation and id; answers those of turns that
	// have ended, and inputs those of turns that have begun.
	results map[string]string
	answers []string
	inputs  []string
	// cut is how many turns were stopped within their answer, and halves how many of
	// such answers were told to be whole.
	cut, halves int
	// last is the last kind of event of each conversation before the kill.
	last [conversations]hook.EventKind
}

// life runs the child until it has said so many things, and kills it a little
// later.
func (w *told) life(t *testing.T, dir, variant string, things int, later time.Duration) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+dir, variantVariable+"="+variant)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewReader(out)
	_, err = lines.ReadString('\n') // it is ready
	require.NoError(t, err, "the child did not start")
	for said := 0; ; said++ {
		if said == things {
			kill := time.AfterFunc(later, func() { _ = child.Process.Kill() })
			defer kill.Stop()
		}
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // half a line was not said
		}
		require.NoError(t, err)
		var r report
		require.NoError(t, json.Unmarshal([]byte(line), &r), "%q", line)
		w.note(r)
	}
	require.Error(t, child.Wait(), "the child was to be killed")
}

func (w *told) note(r report) {
	w.last[r.Conversation] = r.Kind
	switch r.Kind {
	case event.TurnStart:
		w.inputs = append(w.inputs, r.Text)
	case event.CallResult:
		w.results[strconv.Itoa(r.Conversation)+"/"+r.Call] = r.Text
	case event.TurnEnd:
		if r.Text != "" {
			w.answers = append(w.answers, r.Text)
		}
		switch {
		case !strings.HasPrefix(r.Text, half):
		case r.Stop == hook.StopCompleted:
			w.halves++
		default:
			w.cut++
		}
	}
}

// most is how much the child says before it is killed: four conversations say some
// hundred things while each runs a turn.
const most = 200

// finding is what is wrong with what is left.
type finding struct {
	lost, doubled, invalid int
	// parted counts turns that have ended without the job that their end queues, and such jobs of
	// turns that have not.
	parted int
	// opened is how long it took to open the store and settle what was interrupted.
	opened time.Duration
}

// inspect looks at what is left, as a program would find it that starts now.
func (w *told) inspect(t *testing.T, dir string) (f finding) {
	t.Helper()
	began := time.Now()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "conversations.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	f.opened = time.Since(began)
	jobs, err := s.Jobs(ctx, store.JobFilter{})
	require.NoError(t, err)
	results, texts := map[string]string{}, map[string]bool{}
	for i := range conversations {
		rec, err := s.Conversation(ctx, store.Key{Agent: "a", Sender: strconv.Itoa(i)})
		require.NoError(t, err)
		messages, err := s.Messages(ctx, rec.ID)
		require.NoError(t, err)
		f.invalid += len(history.Check(messages))
		receipts := 0
		for _, j := range jobs {
			if j.Conversation == rec.ID {
				receipts++
			}
		}
		f.parted += max(receipts-rec.Turns, rec.Turns-receipts)
		entries, err := s.Journal(ctx, rec.ID)
		require.NoError(t, err)
		for _, e := range entries {
			messages = append(messages, e.Message)
		}
		for _, m := range messages {
			texts[m.Text()] = true
			if m.Role == message.RoleTool {
				results[strconv.Itoa(i)+"/"+m.CallID] = m.Result.Text()
			}
		}
	}
	for id, text := range w.results {
		if results[id] != text {
			f.lost++
		}
	}
	for _, text := range slices.Concat(w.answers, w.inputs) {
		if !texts[text] {
			f.lost++
		}
	}
	f.doubled = doubled(t, filepath.Join(dir, "ledger"))
	return f
}

// doubled counts the lines that are in the ledger more than once.
func doubled(t *testing.T, ledger string) (n int) {
	t.Helper()
	text, err := os.ReadFile(ledger)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if seen[line] {
			n++
		}
		seen[line] = true
	}
	return n
}

// TestKills is the gate: nothing that the program said it had done is lost, and
// nothing is done twice.
func TestKills(t *testing.T) {
	needs.Proof(t)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(*seed, 0))
	w := &told{results: map[string]string{}}
	at, inside, slowest := map[hook.EventKind]int{}, 0, time.Duration(0)
	for range *kills {
		w.life(t, dir, "", rng.IntN(most), time.Duration(rng.IntN(5000))*time.Microsecond)
		for _, kind := range w.last {
			at[kind]++
			if kind != event.TurnEnd && kind != "" {
				inside++
			}
		}
		f := w.inspect(t, dir)
		require.Zero(t, f.lost, "acknowledged, and not there")
		require.Zero(t, f.doubled, "charged twice")
		require.Zero(t, f.invalid, "histories that a provider refuses")
		require.Zero(t, f.parted, "jobs without the end of their turn, or the other way round")
		require.Zero(t, w.halves, "half an answer is told to be the whole one")
		slowest = max(slowest, f.opened)
	}
	settled := settle(t, dir)
	require.Zero(t, halves(t, dir), "half an answer is told to be the whole one")
	t.Logf("seed %d; the last event before a kill, of %d conversations each time:\n%s", *seed, conversations, histogram(at))
	for _, f := range []string{
		fmt.Sprintf("seed=%d", *seed), fmt.Sprintf("kills=%d", *kills),
		fmt.Sprintf("within-a-turn=%d %% of the conversations", 100*inside/(*kills*conversations)),
		fmt.Sprintf("turns=%d acknowledged", len(w.answers)), fmt.Sprintf("calls=%d acknowledged", len(w.results)),
		fmt.Sprintf("cut=%d answers", w.cut), "lost=0 acknowledged", "doubled=0 effects", "halves=0 told to be whole", "parted=0 jobs and ends of turns", fmt.Sprintf("restarted=%d ms at most", max(slowest, settled).Milliseconds()),
	} {
		t.Log("FIGURE " + f)
	}
	assert.GreaterOrEqual(t, inside*100, 60**kills*conversations, "too few kills within a turn")
	assert.Less(t, max(slowest, settled), time.Second)
	assert.NotEmpty(t, w.answers)
	assert.NotEmpty(t, w.results)
	assert.NotZero(t, w.cut)
}

// halves counts the turns that have ended as completed with half an answer, as the events
// tell that are kept.
func halves(t *testing.T, dir string) (n int) {
	t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "conversations.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for i := range conversations {
		rec, err := s.Conversation(ctx, store.Key{Agent: "a", Sender: strconv.Itoa(i)})
		require.NoError(t, err)
		events, err := s.Events(ctx, rec.ID, 0, 1<<30)
		require.NoError(t, err)
		for _, e := range events {
			var ev hook.Event
			require.NoError(t, json.Unmarshal([]byte(e.Data), &ev))
			if ev.Kind == event.TurnEnd && ev.Detail().Stop == hook.StopCompleted && strings.HasPrefix(ev.Text, half) {
				n++
			}
		}
	}
	return n
}

// settle starts a program over what is left that only answers, and returns how
// long it took until all conversations were good for another turn.
func settle(t *testing.T, dir string) time.Duration {
	t.Helper()
	began := time.Now()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "conversations.db"), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	rt := runtime.New(&till{ledger: filepath.Join(dir, "ledger")}, customer{}, &runtime.Options{Store: s, Gone: func(string) bool { return true }})
	require.NoError(t, rt.Open(ctx))
	_, err = rt.Register(ctx, hook.AgentConfig{Name: "a"})
	require.NoError(t, err)
	took := time.Since(began)
	for i := range conversations {
		conv, err := dialog.Conversation(ctx, rt, "a", strconv.Itoa(i))
		require.NoError(t, err)
		began := time.Now()
		_, err = dialog.Send(ctx, conv, message.TextInput("and now?"), nil)
		require.NoError(t, err)
		took = max(took, time.Since(began))
		messages, err := s.Messages(ctx, conv.ID())
		require.NoError(t, err)
		assert.Empty(t, history.Check(messages))
	}
	require.NoError(t, rt.Close(ctx))
	assert.Zero(t, doubled(t, filepath.Join(dir, "ledger")))
	return took
}

func histogram(at map[hook.EventKind]int) string {
	var sb strings.Builder
	for _, kind := range slices.SortedFunc(maps.Keys(at), func(a, b hook.EventKind) int { return cmp.Compare(at[b], at[a]) }) {
		fmt.Fprintf(&sb, "  %-18s %4d %s\n", cmp.Or(kind, "none"), at[kind], strings.Repeat("#", at[kind]*60/max(1, *kills*conversations)))
	}
	return sb.String()
}

// TestTheGateCatchesWhatIsBad: programs that acknowledge too early, or forget what they
// were about to do or how a turn was about to end, do not pass.
func TestTheGateCatchesWhatIsBad(t *testing.T) {
	needs.Proof(t)
	for variant, figure := range map[string]string{
		lateCommit: "bad.late-commit", noJournal: "bad.no-journal", earlyStart: "bad.early-start", halfIsWhole: "bad.half-is-whole", jobsApart: "bad.jobs-apart",
	} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rng := rand.New(rand.NewPCG(*seed, 0))
			w := &told{results: map[string]string{}}
			for range 40 {
				w.life(t, dir, variant, rng.IntN(most), time.Duration(rng.IntN(5000))*time.Microsecond)
				if variant == halfIsWhole {
					if w.halves > 0 {
						t.Logf("FIGURE %s=%d halves told to be whole", figure, w.halves)
						return
					}
					continue
				}
				f := w.inspect(t, dir)
				if variant == jobsApart {
					if f.parted > 0 {
						t.Logf("FIGURE %s=%d jobs lost", figure, f.parted)
						return
					}
					continue
				}
				if f.lost > 0 {
					t.Logf("FIGURE %s=%d acknowledged lost", figure, f.lost)
					return
				}
			}
			assert.Fail(t, "forty kills, and nothing was found")
		})
	}
}
