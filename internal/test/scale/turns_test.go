package scale_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/hook/tool"
	"github.com/grapnel-go/grapnel/internal/test/dialog"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime"
	"github.com/grapnel-go/grapnel/runtime/provider/script"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// turnsVariable makes the test binary a process that runs turns: the DSN of its database. It runs them in so many conversations at
// once, for so long, and prints how many, and how many seconds that took.
const (
	turnsVariable = "GRAPNEL_TEST_TURNS_DSN"
	atOnceInEach  = "GRAPNEL_TEST_TURNS_AT_ONCE"
	runFor        = "GRAPNEL_TEST_TURNS_FOR"
)

// agentOver is a runtime whose agent calls a tool and answers; both take no time.
func agentOver(ctx context.Context, s *postgres.Store) (*runtime.Runtime, error) {
	type empty struct{}
	noop := tool.New("noop", "Does nothing.", func(context.Context, empty) (string, error) { return "done", nil }, nil)
	model := script.New(
		script.Rule{When: &script.When{Step: 1}, Calls: []script.Call{{Tool: "noop", Args: message.JSON(`{}`)}}},
		script.Rule{When: new(script.When), Say: "Done."},
	)
	rt := runtime.New(tool.Set(noop), model, &runtime.Options{Store: s})
	if err := rt.Open(ctx); err != nil {
		return nil, err
	}
	_, err := rt.Register(ctx, hook.AgentConfig{Name: "a"})
	return rt, err
}

// runTurns is the process of turnsVariable.
func runTurns(dsn string) error {
	ctx := context.Background()
	atOnce, err := strconv.Atoi(os.Getenv(atOnceInEach))
	if err != nil {
		return err
	}
	long, err := time.ParseDuration(os.Getenv(runFor))
	if err != nil {
		return err
	}
	s, err := postgres.Open(ctx, dsn, nil)
	if err != nil {
		return err
	}
	rt, err := agentOver(ctx, s)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var one [1]byte
	if _, err := os.Stdin.Read(one[:]); err != nil { // all processes begin together
		return err
	}
	var turns atomic.Int64
	errs := make([]error, atOnce)
	var all sync.WaitGroup
	began := time.Now()
	for i := range atOnce {
		all.Go(func() {
			conv, err := dialog.Conversation(ctx, rt, "a", fmt.Sprintf("%d-%d-%d", os.Getpid(), began.UnixNano(), i))
			for end := time.Now().Add(long); err == nil && time.Now().Before(end); turns.Add(1) {
				_, err = dialog.Send(ctx, conv, message.TextInput("go"), nil)
			}
			errs[i] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Println(turns.Load(), time.Since(began).Seconds())
	return errors.Join(rt.Close(ctx), s.Close())
}

// turnsOf returns how many turns so many processes run, and how many in a second.
func turnsOf(t *testing.T, dsn string, processes int, long time.Duration) (turns, rate float64) {
	t.Helper()
	type child struct {
		cmd *exec.Cmd
		in  *os.File
		out *os.File
	}
	var children []child
	for range processes {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), turnsVariable+"="+dsn, atOnceInEach+"="+strconv.Itoa(256/processes), runFor+"="+long.String())
		in, toChild, err := os.Pipe()
		require.NoError(t, err)
		fromChild, out, err := os.Pipe()
		require.NoError(t, err)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
		require.NoError(t, cmd.Start())
		require.NoError(t, errors.Join(in.Close(), out.Close()))
		children = append(children, child{cmd, toChild, fromChild})
	}
	read := func(c child) string {
		var line [64]byte
		n, err := c.out.Read(line[:])
		require.NoError(t, err)
		return strings.TrimSpace(string(line[:n]))
	}
	for _, c := range children {
		require.Equal(t, "ready", read(c))
	}
	for _, c := range children {
		_, err := c.in.Write([]byte{1})
		require.NoError(t, err)
	}
	for _, c := range children {
		var n, seconds float64
		_, err := fmt.Sscan(read(c), &n, &seconds)
		require.NoError(t, err)
		turns, rate = turns+n, rate+n/seconds
		require.NoError(t, c.cmd.Wait())
		require.NoError(t, errors.Join(c.in.Close(), c.out.Close()))
	}
	return turns, rate
}

// commitsOf returns how many rows pgbench inserts in a second, each with a commit.
func commitsOf(t *testing.T, dsn string, long time.Duration) float64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "insert.sql")
	require.NoError(t, os.WriteFile(file, []byte(`INSERT INTO bench VALUES (:client_id, repeat('x', 200));`), 0o600))
	cmd := exec.CommandContext(t.Context(), filepath.Join(pgtest.Programs(t), "pgbench"), "--no-vacuum", "--client=32", "--jobs=2",
		"--protocol=prepared", "--time="+strconv.Itoa(int(long.Seconds())), "--file="+file, dsn)
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	for line := range strings.Lines(string(out)) {
		if _, rest, ok := strings.Cut(line, "tps = "); ok {
			number, _, _ := strings.Cut(rest, " ")
			tps, err := strconv.ParseFloat(number, 64)
			require.NoError(t, err)
			return tps
		}
	}
	require.Fail(t, "pgbench says no figure", "%s", out)
	return 0
}

// TestThroughput compares the writes of processes that run turns with pgbench, which inserts rows. They take turns, because
// machines are faster and slower from minute to minute.
func TestThroughput(t *testing.T) {
	needsAll(t)
	dsn := pgtest.Start(t, &pgtest.Options{Sync: true, Settings: []string{"synchronous_commit = on", "max_wal_size = '1GB'"}}).DSN("")
	s, err := postgres.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `CREATE TABLE bench (client int, filler text)`)
	require.NoError(t, err)
	processes := []int{1, 2, 4}
	turns, ratios, commits := map[int][]float64{}, map[int][]float64{}, []float64{}
	writes, perTurn := writesOf(t, conn), []float64(nil)
	for range *roundsFlag {
		before := commitsOf(t, dsn, *longFlag)
		for _, n := range processes {
			ran, rate := turnsOf(t, dsn, n, *longFlag)
			after := commitsOf(t, dsn, *longFlag)
			now := writesOf(t, conn)
			turns[n] = append(turns[n], rate)
			ratios[n] = append(ratios[n], rate*(now-writes)/ran/((before+after)/2))
			perTurn = append(perTurn, (now-writes)/ran)
			writes = now
			commits = append(commits, after)
			before = after
		}
	}
	figure(t, "rounds", *roundsFlag, fmt.Sprintf("of %s each, 256 turns at once, pgbench with 32 clients between them", *longFlag))
	figure(t, "pgbench", fmt.Sprintf("%.0f", median(commits)), "commits a second, each of one INSERT")
	figure(t, "writes-per-turn", fmt.Sprintf("%.1f", median(perTurn)), "statements, each with its own conditions")
	for _, n := range processes {
		figure(t, fmt.Sprintf("turns-of-%d", n), fmt.Sprintf("%.0f", median(turns[n])), "turns a second, each with a tool call")
		figure(t, fmt.Sprintf("ratio-of-%d", n), fmt.Sprintf("%.2f", median(ratios[n])), "of its writes to the commits of pgbench")
		assert.Greater(t, median(ratios[n]), 0.05)
	}
}

// writesOf returns how many writes to conversations there were: each changes a row.
func writesOf(t *testing.T, conn *pgx.Conn) (n float64) {
	t.Helper()
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'conversation'`).Scan(&n))
	return n
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}
