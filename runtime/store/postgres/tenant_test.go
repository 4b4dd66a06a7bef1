package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
)

const alice, bob, carol = "alice:/srv/harbour", "bob:/srv/harbour", "carol:/srv/harbour"

// probe runs statements again, as others would, and takes back what they did.
type probe struct {
	t   *testing.T
	raw *pgdb.DB
}

var errTakeBack = errors.New("taken back")

// touches returns how many rows a completed statement reads or changes. A row of zeros and nulls is none: sums have one. A row that it
// waits for, because the statement that is being watched has locked it, is one.
func (p probe) touches(sql string, args []any) (n int, err error) {
	failed := p.raw.Write(p.t.Context(), func(tx pgdb.Tx) error {
		n, err = 0, nil
		if _, err = tx.Exec(p.t.Context(), `SET LOCAL lock_timeout = '100ms'`); err != nil {
			return errTakeBack
		}
		var rows pgdb.Rows
		if rows, err = tx.Query(p.t.Context(), sql, args...); err != nil {
			return errTakeBack
		}
		defer rows.Close()
		for rows.Next() {
			values, scanned := rows.Values()
			if err = scanned; err != nil {
				return errTakeBack
			}
			if len(values) == 0 || slices.ContainsFunc(values, something) {
				n++
			}
		}
		if err = rows.Err(); err == nil && !rows.CommandTag().Select() {
			n = max(n, int(rows.CommandTag().RowsAffected()))
		}
		return errTakeBack
	})
	require.ErrorIs(p.t, failed, errTakeBack)
	if err != nil && (strings.Contains(err.Error(), "55P03") || strings.Contains(err.Error(), "23505")) {
		return 1, nil // it waits for a row, or would make one that is there
	}
	return n, err
}

func something(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case int64:
		return v != 0
	case int32:
		return v != 0
	case float64:
		return v != 1 // the average length of no messages
	case bool:
		return v
	}
	return true
}

// TestEveryStatementKnowsItsTenant runs every statement of the store with the name of another tenant, at the moment when it finds what it
// is for: it reads and changes nothing. Without the condition it does, so that nothing is there by chance.
func TestEveryStatementKnowsItsTenant(t *testing.T) {
	t.Parallel()
	dsn := migrated.Database(t)
	var later atomic.Int64 // by how much the clock is put forward
	s := open(t, dsn, &postgres.Options{Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	raw, err := pgdb.Open(t.Context(), dsn, nil)
	require.NoError(t, err)
	defer raw.Close()
	p := probe{t, raw}
	all, others := postgres.Sent(s), postgres.Sent(s.Tenant(carol))

	var mu sync.Mutex
	found := map[string]bool{} // by statement: it has touched a row of alice's
	watched := postgres.Watched(s.Tenant(alice), func(sql string, args []any) {
		if strings.HasSuffix(sql, postgres.AnyTenant) {
			return
		}
		theirs, theirArgs, err := others(sql, args)
		if !assert.NoError(t, err) {
			return
		}
		n, err := p.touches(theirs, theirArgs)
		assert.NoError(t, err, theirs)
		assert.Zero(t, n, "carol, who has nothing, finds something by\n%s", sql)
		without, same, err := all(sql, args)
		assert.NoError(t, err)
		n, err = p.touches(without, same)
		assert.NoError(t, err, without)
		mu.Lock()
		defer mu.Unlock()
		found[sql] = found[sql] || n > 0
	})
	everything(t, s.Tenant(bob), bob)
	everything(t, watched, alice)
	later.Store(int64(48 * time.Hour))
	spendingOf(t, watched, alice) // what was reserved two days ago is added up

	hidden := map[string]string{
		"OFFSET $2":                       "needs more runs than a project may have",
		"ts_delete":                       "gives words to another project: a tenant has no other one, and moves within it",
		"UNION ALL\n\t\tSELECT CASE WHEN": "reads what its own transaction has just written, which nobody else sees",
	}
	for sql, was := range found {
		if slices.ContainsFunc(keys(hidden), func(part string) bool { return strings.Contains(sql, part) }) {
			continue
		}
		assert.True(t, was, "this statement found nothing, so that the other one proves nothing:\n%s", sql)
	}
	t.Log(len(found), "statements")
	for _, literal := range conditions(t) {
		literal, _, _ = strings.Cut(literal, "%")
		assert.True(t, slices.ContainsFunc(keys(found), func(sql string) bool { return strings.Contains(sql, literal) }), "no call of this test runs\n%s", literal)
	}
}

func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// TestAStatementWithoutATenantIsRefused is the twin that has to fail: a statement as somebody would write it who does not know of tenants.
func TestAStatementWithoutATenantIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, migrated.Database(t), nil)
	_, _, err := postgres.Sent(s.Tenant(alice))(`SELECT id FROM conversation WHERE id = $1`, []any{"x"})
	require.ErrorIs(t, err, postgres.ErrNoTenant)
	sql, args, err := postgres.Sent(s.Tenant(alice))(`SELECT id FROM conversation WHERE id = $1 AND {project}`, []any{"x"})
	require.NoError(t, err)
	assert.Equal(t, `SELECT id FROM conversation WHERE id = $1 AND project = $2::bytea`, sql)
	assert.Equal(t, []any{"x", []byte(alice)}, args)
	sql, args, err = postgres.Sent(s)(`SELECT id FROM conversation WHERE id = $1 AND {project}`, []any{"x"})
	require.NoError(t, err)
	assert.Equal(t, `SELECT id FROM conversation WHERE id = $1 AND true`, sql)
	assert.Equal(t, []any{"x"}, args)

	assert.Equal(t, []string{"SELECT id FROM conversation WHERE id = $1"}, nameless(t, "package p\nfunc f() { g(`SELECT id FROM conversation WHERE id = $1`) }"))
	assert.Empty(t, nameless(t, "package p\nconst a = `SELECT id ` + columns + ` FROM conversation WHERE {project}`"))
}

// TestEveryStatementNamesItsTenant reads the sources: also what no test runs says whose rows it touches.
func TestEveryStatementNamesItsTenant(t *testing.T) {
	t.Parallel()
	excused := map[string]string{
		" ORDER BY j.num DESC LIMIT $6":            "the condition of a filter of jobs, which ofFilter adds",
		"SELECT count(*)":                          "the same",
		"FROM spent":                               "the condition of a filter of spending, which selected adds",
		"CROSS JOIN reserved":                      "the same",
		"reserved WHERE until <=":                  "the same",
		"SELECT WHERE EXISTS (SELECT FROM locked)": "asks whether the conversation of a job is there for anybody, and says no more",
		"WITH ": "a statement of parts, of which the first has it",
	}
	used := map[string]bool{}
	for _, sql := range nameless(t, "") {
		i := slices.IndexFunc(keys(excused), func(part string) bool { return strings.Contains(sql, part) })
		if i < 0 {
			assert.Fail(t, "a statement without a tenant", sql)
			continue
		}
		used[keys(excused)[i]] = true
	}
	assert.NotEmpty(t, used)
}

var verb = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH|VACUUM)\b`)

// nameless returns the statements in the sources, or in one text, that do not say whose rows they touch. Parts of a statement that take
// everything from its head follow it.
func nameless(t *testing.T, source string) (out []string) {
	t.Helper()
	for _, text := range statements(t, source) {
		if verb.MatchString(text) && !strings.Contains(text, "{") && !strings.Contains(text, "anyTenant") &&
			!strings.Contains(text, "FROM head") && !strings.Contains(text, "USING head") {
			out = append(out, text)
		}
	}
	return out
}

// conditions returns the literals of the sources that have a condition of a tenant.
func conditions(t *testing.T) (out []string) {
	t.Helper()
	each(t, "", func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && regexp.MustCompile(`AND \{|WHERE \{`).MatchString(text) {
				out = append(out, text)
			}
		}
		return true
	})
	return out
}

// statements returns the texts of the sources, those that are joined as one, with the names of what else is joined.
func statements(t *testing.T, source string) (out []string) {
	t.Helper()
	named := map[string]ast.Expr{}
	each(t, source, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
			for i, name := range v.Names {
				named[name.Name] = v.Values[i]
			}
		}
		return true
	})
	each(t, source, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			out = append(out, joined(n, named))
			return false
		case *ast.BasicLit:
			out = append(out, joined(n, named))
		}
		return true
	})
	return out
}

// joined returns the text of an expression, with that of its constants.
func joined(e ast.Expr, named map[string]ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return joined(e.X, named) + joined(e.Y, named)
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil {
			return ""
		}
		return text
	case *ast.Ident:
		if e.Name == "anyTenant" {
			return " anyTenant"
		}
		if of, known := named[e.Name]; known {
			return joined(of, named)
		}
	}
	return ""
}

func each(t *testing.T, source string, see func(n ast.Node) bool) {
	t.Helper()
	if source != "" {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
		require.NoError(t, err)
		ast.Inspect(f, see)
		return
	}
	for _, pattern := range []string{"*.go", "internal/statement/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || file == "copy.go" { // a whole store, which a tenant is refused
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
					continue
				}
				ast.Inspect(d, see)
			}
		}
	}
}

// everything calls everything that a store can do, so that each statement has something to find.
func everything(t *testing.T, s *postgres.Store, project string) {
	t.Helper()
	ctx := t.Context()
	key := func(sender string) store.Key { return store.Key{Project: project, Agent: "helper", Sender: sender} }
	said := func(texts ...string) message.Messages {
		var out []message.Message
		for _, text := range texts {
			out = append(out, message.UserText(text))
		}
		return message.MessagesOf(out...)
	}
	event := func(seq uint64) []store.Event { return []store.Event{{Seq: seq, Data: `{"kind":"x"}`}} }
	states := []hook.StateValue{{Name: "n", Data: `{"a":1}`}}
	job := func(k, conversation string) store.Job {
		return store.Job{Job: hook.Job{Kind: "work", Key: k, Payload: `{}`}, Project: project, Conversation: conversation, Turn: "t"}
	}
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}

	rec, err := s.Conversation(ctx, key("ann"))
	must(err)
	_, err = s.Conversation(ctx, key("ann"))
	must(err)
	id := rec.ID
	child, err := s.Child(ctx, key("child"), id)
	must(err)
	_, err = s.Children(ctx, id)
	must(err)
	claimed, err := s.Claim(ctx, id, store.Claim{Owner: "me", Hold: time.Hour})
	must(err)
	_, err = s.Claim(ctx, id, store.Claim{Owner: "you", Hold: time.Hour})
	require.ErrorIs(t, err, store.ErrLeased)
	epoch := claimed.Lease.Epoch
	first, err := s.Note(ctx, id, store.Note{Epoch: epoch, Hold: time.Hour, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}, {Kind: store.EntryStart, CallID: "c"}},
		Events: event(1), States: states, Jobs: []store.Job{job("noted", id)}})
	must(err)
	_, err = s.Journal(ctx, id)
	must(err)
	version, err := s.Append(ctx, id, store.Append{Epoch: epoch, Hold: time.Hour, Messages: said("harbour one", "harbour two"), Forget: []int64{first + 1}, Events: event(2)})
	must(err)
	version, err = s.Append(ctx, id, store.Append{Version: version, Epoch: epoch, Hold: time.Hour})
	must(err)
	_, err = s.Append(ctx, id, store.Append{Version: version + 9, Epoch: epoch})
	require.ErrorIs(t, err, store.ErrConflict)
	version, err = s.Append(ctx, id, store.Append{Version: version, Epoch: epoch, Hold: time.Hour, Messages: said("harbour three"), Entries: []store.Entry{{Kind: store.EntryReply}}, TurnEnds: true})
	must(err)
	version, err = s.Append(ctx, id, store.Append{Version: version, Epoch: epoch, Hold: time.Hour, Messages: said("harbour four"), TurnEnds: true})
	must(err)
	for _, read := range []func() error{
		func() error { _, err := s.Find(ctx, id); return err },
		func() error { _, err := s.List(ctx); return err },
		func() error { _, err := s.Titles(ctx, []string{id}); return err },
		func() error { _, err := s.Messages(ctx, id); return err },
		func() error { _, err := s.States(ctx, id); return err },
		func() error { _, err := s.Events(ctx, id, 0, 10); return err },
		func() error { _, err := s.Weigh(ctx, id); return err },
	} {
		must(read())
	}
	fork, err := s.Fork(ctx, id, 1, key("fork"))
	must(err)
	version, err = s.Compact(ctx, id, store.At{Version: version, Epoch: epoch, Hold: time.Hour, Events: event(3)}, 2, message.UserText("harbour in short"))
	must(err)
	version, err = s.Compact(ctx, id, store.At{Version: version, Epoch: epoch, Hold: time.Hour}, 2, message.UserText("harbour in shorter words"))
	must(err)
	_, err = s.Archive(ctx, id)
	must(err)
	_, err = s.Fork(ctx, id, 2, key("fork of a summary"))
	must(err)
	for _, q := range []store.Query{{Text: "harbour", Project: project, Before: 1, After: 1, Limit: 20}, {Text: "harbour", Project: project, AllProjects: true}} {
		found, err := s.Search(ctx, q)
		must(err)
		require.NotEmpty(t, found)
		for _, m := range found {
			require.Equal(t, project, m.Record.Key.Project)
		}
	}
	dump, err := s.Dump(ctx, id)
	must(err)
	dump.Key = key("restored")
	restored, err := s.Restore(ctx, dump)
	must(err)
	_, err = s.Note(ctx, fork.ID, store.Note{Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}})
	must(err)
	_, err = s.Unfinished(ctx)
	must(err)
	_, err = s.Append(ctx, fork.ID, store.Append{Version: 1, Messages: said("harbour five"), TurnEnds: false})
	must(err)
	_, err = s.Rewind(ctx, fork.ID, store.At{Version: 2}, 0)
	must(err)
	_, err = s.Child(ctx, key("child of a fork"), fork.ID)
	must(err)
	_, err = s.Adopt(ctx, fork.ID, store.Claim{Owner: "me", Hold: time.Hour}, key("adopted"))
	must(err)
	jobsOf(t, s, project, id, job)
	runsOf(t, s, project, id)
	spendingOf(t, s, project)

	_, err = s.Append(ctx, id, store.Append{Version: version, Epoch: epoch, Entries: []store.Entry{{Kind: store.EntryTurn, Data: `{}`}}}) // frees the lease
	must(err)
	_, err = s.Erase(ctx, fork.ID, nil)
	must(err)
	_, err = s.Enqueue(ctx, job("running", id))
	must(err)
	taken, err := s.TakeJob(ctx, store.JobTake{Owner: "me", Project: project, Kinds: []string{"work"}, Hold: time.Hour})
	must(err)
	_, err = s.Erase(ctx, id, nil)
	require.ErrorIs(t, err, store.ErrLeased)
	must(s.EndJob(ctx, taken.ID, taken.Epoch, store.JobEnd{Status: store.JobFailed, Failure: "x"}))
	_, err = s.Erase(ctx, id, nil)
	must(err)
	_, err = s.Find(ctx, child.ID)
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = s.Enqueue(ctx, job("alone", ""))
	must(err)
	alone, err := s.TakeJob(ctx, store.JobTake{Owner: "me", Project: project, Kinds: []string{"work"}, Hold: time.Hour})
	must(err)
	_, err = s.EraseProject(ctx, project, nil)
	require.ErrorIs(t, err, store.ErrLeased)
	must(s.EndJob(ctx, alone.ID, alone.Epoch, store.JobEnd{Status: store.JobFailed, Failure: "x"}))
	must(s.WriteRuns(ctx, []store.Run{{ID: "alone", Project: project, Status: "running"}}))
	_, err = s.EraseProject(ctx, project, nil)
	must(err)
	freed, err := s.Shrink(ctx)
	must(err)
	require.Zero(t, freed)
	_, err = s.Find(ctx, restored.ID)
	must(err)
}

func jobsOf(t *testing.T, s *postgres.Store, project, id string, job func(key, conversation string) store.Job) {
	t.Helper()
	ctx := t.Context()
	take := store.JobTake{Owner: "me", Project: project, Kinds: []string{"work"}, Hold: time.Hour}
	j, err := s.TakeJob(ctx, take) // that of the note
	require.NoError(t, err)
	require.NoError(t, s.HoldJob(ctx, j.ID, j.Epoch, time.Hour))
	require.ErrorIs(t, s.HoldJob(ctx, j.ID, j.Epoch+1, time.Hour), store.ErrFenced)
	_, err = s.TakeJob(ctx, take)
	require.ErrorIs(t, err, store.ErrNoJob)
	all := store.JobFilter{Project: project, Statuses: []store.JobStatus{store.JobRunning}}
	_, err = s.Jobs(ctx, all)
	require.NoError(t, err)
	_, err = s.CountJobs(ctx, all)
	require.NoError(t, err)
	_, err = s.ChangeJob(ctx, project, j.ID, store.JobCancel)
	require.NoError(t, err)
	_, err = s.ChangeJob(ctx, project, j.ID, store.JobCancel)
	require.Error(t, err)
	_, err = s.ChangeJob(ctx, project, j.ID, store.JobRetry)
	require.NoError(t, err)
	j, err = s.TakeJob(ctx, take)
	require.NoError(t, err)
	require.NoError(t, s.EndJob(ctx, j.ID, j.Epoch, store.JobEnd{Status: store.JobFailed, Failure: "x"}))
	_, err = s.ChangeJob(ctx, project, j.ID, store.JobDrop)
	require.NoError(t, err)
	queued, err := s.Enqueue(ctx, job("queued", id))
	require.NoError(t, err)
	require.True(t, queued)
	j, err = s.TakeJob(ctx, take)
	require.NoError(t, err)
	for range 2 { // the second time as if the answer had been lost
		require.NoError(t, s.EndJob(ctx, j.ID, j.Epoch, store.JobEnd{Status: store.JobSucceeded}))
	}
}

func runsOf(t *testing.T, s *postgres.Store, project, id string) {
	t.Helper()
	runs := []store.Run{{ID: "1", Project: project, Conversation: id, Subsystem: "A", Status: "running"}}
	require.NoError(t, s.WriteRuns(t.Context(), runs))
	require.NoError(t, s.WriteRuns(t.Context(), runs))
	_, err := s.Runs(t.Context(), store.RunFilter{Project: project})
	require.NoError(t, err)
}

func spendingOf(t *testing.T, s *postgres.Store, project string) {
	t.Helper()
	ctx := t.Context()
	day, token := "2026-11-25", "phone"
	spent := store.Spent{SpentKey: store.SpentKey{Day: day, Project: project, Agent: "helper", Model: "m", Token: token}, Calls: 1, Cost: hook.Dollar}
	limits := []store.SpendingLimit{
		{SpendingFilter: store.SpendingFilter{Since: day}, Max: 100 * hook.Dollar},
		{SpendingFilter: store.SpendingFilter{Since: day, Project: &project, Token: &token}, Max: 100 * hook.Dollar},
	}
	reservation := store.Reservation{Least: spent, Most: 2 * hook.Dollar, Hold: time.Hour}
	left, err := s.Reserve(ctx, reservation, nil)
	require.NoError(t, err)
	require.NoError(t, s.Settle(ctx, left, spent))
	_, err = s.Reserve(ctx, reservation, limits)
	require.NoError(t, err)
	_, err = s.Reserve(ctx, reservation, limits)
	require.NoError(t, err)
	rows, err := s.Spent(ctx, store.SpendingFilter{Since: day})
	require.NoError(t, err)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.Equal(t, project, row.Project)
	}
}

// TestAnotherTenant: the ids of one lead another nowhere, and what one may write is its own.
func TestAnotherTenant(t *testing.T) {
	t.Parallel()
	s := open(t, migrated.Database(t), nil)
	a, b, ctx := s.Tenant(alice), s.Tenant(bob), t.Context()
	key := store.Key{Project: alice, Agent: "helper", Sender: "ann"}
	rec, err := a.Conversation(ctx, key)
	require.NoError(t, err)
	_, err = a.Append(ctx, rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("canary")), TurnEnds: true})
	require.NoError(t, err)
	_, err = a.Enqueue(ctx, store.Job{Job: hook.Job{Kind: "work", Key: "k"}, Project: alice, Conversation: rec.ID})
	require.NoError(t, err)
	job, err := a.TakeJob(ctx, store.JobTake{Owner: "me", Project: alice, Kinds: []string{"work"}, Hold: time.Hour})
	require.NoError(t, err)
	id := rec.ID
	for name, try := range map[string]func(context.Context) error{
		"find":     func(ctx context.Context) error { _, err := b.Find(ctx, id); return err },
		"messages": func(ctx context.Context) error { _, err := b.Messages(ctx, id); return err },
		"archive":  func(ctx context.Context) error { _, err := b.Archive(ctx, id); return err },
		"journal":  func(ctx context.Context) error { _, err := b.Journal(ctx, id); return err },
		"events":   func(ctx context.Context) error { _, err := b.Events(ctx, id, 0, 9); return err },
		"states":   func(ctx context.Context) error { _, err := b.States(ctx, id); return err },
		"dump":     func(ctx context.Context) error { _, err := b.Dump(ctx, id); return err },
		"claim": func(ctx context.Context) error {
			_, err := b.Claim(ctx, id, store.Claim{Owner: "x", Hold: 1})
			return err
		},
		"append": func(ctx context.Context) error { _, err := b.Append(ctx, id, store.Append{Version: 1}); return err },
		"note":   func(ctx context.Context) error { _, err := b.Note(ctx, id, store.Note{}); return err },
		"compact": func(ctx context.Context) error {
			_, err := b.Compact(ctx, id, store.At{Version: 1}, 1, message.UserText("x"))
			return err
		},
		"rewind": func(ctx context.Context) error { _, err := b.Rewind(ctx, id, store.At{Version: 1}, 0); return err },
		"fork": func(ctx context.Context) error {
			_, err := b.Fork(ctx, id, 1, store.Key{Project: bob, Agent: "helper", Sender: "x"})
			return err
		},
		"adopt": func(ctx context.Context) error {
			_, err := b.Adopt(ctx, id, store.Claim{Owner: "x", Hold: 1}, store.Key{Project: bob, Agent: "helper", Sender: "x"})
			return err
		},
		"child": func(ctx context.Context) error {
			_, err := b.Child(ctx, store.Key{Project: bob, Agent: "helper", Sender: "c"}, id)
			return err
		},
		"children": func(ctx context.Context) error { _, err := b.Children(ctx, id); return err },
		"weigh":    func(ctx context.Context) error { _, err := b.Weigh(ctx, id); return err },
		"erase":    func(ctx context.Context) error { _, err := b.Erase(ctx, id, []string{"me"}); return err },
		"hold":     func(ctx context.Context) error { return b.HoldJob(ctx, job.ID, job.Epoch, time.Hour) },
		"end": func(ctx context.Context) error {
			return b.EndJob(ctx, job.ID, job.Epoch, store.JobEnd{Status: store.JobSucceeded})
		},
		"cancel": func(ctx context.Context) error {
			_, err := b.ChangeJob(ctx, alice, job.ID, store.JobCancel)
			return err
		},
	} {
		assert.ErrorIs(t, try(ctx), store.ErrUnknown, name)
	}
	for name, n := range map[string]func() (int, error){
		"list":   func() (int, error) { all, err := b.List(ctx); return len(all), err },
		"titles": func() (int, error) { all, err := b.Titles(ctx, []string{id}); return len(all), err },
		"search": func() (int, error) {
			all, err := b.Search(ctx, store.Query{Text: "canary", Project: alice, AllProjects: true})
			return len(all), err
		},
		"of": func() (int, error) {
			all, err := b.Search(ctx, store.Query{Text: "canary", Project: alice})
			return len(all), err
		},
		"jobs":  func() (int, error) { all, err := b.Jobs(ctx, store.JobFilter{Project: alice}); return len(all), err },
		"runs":  func() (int, error) { all, err := b.Runs(ctx, store.RunFilter{Project: alice}); return len(all), err },
		"spent": func() (int, error) { all, err := b.Spent(ctx, store.SpendingFilter{}); return len(all), err },
		"open":  func() (int, error) { all, err := b.Unfinished(ctx); return len(all), err },
	} {
		got, err := n()
		require.NoError(t, err, name)
		assert.Zero(t, got, name)
	}
	_, err = b.Conversation(ctx, store.Key{Project: alice, Agent: "helper", Sender: "bob"})
	require.Error(t, err, "nobody begins a conversation in another tenant")
	queued, err := b.Enqueue(ctx, store.Job{Job: hook.Job{Kind: "work", Key: "bobs"}, Project: alice})
	require.NoError(t, err)
	assert.False(t, queued, "nor a job")
	_, err = b.TakeJob(ctx, store.JobTake{Owner: "me", Project: alice, Kinds: []string{"work"}, Hold: time.Hour, Gone: []string{"me"}})
	require.ErrorIs(t, err, store.ErrNoJob)

	require.ErrorIs(t, b.Rows(ctx, func(store.Row) error { return nil }), postgres.ErrNoTenant, "nobody copies the whole store")

	after, err := a.Find(ctx, id)
	require.NoError(t, err)
	assert.Equal(t, int64(1), after.Version)
	assert.Zero(t, after.Lease.Epoch)
	all, err := s.List(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1, fmt.Sprint(all))
	require.NoError(t, b.Close())
	_, err = a.Find(ctx, id)
	require.NoError(t, err, "a tenant that is closed takes no other with it")
}
