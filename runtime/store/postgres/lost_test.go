package postgres_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

// proxy stands between a store and the server. It can close the connection instead of passing an
// answer on: the server has done what was asked.
type proxy struct {
	dsn string
	// left is how many answers are passed on before one is lost; negative: none is.
	left atomic.Int64
	lost atomic.Int64
	// silent: nothing passes any more, and nothing is closed until end is called, as behind a machine without power.
	silent atomic.Bool
	ended  chan struct{}
	end    func()
	// then is called when one is lost, before the connection closes; nil does nothing.
	then atomic.Pointer[func()]
	// starting is how long the server takes to say that it starts, in nanoseconds; 0: it runs.
	starting atomic.Int64
}

func newProxy(t *testing.T, dsn string) *proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "pg") // short enough for a socket, whatever the name of the test
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	p := &proxy{dsn: "postgres:///" + config.Database + "?user=" + config.User + "&port=5432&host=" + dir, ended: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	p.left.Store(-1)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			if after := time.Duration(p.starting.Load()); after > 0 {
				serving.Go(func() { refuse(client, after) })
				continue
			}
			server, err := net.Dial(network, address)
			if err != nil {
				client.Close()
				continue
			}
			serving.Go(func() { p.pass(server, client, false) })
			serving.Go(func() { p.pass(client, server, true) })
		}
	})
	t.Cleanup(func() { l.Close(); p.end(); serving.Wait() })
	return p
}

// refuse says that the server starts up.
func refuse(client net.Conn, after time.Duration) {
	defer client.Close()
	if _, err := client.Read(make([]byte, 1<<10)); err != nil {
		return
	}
	time.Sleep(after)
	const said = "SFATAL\x00VFATAL\x00C57P03\x00Mthe database system is starting up\x00\x00"
	_, _ = client.Write(append([]byte{'E', 0, 0, 0, byte(len(said) + 4)}, said...))
}

// pass copies until one of the connections ends.
func (p *proxy) pass(to, from net.Conn, answers bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if p.silent.Load() {
			<-p.ended
			return
		}
		if answers && n > 0 && p.loses() {
			p.lost.Add(1)
			if then := p.then.Load(); then != nil {
				(*then)()
			}
			return
		}
		if _, writing := to.Write(buffer[:n]); err != nil || writing != nil {
			return
		}
	}
}

func (p *proxy) loses() bool {
	for {
		left := p.left.Load()
		if left < 0 {
			return false
		}
		if p.left.CompareAndSwap(left, left-1) {
			return left == 0
		}
	}
}

// lossy is a store whose answers can be lost.
type lossy struct {
	*postgres.Store
	proxy *proxy
	dsn   string // of the database, without the proxy
}

func newLossy(t *testing.T) lossy {
	t.Helper()
	dsn := migrated.Database(t)
	p := newProxy(t, dsn)
	s, err := postgres.Open(t.Context(), p.dsn, &postgres.Options{Database: pgdb.Options{Connections: 1}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return lossy{s, p, dsn}
}

// losing runs f, of which the answer behind the first ones is lost. It reports whether there was
// one.
func (l lossy) losing(first int, f func()) bool {
	before := l.proxy.lost.Load()
	l.proxy.left.Store(int64(first))
	f()
	l.proxy.left.Store(-1)
	return l.proxy.lost.Load() > before
}

// quiet waits until the notification of the last write is sent, whose answer would be lost instead.
func (l lossy) quiet(t *testing.T) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // if it comes later, the test fails to lose what it wants to
	_, err := l.Nodes(t.Context())
	require.NoError(t, err)
}

func TestAWriteWhoseAnswerIsLostHappensOnce(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	ctx := t.Context()
	rec, err := l.Conversation(ctx, store.Key{Agent: "a"})
	require.NoError(t, err)
	claim := func() {
		rec, err = l.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Hour, Takes: rec.Lease.Epoch})
		require.NoError(t, err)
	}
	entry := []store.Entry{{Kind: store.EntryStart, CallID: "1", Data: `{}`}}
	first, noted := int64(0), int64(0)
	note := func() {
		first, err = l.Note(ctx, rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Hour, Entries: entry})
		require.NoError(t, err)
		noted++
		require.Equal(t, noted, first)
	}
	says := func() {
		rec.Version, err = l.Append(ctx, rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Hold: time.Hour, Messages: message.MessagesOf(message.UserText("hi"))})
		require.NoError(t, err)
	}
	told := uint64(0)
	tells := func() {
		told++
		_, err = l.Note(ctx, rec.ID, store.Note{Epoch: rec.Lease.Epoch, Hold: time.Hour, Events: []store.Event{{Seq: told, Data: `{}`}},
			States: []hook.StateValue{{Name: "n", Data: `1`}}, Jobs: []store.Job{{Job: hook.Job{Kind: "k", Key: "1"}}}})
		require.NoError(t, err)
	}
	compacts := func() {
		rec.Version, err = l.Compact(ctx, rec.ID, store.At{Version: rec.Version, Epoch: rec.Lease.Epoch, Hold: time.Hour}, 1, message.UserText("summary"))
		require.NoError(t, err)
	}
	for _, write := range []func(){claim, note, says, tells, compacts} {
		write() // so that all statements are known
		l.quiet(t)
		require.True(t, l.losing(0, write))
		l.quiet(t)
	}
	now, err := l.Find(ctx, rec.ID)
	require.NoError(t, err)
	assert.Equal(t, int64(2), now.Lease.Epoch)
	assert.Equal(t, rec.Version, now.Version)
	assert.Equal(t, told, now.Events)
	ms, err := l.Messages(ctx, rec.ID)
	require.NoError(t, err)
	assert.Len(t, ms, 2, "two were said, and one was compacted twice")
	es, err := l.Journal(ctx, rec.ID)
	require.NoError(t, err)
	assert.Len(t, es, int(noted))
}

// The epoch of the one who has claimed since is not that of the claim.
func TestAClaimWhoseAnswerIsLostIsNotThatOfTheNextHolder(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	ctx := t.Context()
	rec, err := l.Conversation(ctx, store.Key{Agent: "a"})
	require.NoError(t, err)
	rec, err = l.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Hour}) // so that all statements are known
	require.NoError(t, err)
	l.quiet(t)
	other := open(t, l.dsn, nil)
	then := func() {
		_, err := other.Claim(ctx, rec.ID, store.Claim{Owner: "other", Hold: time.Hour, Takes: rec.Lease.Epoch + 1})
		assert.NoError(t, err)
	}
	l.proxy.then.Store(&then)
	require.True(t, l.losing(0, func() {
		_, err = l.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Hour, Takes: rec.Lease.Epoch})
	}))
	var held *store.LeasedError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, "other", held.Lease.Owner)
	assert.Equal(t, rec.Lease.Epoch+2, held.Lease.Epoch)
}

func TestAJobWhoseEndIsLostHasEnded(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	take := func(key string) store.Job {
		_, err := l.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: key}})
		require.NoError(t, err)
		j, err := l.TakeJob(t.Context(), store.JobTake{Owner: "me", Kinds: []string{"k"}, Hold: time.Hour})
		require.NoError(t, err)
		return j
	}
	end := func(j store.Job, status store.JobStatus) error {
		return l.EndJob(t.Context(), j.ID, j.Epoch, store.JobEnd{Status: status})
	}
	require.NoError(t, end(take("warm"), store.JobSucceeded))
	j := take("1")
	require.True(t, l.losing(0, func() { require.NoError(t, end(j, store.JobSucceeded)) }))
	require.ErrorIs(t, end(j, store.JobFailed), store.ErrFenced, "it cannot end in another way")
}

// A machine that is cut off within a transaction keeps its locks for seconds. Then the others go on: they
// call models under the same limit of spending, and claim the conversation that it compacted.
func TestAMachineThatIsCutOffHoldsOthersUpForSeconds(t *testing.T) {
	t.Parallel()
	limits := []store.SpendingLimit{{Name: "day", Max: 1 << 50}}
	reservation := store.Reservation{Least: store.Spent{SpentKey: store.SpentKey{Day: "2026-11-28", Project: "p"}, Calls: 1}, Most: 1, Hold: time.Hour}
	for name, tt := range map[string]struct {
		at          string // the statement that does not arrive, behind one that has locked something
		does, waits func(ctx context.Context, s *postgres.Store, rec store.Record) error
	}{
		"a model call": {
			"INSERT INTO reserved",
			func(ctx context.Context, s *postgres.Store, _ store.Record) error {
				_, err := s.Reserve(ctx, reservation, limits)
				return err
			},
			func(ctx context.Context, s *postgres.Store, _ store.Record) error {
				_, err := s.Reserve(ctx, reservation, limits)
				return err
			},
		},
		"a compaction": {
			"INSERT INTO archive",
			func(ctx context.Context, s *postgres.Store, rec store.Record) error {
				now, err := s.Find(ctx, rec.ID)
				if err == nil {
					_, err = s.Compact(ctx, rec.ID, store.At{Version: now.Version}, 1, message.UserText("summary"))
				}
				return err
			},
			func(ctx context.Context, s *postgres.Store, rec store.Record) error {
				_, err := s.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := migrated.Database(t)
			p := newProxy(t, dsn)
			cut := make(chan struct{})
			var armed atomic.Bool
			trace := func(sql string) {
				if strings.Contains(sql, tt.at) && armed.Swap(false) {
					p.silent.Store(true)
					close(cut)
				}
			}
			cutOff, err := postgres.Open(t.Context(), p.dsn, &postgres.Options{Database: pgdb.Options{Connections: 1, Trace: trace}})
			require.NoError(t, err)
			defer cutOff.Close() //nolint:errcheck // it has no power
			other := open(t, dsn, &postgres.Options{Database: pgdb.Options{Patience: time.Minute}})
			rec, err := other.Conversation(t.Context(), store.Key{Project: "p", Agent: "a"})
			require.NoError(t, err)
			_, err = other.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hi"), message.UserText("you"))})
			require.NoError(t, err)
			require.NoError(t, tt.does(t.Context(), cutOff, rec)) // so that all statements are known
			ctx, end := context.WithCancel(t.Context())
			var does sync.WaitGroup
			armed.Store(true)
			does.Go(func() { _ = tt.does(ctx, cutOff, rec) })
			<-cut
			require.True(t, locked(t, dsn))
			began := time.Now()
			require.NoError(t, tt.waits(t.Context(), other, rec))
			t.Log("held up for ", time.Since(began))
			end()
			p.end()
			does.Wait()
		})
	}
}

// locked reports whether a transaction is idle that has written or locked something.
func locked(t *testing.T, dsn string) (is bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity a JOIN pg_locks l USING (pid)
		WHERE a.datname = current_database() AND a.state = 'idle in transaction' AND (l.locktype = 'advisory' OR l.mode = 'RowExclusiveLock'))`).Scan(&is))
	return is
}

// A transaction asks the database what became of it.
func TestATransactionWhoseAnswerIsLostHappensOnce(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	ctx := t.Context()
	rec, err := l.Conversation(ctx, store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = l.Append(ctx, rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hi")), TurnEnds: true})
	require.NoError(t, err)
	fork := func(sender string) {
		_, err := l.Fork(ctx, rec.ID, 1, store.Key{Agent: "a", Sender: sender})
		require.NoError(t, err, sender)
	}
	fork("warm")
	// Each answer is lost once: that of the begin, of each statement, and of the commit.
	n := 0
	for l.quiet(t); l.losing(n, func() { fork(fmt.Sprint(n)) }); l.quiet(t) {
		n++
	}
	assert.Greater(t, n, 4)
	run := store.Run{ID: "r", Status: event.RunRunning}
	require.NoError(t, l.WriteRuns(ctx, []store.Run{run}))
	l.quiet(t)
	require.True(t, l.losing(0, func() { require.NoError(t, l.WriteRuns(ctx, []store.Run{run})) }))
	all, err := l.List(ctx)
	require.NoError(t, err)
	assert.Len(t, all, 2+n+1, "the first, the warm one, and the last, whose answers all came")
}

func TestABeatThatWasLateSaysSoAlsoIfItsAnswerIsLost(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	n := store.Node{ID: "one", URL: "unix:/x", TTL: time.Millisecond}
	witness := store.Node{ID: "two", URL: "unix:/y", TTL: time.Hour}
	require.NoError(t, l.Beat(t.Context(), witness))
	require.NoError(t, l.Beat(t.Context(), n))
	n.TTL = time.Hour
	time.Sleep(50 * time.Millisecond) // longer than the TTL
	require.NoError(t, l.Beat(t.Context(), witness))
	require.True(t, l.losing(0, func() { require.ErrorIs(t, l.Beat(t.Context(), n), store.ErrLate) }))
	require.NoError(t, l.Beat(t.Context(), n))
}
