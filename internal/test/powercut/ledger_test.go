package powercut_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/powercut"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
)

const dbName = "conversations.db"

// ledger is a store that remembers what was promised: after each write of a
// conversation, what the conversation then is, and when the write was
// acknowledged. What it is comes from a store in memory that does the same. The
// writes of one conversation wait for each other, those of several do not.
type ledger struct {
	store.Store
	r *powercut.Recorder
	// early acknowledges a write before the store has it: the mistake that the
	// cuts have to find.
	early bool
	model *mem.Store

	mu    sync.Mutex
	convs map[string]*account
	marks []promise
}

// account is one conversation.
type account struct {
	mu sync.Mutex
	// id is that in the model.
	id     string
	states []state
}

// state is a conversation after a write.
type state struct {
	version int64
	epoch   int64
	journal []store.Entry
	events  []store.Event
	// dump is messages, archive, turns and key; when it was created is left out.
	dump store.Dump
}

// read is what both stores can.
type read interface {
	store.Store
	store.Log
	store.Porter
}

var (
	_ read = (*mem.Store)(nil)
	_ read = (*sqlite.Store)(nil)
)

func stateOf(ctx context.Context, s read, rec store.Record) (state, error) {
	const all = 1_000_000
	journal, err1 := s.Journal(ctx, rec.ID)
	events, err2 := s.Events(ctx, rec.ID, 0, all)
	dump, err3 := s.Dump(ctx, rec.ID)
	dump.Created = time.Time{}
	dump.Archive, dump.Messages = orNil(dump.Archive), orNil(dump.Messages)
	is := state{rec.Version, rec.Lease.Epoch, orNil(journal), orNil(events), dump}
	return is, errors.Join(err1, err2, err3)
}

// orNil makes an empty slice nil: stores return either.
func orNil[E any](s []E) []E {
	if len(s) == 0 {
		return nil
	}
	return s
}

// promise is what a mark of the trace stands for: the write after which the
// conversation is in that state was acknowledged.
type promise struct {
	id    string
	state int
}

func newLedger(r *powercut.Recorder) *ledger {
	return &ledger{r: r, model: mem.New(&mem.Options{Journal: true}), convs: map[string]*account{}}
}

// Conversation implements store.Reader.
func (l *ledger) Conversation(ctx context.Context, key store.Key) (store.Record, error) {
	rec, err := l.Store.Conversation(ctx, key)
	if err != nil {
		return rec, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.convs[rec.ID] != nil {
		return rec, nil
	}
	is, err := l.model.Conversation(ctx, key)
	if err != nil {
		return rec, err
	}
	return rec, l.beginLocked(ctx, rec.ID, is)
}

// beginLocked enters a conversation that is new, and as it is in the model.
func (l *ledger) beginLocked(ctx context.Context, id string, rec store.Record) error {
	is, err := stateOf(ctx, l.model, rec)
	l.convs[id] = &account{id: rec.ID, states: []state{is}}
	l.promiseLocked(id, 0)
	return err
}

// Fork implements store.Forker.
func (l *ledger) Fork(ctx context.Context, id string, turns int, key store.Key) (store.Record, error) {
	rec, err := l.Store.(store.Forker).Fork(ctx, id, turns, key)
	if err != nil {
		return rec, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	is, err := l.model.Fork(ctx, l.convs[id].id, turns, key)
	if err != nil {
		return rec, err
	}
	return rec, l.beginLocked(ctx, rec.ID, is)
}

// Rewind implements store.Forker.
func (l *ledger) Rewind(ctx context.Context, id string, at store.At, turns int) (v int64, err error) {
	return v, l.write(ctx, id,
		func() (err error) { v, err = l.Store.(store.Forker).Rewind(ctx, id, at, turns); return err },
		func(id string) error { _, err := l.model.Rewind(ctx, id, at, turns); return err })
}

// Compact implements the writing half of store.Compacter.
func (l *ledger) Compact(ctx context.Context, id string, at store.At, n int, summary message.Message) (v int64, err error) {
	return v, l.write(ctx, id,
		func() (err error) { v, err = l.Store.(store.Compacter).Compact(ctx, id, at, n, summary); return err },
		func(id string) error { _, err := l.model.Compact(ctx, id, at, n, summary); return err })
}

func (l *ledger) promiseLocked(id string, n int) {
	l.marks = append(l.marks, promise{id, n})
	l.r.Mark(len(l.marks) - 1)
}

// Claim implements store.Writer.
func (l *ledger) Claim(ctx context.Context, id string, c store.Claim) (rec store.Record, err error) {
	return rec, l.write(ctx, id,
		func() (err error) { rec, err = l.Store.Claim(ctx, id, c); return err },
		func(id string) error { _, err := l.model.Claim(ctx, id, c); return err })
}

// Append implements store.Writer.
func (l *ledger) Append(ctx context.Context, id string, a store.Append) (v int64, err error) {
	return v, l.write(ctx, id,
		func() (err error) { v, err = l.Store.Append(ctx, id, a); return err },
		func(id string) error { _, err := l.model.Append(ctx, id, a); return err })
}

// Note implements store.Writer.
func (l *ledger) Note(ctx context.Context, id string, n store.Note) (first int64, err error) {
	return first, l.write(ctx, id,
		func() (err error) { first, err = l.Store.Note(ctx, id, n); return err },
		func(id string) error { _, err := l.model.Note(ctx, id, n); return err })
}

// write writes to the store and to the model and enters what came of it.
func (l *ledger) write(ctx context.Context, id string, real func() error, model func(id string) error) error {
	l.mu.Lock()
	a := l.convs[id]
	l.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	acknowledge := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.promiseLocked(id, len(a.states))
	}
	if l.early {
		acknowledge()
	}
	if err := errors.Join(real(), model(a.id)); err != nil {
		return err
	}
	if !l.early {
		acknowledge()
	}
	return a.enter(ctx, l.model)
}

// enter enters the state in which the conversation is in the model.
func (a *account) enter(ctx context.Context, model *mem.Store) error {
	rec, err := model.Conversation(ctx, a.states[0].dump.Key)
	if err != nil {
		return err
	}
	is, err := stateOf(ctx, model, rec)
	a.states = append(a.states, is)
	return err
}

// promised returns, for each conversation, the state that was acknowledged last.
func (l *ledger) promised(acknowledged []int) map[string]int {
	out := map[string]int{}
	for _, n := range acknowledged {
		p := l.marks[n]
		out[p.id] = max(out[p.id], p.state)
	}
	return out
}

// examine opens what was left in the directory and compares it with what was
// promised. With use it also writes to it.
func (l *ledger) examine(ctx context.Context, dir string, acknowledged []int, use bool) (f finding) {
	path := filepath.Join(dir, dbName)
	promised := l.promised(acknowledged)
	began := time.Now()
	s, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		f.breaks("open: %w", err)
		f.lost = total(promised)
		return f
	}
	defer func() {
		if err := s.Close(); err != nil {
			f.breaks("close: %w", err)
		}
	}()
	recs, err := s.List(ctx)
	if f.took = time.Since(began); err != nil {
		f.breaks("list: %w", err)
		return f
	}
	for _, rec := range recs {
		l.compare(ctx, s, rec, promised, &f)
		delete(promised, rec.ID)
	}
	f.lost += total(promised)
	if err := integrity(ctx, path); err != nil {
		f.broken = append(f.broken, err)
	}
	if !use {
		return f
	}
	for _, key := range []store.Key{{Agent: "new"}, l.anyKey()} {
		if err := usable(ctx, s, key); err != nil {
			f.breaks("use: %w", err)
		}
	}
	return f
}

// total is the number of writes, the beginning of each conversation included.
func total(promised map[string]int) int {
	n := len(promised)
	for v := range maps.Values(promised) {
		n += v
	}
	return n
}

func (l *ledger) anyKey() store.Key {
	for _, id := range slices.Sorted(maps.Keys(l.convs)) {
		return l.convs[id].states[0].dump.Key
	}
	return store.Key{Agent: "a"}
}

// compare finds the state in which the conversation is.
func (l *ledger) compare(ctx context.Context, s *sqlite.Store, rec store.Record, promised map[string]int, f *finding) {
	a := l.convs[rec.ID]
	if a == nil {
		f.breaks("a conversation %s %v that nobody has begun", rec.ID, rec.Key)
		return
	}
	is, err := stateOf(ctx, s, rec)
	if err != nil {
		f.breaks("read %s: %w", rec.ID, err)
		return
	}
	n := -1
	for i, was := range a.states { // of states that look the same the last one counts
		if was.version == is.version && reflect.DeepEqual(was, is) {
			n = i
		}
	}
	if n < 0 {
		f.breaks("%s is in a state in which it has never been: version %d, epoch %d, %d messages, %d archived, %d journal entries, %d events", rec.ID,
			is.version, is.epoch, len(is.dump.Messages), len(is.dump.Archive), len(is.journal), len(is.events))
	}
	f.lost += max(0, promised[rec.ID]-max(n, 0))
}

func integrity(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_query_only=1")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var says string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&says); err != nil {
		return fmt.Errorf("integrity check: %w", err)
	}
	if says != "ok" {
		return fmt.Errorf("integrity check: %s", says)
	}
	return nil
}

// usable appends to the conversation, reads that back and finds it.
func usable(ctx context.Context, s *sqlite.Store, key store.Key) error {
	rec, err := s.Conversation(ctx, key)
	if err != nil {
		return err
	}
	last := message.UserText("after the power came back")
	if _, err = s.Append(ctx, rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Messages: message.MessagesOf(last)}); err != nil {
		return err
	}
	ms, err := s.Messages(ctx, rec.ID)
	if err == nil && (len(ms) == 0 || !reflect.DeepEqual(ms[len(ms)-1], last)) {
		err = errors.New("what was appended is not there")
	}
	if err != nil {
		return err
	}
	found, err := s.Search(ctx, store.Query{Text: "power", Agent: key.Agent, Sender: key.Sender})
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("what was appended is found %d times", len(found))
	}
	return err
}
