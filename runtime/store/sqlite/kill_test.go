package sqlite_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

var kills = flag.Int("kills", 10, "how often the process of TestAKillLosesNothingThatWasAcknowledged is killed")

const (
	// appenderFile names the variable by which a test makes its own binary append to
	// a file until it is killed.
	appenderFile = "GRAPNEL_TEST_APPEND_TO"
	// appenderEarly names the variable that makes it acknowledge an append before the
	// store has it: the mistake that kills have to find.
	appenderEarly = "GRAPNEL_TEST_ACKNOWLEDGE_EARLY"
)

// appenders is how many conversations are appended to at the same time, so that
// they share syncs.
const appenders = 4

// appendForever appends pairs of messages to each conversation, and its new version
// as a state, and prints its number and that version after each.
func appendForever(path string, early bool) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, nil)
	check(err)
	var wg sync.WaitGroup
	for i := range appenders {
		rec, err := s.Conversation(ctx, appended(i))
		check(err)
		wg.Go(func() {
			for v := rec.Version; ; v++ {
				text := message.UserText(strconv.FormatInt(v, 10))
				if early {
					fmt.Println(i, v+1)
				}
				_, err := s.Append(ctx, rec.ID, store.Append{Version: v, Messages: message.MessagesOf(text, text), States: versioned(v + 1)})
				check(err)
				if !early {
					fmt.Println(i, v+1)
				}
			}
		})
	}
	wg.Wait()
}

func versioned(v int64) []hook.StateValue {
	return []hook.StateValue{{Name: "version", Data: message.JSON(strconv.FormatInt(v, 10))}}
}

func appended(i int) store.Key { return store.Key{Agent: "a", Sender: strconv.Itoa(i)} }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killAfter runs an appender, kills it after it has acknowledged n appends and
// returns the last version of each conversation that it had acknowledged.
func killAfter(t *testing.T, path string, n int, env ...string) (acked [appenders]int64) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(append(os.Environ(), appenderFile+"="+path), env...)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for read := 0; lines.Scan(); read++ {
		var i int
		var v int64
		_, err = fmt.Sscan(lines.Text(), &i, &v)
		require.NoError(t, err)
		acked[i] = v
		if read == n {
			require.NoError(t, child.Process.Kill())
		}
	}
	require.Error(t, child.Wait(), "the child was to be killed")
	return acked
}

// afterKills kills an appender many times and returns how many acknowledged
// appends were lost, how many there were, and how long it took to open the file
// again, at worst. What is there has to be whole.
func afterKills(t *testing.T, kills int, env ...string) (lost, acknowledged int64, worst time.Duration) {
	t.Helper()
	const perFile = 20
	var path string
	for kill := range kills {
		if kill%perFile == 0 {
			path = file(t)
		}
		before := versions(t, path)
		acked := killAfter(t, path, 3+7*(kill%perFile), env...)
		began := time.Now()
		s, err := sqlite.Open(t.Context(), path, nil)
		require.NoError(t, err)
		_, err = s.List(t.Context())
		require.NoError(t, err)
		worst = max(worst, time.Since(began))
		for i, version := range acked {
			rec, err := s.Conversation(t.Context(), appended(i))
			require.NoError(t, err)
			lost += max(0, version-rec.Version)
			acknowledged += max(0, version-before[i])
			got := texts(t, s, rec.ID)
			require.Len(t, got, int(2*rec.Version))
			for j, text := range got {
				require.Equal(t, strconv.Itoa(j/2), text)
			}
			states, err := s.States(t.Context(), rec.ID)
			require.NoError(t, err)
			if rec.Version > 0 {
				require.Equal(t, versioned(rec.Version), states, "messages and states of one append are there together")
			}
		}
		require.NoError(t, s.Close())
	}
	return lost, acknowledged, worst
}

// versions returns those of the appenders' conversations.
func versions(t *testing.T, path string) (out [appenders]int64) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	require.NoError(t, err)
	for i := range out {
		rec, err := s.Conversation(t.Context(), appended(i))
		require.NoError(t, err)
		out[i] = rec.Version
	}
	require.NoError(t, s.Close())
	return out
}

func TestAKillLosesNothingThatWasAcknowledged(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	lost, acknowledged, worst := afterKills(t, *kills)
	t.Logf("FIGURE kills=%d", *kills)
	t.Logf("FIGURE writes=%d acknowledged", acknowledged)
	t.Logf("FIGURE lost=%d acknowledged writes", lost)
	t.Logf("FIGURE reopened-worst=%v", worst.Round(10*time.Microsecond))
	assert.Zero(t, lost)
}

func TestKillsFindWhoAcknowledgesTooEarly(t *testing.T) {
	needs.Proof(t)
	t.Parallel()
	lost, _, _ := afterKills(t, max(5, *kills/20), appenderEarly+"=1")
	t.Logf("FIGURE bad.late-commit=%d acknowledged writes lost", lost)
	assert.Positive(t, lost)
}
