package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/event"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/needs"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

func execute(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// The server is killed again and again while conversations are written to. Every write that was
// acknowledged is there, once, and none is there in part.
func TestCrashesLoseNothingThatWasAcknowledged(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	const crashes, callers = 3, 16
	c := pgtest.Start(t, nil)
	s := open(t, c.DSN(""), &postgres.Options{Database: pgdb.Options{Patience: time.Minute}})
	var stop atomic.Bool
	type written struct {
		rec            store.Record
		version, notes int64
		first          []int64
	}
	all := make([]written, callers)
	var writing sync.WaitGroup
	var total atomic.Int64
	for i := range all {
		w := &all[i]
		rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: fmt.Sprint(i)})
		require.NoError(t, err)
		w.rec, err = s.Claim(t.Context(), rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
		require.NoError(t, err)
		writing.Go(func() {
			for !stop.Load() {
				first, err := s.Note(t.Context(), w.rec.ID, store.Note{Epoch: 1, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryStart}, {Kind: store.EntryResult}}})
				if !assert.NoError(t, err) {
					return
				}
				w.notes++
				w.first = append(w.first, first)
				text := message.UserText(fmt.Sprint(w.version))
				if w.version, err = s.Append(t.Context(), w.rec.ID, store.Append{Version: w.version, Epoch: 1, Hold: time.Hour, Messages: message.MessagesOf(text, text)}); !assert.NoError(t, err) {
					return
				}
				total.Add(1)
			}
		})
	}
	for range crashes {
		before := total.Load()
		assert.Eventually(t, func() bool { return total.Load() > before+50 }, time.Minute, time.Millisecond)
		c.Restart(t, "immediate")
	}
	before := total.Load()
	assert.Eventually(t, func() bool { return total.Load() > before+50 }, time.Minute, time.Millisecond)
	stop.Store(true)
	writing.Wait()
	for i, w := range all {
		rec, err := s.Find(t.Context(), w.rec.ID)
		require.NoError(t, err)
		require.Equal(t, w.version, rec.Version)
		ms, err := s.Messages(t.Context(), w.rec.ID)
		require.NoError(t, err)
		require.Len(t, ms, int(2*w.version))
		for j, m := range ms {
			require.Equal(t, fmt.Sprint(j/2), m.Text())
		}
		es, err := s.Journal(t.Context(), w.rec.ID)
		require.NoError(t, err)
		require.Len(t, es, int(2*w.notes), "conversation %d", i)
		for j, first := range w.first {
			require.Equal(t, int64(2*j+1), first)
		}
	}
	t.Logf("%d rounds of writes, %d crashes", total.Load(), crashes)
}

// The rows of nodes that died long ago go, and what they held is free without them.
func TestNodesAreBuried(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	s, other := open(t, dsn, nil), open(t, dsn, nil)
	require.NoError(t, s.Beat(t.Context(), store.Node{ID: "old", URL: "unix:/x", TTL: time.Hour}))
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), rec.ID, store.Claim{Owner: "old", Hold: 1000 * time.Hour})
	require.NoError(t, err)
	require.NoError(t, s.Beat(t.Context(), store.Node{ID: "witness", URL: "unix:/x", TTL: time.Hour}))
	execute(t, dsn, `UPDATE node SET ttl = 1, seen = seen - 2 * 86400 * 1000000000::bigint`)
	require.NoError(t, other.Beat(t.Context(), store.Node{ID: "new", URL: "unix:/y", TTL: time.Hour}))
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	_, err = other.Claim(t.Context(), rec.ID, store.Claim{Owner: "new", Hold: time.Hour})
	require.NoError(t, err)
	require.ErrorIs(t, s.Beat(t.Context(), store.Node{ID: "old", URL: "unix:/x", TTL: time.Hour}), store.ErrLate, "it was buried alive")
}

// A table space of 24 MB is the disk that gets full. That of the log is another one: PostgreSQL
// itself stops when that is full.
func TestAFullDiskIsSaidSoAndRecovers(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	needs.Root(t)
	c := pgtest.Start(t, nil)
	small := filepath.Join(c.Dir(), "small")
	require.NoError(t, os.Mkdir(small, 0o700))
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=24m"); err != nil {
		needs.Lacking(t, "this machine lets nobody mount a file system: "+err.Error())
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(small, syscall.MNT_DETACH)) })
	info, err := os.Stat(c.Dir())
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	require.NoError(t, os.Chown(small, int(owner.Uid), int(owner.Gid)))
	execute(t, c.DSN(""), `CREATE TABLESPACE small LOCATION '`+small+`'`)
	execute(t, c.DSN(""), `CREATE DATABASE small TABLESPACE small`)
	s := open(t, c.DSN("small"), nil)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	var body strings.Builder // nothing that PostgreSQL could compress
	for body.Len() < 300_000 {
		body.WriteString(rand.Text())
	}
	version := int64(0)
	says := func() error {
		v, err := s.Append(t.Context(), rec.ID, store.Append{Version: version, Messages: message.MessagesOf(message.UserText(body.String()))})
		if err == nil {
			version = v
		}
		return err
	}
	for err = nil; err == nil && version < 500; {
		err = says()
	}
	require.ErrorIs(t, err, store.ErrFull)
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Len(t, ms, int(version), "nothing of the write is there")
	require.NoError(t, syscall.Mount("none", small, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
	require.NoError(t, says())
}

// What is written for a conversation while it is deleted is deleted with it, or dropped.
func TestADeletionMeetsLateWrites(t *testing.T) {
	needs.Time(t)
	t.Parallel()
	dsn := migrated.Database(t)
	s := open(t, dsn, nil)
	for range 30 {
		rec, err := s.Conversation(t.Context(), store.Key{Project: "p", Agent: "a"})
		require.NoError(t, err)
		var writing sync.WaitGroup
		var erased atomic.Bool
		for i := range 3 {
			writing.Go(func() {
				for n := 0; !erased.Load() || n < 3; n++ {
					key := fmt.Sprint(i, n)
					switch i {
					case 0:
						_, err := s.Enqueue(t.Context(), store.Job{Job: hook.Job{Kind: "k", Key: rec.ID + key}, Conversation: rec.ID})
						assert.NoError(t, err)
					case 1:
						assert.NoError(t, s.WriteRuns(t.Context(), []store.Run{{ID: key, Conversation: rec.ID, Status: event.RunRunning}}))
					default:
						_, err := s.Child(t.Context(), store.Key{Project: "p", Agent: "c", Sender: key}, rec.ID)
						assert.True(t, err == nil || errors.Is(err, store.ErrUnknown), "%v", err)
					}
				}
			})
		}
		_, err = s.Erase(t.Context(), rec.ID, nil)
		require.NoError(t, err)
		erased.Store(true)
		writing.Wait()
		jobs, err := s.Jobs(t.Context(), store.JobFilter{})
		require.NoError(t, err)
		assert.Empty(t, jobs)
		runs, err := s.Runs(t.Context(), store.RunFilter{})
		require.NoError(t, err)
		assert.Empty(t, runs)
		left := int64(0)
		conn, err := pgx.Connect(t.Context(), dsn)
		require.NoError(t, err)
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM conversation`).Scan(&left))
		require.NoError(t, conn.Close(t.Context()))
		assert.Zero(t, left, "children too")
	}
}

// No text that a client sends as an id is an error of the database.
func TestAnIDThatIsNoTextIsUnknown(t *testing.T) {
	t.Parallel()
	s := open(t, migrated.Database(t), nil)
	for _, id := range []string{"\x00", "\xff", "a\x00b"} {
		_, err := s.Find(t.Context(), id)
		require.ErrorIs(t, err, store.ErrUnknown)
		_, err = s.Messages(t.Context(), id)
		require.ErrorIs(t, err, store.ErrUnknown)
		_, err = s.Claim(t.Context(), id, store.Claim{Owner: "me", Hold: time.Second})
		require.ErrorIs(t, err, store.ErrUnknown)
		_, err = s.Append(t.Context(), id, store.Append{})
		require.ErrorIs(t, err, store.ErrUnknown)
	}
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	odd := store.Entry{Kind: store.EntryResult, CallID: "\x00\xff'", Data: `{"a":"\u0000"}`}
	_, err = s.Note(t.Context(), rec.ID, store.Note{Entries: []store.Entry{odd}, States: []hook.StateValue{{Name: "\x00", Data: `"\u0000"`}}})
	require.NoError(t, err)
	es, err := s.Journal(t.Context(), rec.ID)
	require.NoError(t, err)
	odd.Seq = 1
	assert.Equal(t, []store.Entry{odd}, es)
}

// A column that is in an index makes each update of it write all indexes anew.
func TestNoColumnThatATurnChangesIsInAnIndex(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), migrated.Database(t))
	require.NoError(t, err)
	defer conn.Close(context.Background()) //nolint:errcheck // nothing is lost with it
	rows, err := conn.Query(t.Context(), `SELECT DISTINCT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid
		AND (a.attnum = ANY (i.indkey) OR pg_get_expr(i.indpred, i.indrelid) ~ ('\m' || a.attname || '\M')) WHERE i.indrelid = 'conversation'::regclass ORDER BY 1`)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	assert.Equal(t, []string{"agent", "id", "num", "parent", "project", "sender"}, columns)
}
