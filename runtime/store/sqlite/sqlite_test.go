package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/sqlitedb"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/sqlite"
	"github.com/grapnel-go/grapnel/runtime/store/storetest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(appenderFile); path != "" {
		appendForever(path, os.Getenv(appenderEarly) != "")
	}
	if path := os.Getenv(holderFile); path != "" {
		hold(path)
	}
	if path := os.Getenv(spenderFile); path != "" {
		spendForever(path)
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	return openWith(t, path, nil)
}

func openWith(t *testing.T, path string, o *sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "grapnel.db") }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, now func() time.Time) storetest.Subject {
		path, o := file(t), &sqlite.Options{Now: now}
		s := openWith(t, path, o)
		return storetest.Subject{Store: s, Reopen: func() store.Store {
			require.NoError(t, s.Close())
			return openWith(t, path, o)
		}}
	})
}

func TestAConversationContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	path := file(t)
	key := store.Key{Agent: "a", Sender: "me"}
	now := time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	first, err := sqlite.Open(t.Context(), path, &sqlite.Options{
		Now: func() time.Time { now = now.Add(time.Second); return now }, NewID: func() string { return "c-1" }})
	require.NoError(t, err)
	rec, err := first.Conversation(t.Context(), key)
	require.NoError(t, err)
	v, err := first.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("one")), TurnEnds: true})
	require.NoError(t, err)
	require.NoError(t, first.Close())

	s := open(t, path)
	got, err := s.Conversation(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, store.Record{ID: "c-1", Key: key, Version: v, Turns: 1,
		Created: rec.Created, Updated: rec.Created.Add(time.Second)}, got)
	_, err = s.Append(t.Context(), "c-1", store.Append{Version: v, Messages: message.MessagesOf(message.UserText("two"), message.UserText("three"))})
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two", "three"}, texts(t, s, "c-1"))
}

func texts(t *testing.T, s *sqlite.Store, id string) []string {
	t.Helper()
	ms, err := s.Messages(t.Context(), id)
	require.NoError(t, err)
	out := make([]string, len(ms))
	for i, m := range ms {
		out[i] = m.Text()
	}
	return out
}

func TestOfTwoHandlesOnOneFileOneWins(t *testing.T) {
	t.Parallel()
	path := file(t)
	a, b := open(t, path), open(t, path)
	rec, err := a.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	other, err := b.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	assert.Equal(t, rec, other)

	const rounds = 20
	for v := range int64(rounds) {
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, s := range []*sqlite.Store{a, b} {
			wg.Go(func() {
				_, errs[i] = s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(message.UserText(fmt.Sprint(v)))})
			})
		}
		wg.Wait()
		if errs[0] == nil {
			errs[0], errs[1] = errs[1], errs[0]
		}
		require.ErrorIs(t, errs[0], store.ErrConflict)
		require.NoError(t, errs[1])
	}
	assert.Len(t, texts(t, a, rec.ID), rounds)
	assert.Equal(t, texts(t, a, rec.ID), texts(t, b, rec.ID))
}

// fill sets every field of v to something that is not zero.
func fill(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch x := v.Addr().Interface().(type) {
	case *message.JSON:
		*x = message.JSON(`{"at":"` + path + `","html":"<&>","n":12345678901234567890,"e":"\u0041"}`)
		return
	case *message.List[message.Block]:
		var b message.Block
		fill(t, reflect.ValueOf(&b).Elem(), path+".block")
		*x = message.ListOf(b, message.TextBlock(path))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			require.True(t, f.IsExported(), "%s.%s cannot be stored", path, f.Name)
			if f.Tag.Get("json") != "-" {
				fill(t, v.Field(i), path+"."+f.Name)
			}
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(path + " \x00\u2028\"\\ 😀")
	default:
		require.Failf(t, "unknown kind", "%s is a %s: teach this test to fill it", path, v.Kind())
	}
}

func TestEveryFieldOfAMessageComesBack(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	var full message.Message
	fill(t, reflect.ValueOf(&full).Elem(), "message")
	call := func(args message.JSON) message.Message {
		return message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.Block{Kind: message.BlockToolCall, CallID: "1", Tool: "t", JSON: args})}
	}
	want := []message.Message{full, {}, {Role: message.RoleTool, CallID: "1"}}
	for _, args := range []message.JSON{
		`{"command":"ls`, `{"a":1,"a":2}`, `{ "a" : 1 }`, `"text"`, `"open`, `null`, `7`, `1e400`, `[1,{}] trailing`, " ", "{\"a\":\"\x01\"}", `"\ud800"`, "plain\n",
	} {
		want = append(want, call(args))
	}
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "A_b-1", Sender: "zoë é"})
	require.NoError(t, err)
	assert.Equal(t, store.Key{Agent: "A_b-1", Sender: "zoë é"}, rec.Key)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(want...)})
	require.NoError(t, err)
	got, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	mended := call("{\"a\":\"\xff\"}")
	mended.Content = mended.Content.Append(message.TextBlock("bad \xff"))
	ephemeral := message.UserText("never stored")
	ephemeral.Ephemeral = true
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: 1, Messages: message.MessagesOf(ephemeral, mended)})
	require.NoError(t, err)
	got, err = s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Len(t, got, len(want)+1)
	assert.Equal(t, message.JSON("{\"a\":\"\ufffd\"}"), got[len(want)].Content.At(0).JSON)
	assert.Equal(t, "bad \ufffd", got[len(want)].Text())
}

func TestFilesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	path := file(t)
	require.NoError(t, os.WriteFile(path, []byte("no database"), 0o600))
	_, err := sqlite.Open(t.Context(), path, nil)
	require.ErrorIs(t, err, sqlitedb.ErrForeign)
	assert.ErrorContains(t, err, "conversation store "+path)
}

func TestAfterCloseNothingWorks(t *testing.T) {
	t.Parallel()
	s := open(t, file(t))
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a"})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	at, ctx := store.At{}, t.Context()
	for name, call := range map[string]func() error{
		"Conversation": func() error { _, err := s.Conversation(ctx, store.Key{Agent: "a"}); return err },
		"Messages":     func() error { _, err := s.Messages(ctx, rec.ID); return err },
		"Journal":      func() error { _, err := s.Journal(ctx, rec.ID); return err },
		"List":         func() error { _, err := s.List(ctx); return err },
		"Claim":        func() error { _, err := s.Claim(ctx, rec.ID, store.Claim{Owner: "me", Hold: 1}); return err },
		"Append":       func() error { _, err := s.Append(ctx, rec.ID, store.Append{}); return err },
		"Note":         func() error { _, err := s.Note(ctx, rec.ID, store.Note{}); return err },
		"Compact":      func() error { _, err := s.Compact(ctx, rec.ID, at, 1, message.UserText("s")); return err },
		"Archive":      func() error { _, err := s.Archive(ctx, rec.ID); return err },
		"Fork":         func() error { _, err := s.Fork(ctx, rec.ID, 0, store.Key{Agent: "b"}); return err },
		"Rewind":       func() error { _, err := s.Rewind(ctx, rec.ID, at, 0); return err },
		"Child":        func() error { _, err := s.Child(ctx, store.Key{Agent: "b"}, rec.ID); return err },
		"Children":     func() error { _, err := s.Children(ctx, rec.ID); return err },
		"Events":       func() error { _, err := s.Events(ctx, rec.ID, 0, 1); return err },
		"Search":       func() error { _, err := s.Search(ctx, store.Query{Text: "x"}); return err },
		"no Search":    func() error { _, err := s.Search(ctx, store.Query{}); return err },
		"Dump":         func() error { _, err := s.Dump(ctx, rec.ID); return err },
		"Restore":      func() error { _, err := s.Restore(ctx, store.Dump{Key: store.Key{Agent: "b"}}); return err },
	} {
		assert.ErrorIs(t, call(), store.ErrClosed, name)
	}
}

// TestAConversationKeepsItsSender, also one under which none begins any more.
func TestAConversationKeepsItsSender(t *testing.T) {
	t.Parallel()
	path := file(t)
	s := open(t, path)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: "me"})
	require.NoError(t, err)
	key := store.Key{Agent: "a", Sender: " "}
	_, err = s.Conversation(t.Context(), key)
	require.ErrorIs(t, err, store.ErrKey)
	change(t, path, current(), `UPDATE conversation SET sender = ?`, key.Sender)
	got, err := s.Conversation(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, rec.ID, got.ID)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("hi")), TurnEnds: true})
	require.NoError(t, err)
}
