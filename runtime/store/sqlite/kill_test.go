package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
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

// appendForever appends pairs of messages and prints the version after each.
func appendForever(path string) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, path, nil)
	check(err)
	rec, err := s.Conversation(ctx, store.Key{Agent: "a"})
	check(err)
	for v := rec.Version; ; {
		text := hook.UserText(strconv.FormatInt(v, 10))
		v, err = s.Append(ctx, rec.ID, v, store.Append{Messages: []hook.Message{text, text}})
		check(err)
		fmt.Println(v)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// killAfter runs an appender, kills it after it has acknowledged n appends and
// returns the last version that it had acknowledged.
func killAfter(t *testing.T, path string, n int) (acked int64) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), appenderFile+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		acked, err = strconv.ParseInt(lines.Text(), 10, 64)
		require.NoError(t, err)
		if i == n {
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
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
		require.NoError(t, err)
		require.GreaterOrEqual(t, rec.Version, acked)
		got := texts(t, s, rec.ID)
		require.Len(t, got, int(2*rec.Version))
		for i, text := range got {
			assert.Equal(t, strconv.Itoa(i/2), text)
		}
		require.NoError(t, s.Close())
	}
}
