package transfer_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/access"
	"github.com/grapnel-go/grapnel/internal/app"
	"github.com/grapnel-go/grapnel/internal/pgdb"
	"github.com/grapnel-go/grapnel/internal/test/databases"
	"github.com/grapnel-go/grapnel/internal/test/pgtest"
	"github.com/grapnel-go/grapnel/internal/transfer"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/postgres"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/subsystems/schedule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// files returns the paths of a state directory of their own.
func files(t *testing.T) app.Paths {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir(), "GRAPNEL_HOME": filepath.Join(t.TempDir(), "state")}
	paths, err := app.FindPaths(t.TempDir(), func(name string) string { return env[name] })
	require.NoError(t, err)
	return paths
}

// database returns the paths with an empty database.
func database(t *testing.T) app.Paths {
	t.Helper()
	paths := files(t)
	paths.Database = databases.DSN(t)
	return paths
}

// open opens the place until the end of the test.
func open(t *testing.T, paths app.Paths, fill bool) *transfer.Place {
	t.Helper()
	p, err := transfer.Open(t.Context(), paths, fill, func(text string) { t.Error(text) })
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// filled returns files with something in each part but the memories, and the id of a conversation.
func filled(t *testing.T) (app.Paths, string) {
	t.Helper()
	paths := files(t)
	s, err := sqlite.Open(t.Context(), paths.Conversations, nil)
	require.NoError(t, err)
	id := talk(t, s, "ann", "the anchor")
	require.NoError(t, s.Close())

	stores, err := app.OpenStores(t.Context(), paths)
	require.NoError(t, err)
	plan, err := stores.Schedules(t.Context(), nil)
	require.NoError(t, err)
	_, err = plan.Add(t.Context(), schedule.Entry{Name: "news", Agent: "helper", Prompt: "What is new?", Cron: "0 7 * * *"})
	require.NoError(t, err)
	require.NoError(t, plan.OnClose(t.Context()))
	_, err = stores.Tokens().Create(access.Token{Name: "phone", Scopes: access.All(), Projects: []string{"/p<q"}})
	require.NoError(t, err)
	require.NoError(t, stores.Answers().Write("/p", "a.json", []byte(`{"project": "/p"}`+"\n")))
	require.NoError(t, stores.Agents("/p").Change(func(all map[string]json.RawMessage) error {
		all["poet"] = json.RawMessage(`{"name": "poet", "prompt": "<b> & more"}`)
		return nil
	}))
	require.NoError(t, os.WriteFile(filepath.Join(paths.State, "deletions.json"), []byte(`{"d": {"a":  1}}`), 0o600))
	return paths, id
}

// talk runs a turn of a conversation and returns its id.
func talk(t *testing.T, s store.Store, sender, text string) string {
	t.Helper()
	rec, err := s.Conversation(t.Context(), store.Key{Project: "/p", Agent: "a", Sender: sender})
	require.NoError(t, err)
	rec, err = s.Claim(t.Context(), rec.ID, store.Claim{Owner: "me", Hold: time.Hour})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: rec.Version, Epoch: rec.Lease.Epoch, Hold: time.Hour, Messages: message.MessagesOf(message.UserText(text)), TurnEnds: true})
	require.NoError(t, err)
	return rec.ID
}

// transferred copies and returns the parts by name.
func transferred(t *testing.T, from, to *transfer.Place) map[string]transfer.Part {
	t.Helper()
	parts := map[string]transfer.Part{}
	require.NoError(t, transfer.Copy(t.Context(), from, to, func(p transfer.Part) { parts[p.Name] = p }))
	return parts
}

func damagedIn(t *testing.T, p *transfer.Place) (out []string) {
	t.Helper()
	sound := transfer.Check(t.Context(), p, func(part transfer.Part) { out = append(out, part.Damaged...) })
	assert.Equal(t, len(out) == 0, sound)
	return out
}

// change runs a statement in the database.
func change(t *testing.T, dsn, sql string) {
	t.Helper()
	require.NoError(t, databases.Open(t, dsn).Exec(t.Context(), sql))
}

func TestEverythingIsCopiedThereAndBack(t *testing.T) {
	t.Parallel()
	source, id := filled(t)
	there, back := database(t), files(t)
	first := transferred(t, open(t, source, false), open(t, there, true))
	require.Len(t, first, 4)
	var kinds []string
	for _, table := range first["documents"].Tables {
		kinds = append(kinds, table.Name)
	}
	assert.Equal(t, []string{"agent", "approval", "deletion", "token"}, kinds)
	assert.EqualValues(t, 1, first["schedules"].Tables[0].Rows)
	assert.Empty(t, first["memories"].Tables, "without a file there are none")
	assert.NoFileExists(t, source.Memories, "the source stays as it is")

	second := transferred(t, open(t, there, false), open(t, back, true))
	assert.Equal(t, first, second)
	for _, paths := range []app.Paths{there, back} {
		assert.Empty(t, damagedIn(t, open(t, paths, false)))
		stores, err := app.OpenStores(t.Context(), paths)
		require.NoError(t, err)
		t.Cleanup(stores.Close)
		tokens, err := stores.Tokens().List()
		require.NoError(t, err)
		require.Len(t, tokens, 1)
		assert.Equal(t, []string{"/p<q"}, tokens[0].Projects)
		answer, err := stores.Answers().Read("/p", "a.json")
		require.NoError(t, err)
		assert.JSONEq(t, `{"project": "/p"}`, string(answer))
		agents, err := stores.Agents("/p").Read()
		require.NoError(t, err)
		assert.JSONEq(t, `{"name": "poet", "prompt": "<b> & more"}`, string(agents["poet"]))
	}
	s, err := sqlite.Open(t.Context(), back.Conversations, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	got, err := s.Messages(t.Context(), id)
	require.NoError(t, err)
	assert.Len(t, got, 1)
}

// TestACopyThatBrokeOffGoesOn: what is there and the same stays.
func TestACopyThatBrokeOffGoesOn(t *testing.T) {
	t.Parallel()
	source, _ := filled(t)
	there := database(t)
	from, to := open(t, source, false), open(t, there, true)
	ctx, cancel := context.WithCancel(t.Context())
	err := transfer.Copy(ctx, from, to, func(p transfer.Part) {
		if p.Name == "documents" {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
	parts := transferred(t, from, to)
	assert.True(t, parts["documents"].Before)
	assert.False(t, parts["conversations"].Before)
	for name, p := range transferred(t, from, to) {
		assert.Equal(t, len(p.Tables) > 0, p.Before, "%s: once more it only compares", name)
	}
}

// TestOneChangedByteIsFound: a copy that is not the same is no copy.
func TestOneChangedByteIsFound(t *testing.T) {
	t.Parallel()
	source, id := filled(t)
	there := database(t)
	from, to := open(t, source, false), open(t, there, true)
	transferred(t, from, to)
	again := func() error { return transfer.Copy(t.Context(), from, to, func(transfer.Part) {}) }

	change(t, there.Database, `UPDATE message SET body = convert_to(replace(convert_from(body, 'UTF8'), 'anchor', 'enchor'), 'UTF8')`)
	err := again()
	require.ErrorIs(t, err, store.ErrNotEmpty)
	assert.ErrorContains(t, err, "the table message: 1 rows here, 1 there")
	assert.Empty(t, damagedIn(t, to), "it is still a message")

	change(t, there.Database, `UPDATE message SET body = set_byte(body, 0, 91)`)
	damaged := damagedIn(t, to)
	require.Len(t, damaged, 1)
	assert.Contains(t, damaged[0], id)

	change(t, there.Database, `DELETE FROM message`)
	damaged = damagedIn(t, to)
	require.Len(t, damaged, 1)
	assert.Contains(t, damaged[0], id+": 0 of 1 messages")

	change(t, there.Database, `UPDATE document SET body = '{"project": "/P"}' WHERE kind = 'approval'`)
	change(t, there.Database, `DELETE FROM message; DELETE FROM conversation`)
	err = again()
	require.ErrorIs(t, err, store.ErrNotEmpty)
	assert.ErrorContains(t, err, `another approval "a.json"`)
	assert.Empty(t, damagedIn(t, to), "and nothing else was copied")
}

func TestACopyNeedsPlacesThatNobodyUses(t *testing.T) {
	t.Parallel()
	source, _ := filled(t)
	there := database(t)
	from, to := open(t, source, false), open(t, there, true)
	again := func() error {
		return transfer.Copy(t.Context(), from, to, func(transfer.Part) { t.Error("a part was copied") })
	}

	s, err := postgres.Open(t.Context(), there.Database, nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, s.Close()) }()
	require.NoError(t, s.Beat(t.Context(), store.Node{ID: "other", TTL: time.Hour}))
	assert.ErrorContains(t, again(), "the database is in use by other")
	change(t, there.Database, `DELETE FROM node`)

	require.NoError(t, os.MkdirAll(filepath.Join(source.State, "owners", "bob"), 0o700))
	assert.ErrorContains(t, again(), "owners/bob")
	require.NoError(t, os.RemoveAll(filepath.Join(source.State, "owners")))

	talk(t, s, "someone", "else")
	err = again()
	require.ErrorIs(t, err, store.ErrNotEmpty)
	assert.ErrorContains(t, err, "nothing was changed")
}

func TestRowsOfOwnersHaveNoFile(t *testing.T) {
	t.Parallel()
	there, back := database(t), files(t)
	s, err := postgres.Open(t.Context(), there.Database, nil)
	require.NoError(t, err)
	_, err = s.Conversation(t.Context(), store.Key{Project: "bob:/p", Agent: "a"})
	require.NoError(t, errors.Join(err, s.Close()))
	err = transfer.Copy(t.Context(), open(t, there, false), open(t, back, true), func(transfer.Part) {})
	assert.ErrorContains(t, err, `conversation of "bob:/p"`)
	for table, columns := range map[string]string{
		"job":      `(project, kind, key, payload, version, contract, conversation, turn, status, attempts, due, owner, epoch, failure, created, updated) VALUES ('bob:/p', 'k', 'k', '{}', 1, 1, '', '', 'queued', 0, 0, '', 0, '', 0, 0)`,
		"hook_run": `(project, id, conversation, subsystem, status, body) VALUES ('bob:/p', 'i', '', 's', 'ok', '{}')`,
		"spent":    `(day, project, agent, model, token, calls, unpriced, estimated, input, output, cache_read, cache_write, reasoning, cost) VALUES ('2026-11-28', 'bob:/p', 'a', 'm', 't', 1, 0, 0, 1, 1, 0, 0, 0, 5)`,
		"reserved": `(day, project, agent, model, token, unpriced, input, least, most, until) VALUES ('2026-11-28', 'bob:/p', 'a', 'm', 't', 0, 1, 1, 1, 1)`,
	} {
		there, back := database(t), files(t)
		s, err := postgres.Open(t.Context(), there.Database, nil)
		require.NoError(t, errors.Join(err, s.Close()))
		change(t, there.Database, "INSERT INTO "+table+" "+columns)
		err = transfer.Copy(t.Context(), open(t, there, false), open(t, back, true), func(transfer.Part) {})
		assert.ErrorContains(t, err, table+` of "bob:/p"`)
	}
}

// TestANameInADatabaseIsNoPath: whoever can write to a database writes no files of who copies it.
func TestANameInADatabaseIsNoPath(t *testing.T) {
	t.Parallel()
	there, back := database(t), files(t)
	s, err := postgres.Open(t.Context(), there.Database, nil)
	require.NoError(t, errors.Join(err, s.Close()))
	victim := filepath.Join(t.TempDir(), "victim.json")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	name, err := filepath.Rel(back.Approvals(), victim)
	require.NoError(t, err)
	change(t, there.Database, "INSERT INTO document (kind, project, name, body) VALUES ('approval', '/p', '"+name+"', '{}')")
	err = transfer.Copy(t.Context(), open(t, there, false), open(t, back, true), func(transfer.Part) {})
	assert.ErrorContains(t, err, "is no name of a remembered answer")
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(text))
}

func TestMigrateMakesTheTablesOnce(t *testing.T) {
	t.Parallel()
	paths, known := files(t), pgdb.Version()
	paths.Database = pgtest.Database(t)
	_, err := transfer.Open(t.Context(), paths, false, nil)
	require.ErrorContains(t, err, "grapnel store migrate")
	for _, step := range []struct {
		dry           bool
		before, after int
	}{{true, 0, known}, {true, 0, known}, {false, 0, known}, {false, known, known}} {
		v, err := transfer.Migrate(t.Context(), paths.Database, step.dry)
		require.NoError(t, err)
		assert.Equal(t, transfer.Versions{Before: step.before, After: step.after, Known: known}, v)
	}
	assert.Empty(t, damagedIn(t, open(t, paths, false)))
}
