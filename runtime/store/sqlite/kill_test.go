package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

// appenderFile names the variable by which a test makes its own binary append to
// a file until it is killed.
const appenderFile = "GRAPNEL_TEST_APPEND_TO"

// appenders is how many conversations are appended to at the same time, so that
// they share syncs.
const appenders = 4

// appendForever appends pairs of messages to each conversation and prints its
// number and its version after each.
func appendForever(path string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, nil)
	check(err)
	var wg sync.WaitGroup
	for i := range appenders {
		rec, err := s.Conversation(ctx, appended(i))
		check(err)
		wg.Go(func() {
			var err error
			for v := rec.Version; ; {
				text := hook.UserText(strconv.FormatInt(v, 10))
				v, err = s.Append(ctx, rec.ID, store.Append{Version: v, Messages: []hook.Message{text, text}})
				check(err)
				fmt.Println(i, v)
			}
		})
	}
	wg.Wait()
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
func killAfter(t *testing.T, path string, n int) (acked [appenders]int64) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), appenderFile+"="+path)
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

func TestAKillLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	path := file(t)
	for kill := range 10 {
		acked := killAfter(t, path, 3+7*kill)
		s := open(t, path)
		for i, version := range acked {
			rec, err := s.Conversation(t.Context(), appended(i))
			require.NoError(t, err)
			require.GreaterOrEqual(t, rec.Version, version)
			got := texts(t, s, rec.ID)
			require.Len(t, got, int(2*rec.Version))
			for j, text := range got {
				assert.Equal(t, strconv.Itoa(j/2), text)
			}
		}
		require.NoError(t, s.Close())
	}
}
