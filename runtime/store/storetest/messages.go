package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
)

func messageRules() []rule {
	return []rule{
		{"the same key gives the same conversation", sameKey},
		{"different keys give different conversations", differentKeys},
		{"a conversation begins under no name that cannot be read", names},
		{"a new conversation is empty at version 0", newIsEmpty},
		{"messages come back as they were appended", roundTrip},
		{"ephemeral messages are left out", ephemeral},
		{"a reply that was cut off stays one", partial},
		{"every append raises the version", versions},
		{"an append at an old version writes nothing", conflict},
		{"an unknown conversation is an error", unknown},
		{"turns are counted when they end", turns},
		{"the caller owns what Messages returns", ownership},
		{"list is ordered by agent, then sender", list},
		{"find has the beginning of the first message as title", titles},
		{"many titles are found at once, as find has them", manyTitles},
		{"a conversation is found by its id", finds},
		{"of concurrent appends at one version one wins", race},
		{"concurrent first uses of a key give one conversation", firstUse},
	}
}

func sameKey(t *testing.T, s *bench) {
	first := create(t, s, "a", "x")
	_, err := s.Append(t.Context(), first.ID, store.Append{Version: first.Version, Messages: message.MessagesOf(message.UserText("hi"))})
	require.NoError(t, err)
	again := create(t, s, "a", "x")
	assert.Equal(t, first.ID, again.ID)
	assert.Equal(t, store.Key{Agent: "a", Sender: "x"}, again.Key)
	assert.Equal(t, int64(1), again.Version)
	assert.True(t, first.Created.Equal(again.Created))
	assert.False(t, again.Updated.Before(again.Created))
}

func differentKeys(t *testing.T, s *bench) {
	ids := map[string]bool{}
	for _, k := range []store.Key{{Agent: "a"}, {Agent: "a", Sender: "x"}, {Agent: "A"}, {Agent: "ax"}, {Agent: "b", Sender: "a"}, {Agent: "b", Sender: "x"}} {
		ids[create(t, s, k.Agent, k.Sender).ID] = true
	}
	assert.Len(t, ids, 6)
}

// names: a new conversation has no name with invisible characters. Existing ones stay.
func names(t *testing.T, s *bench) {
	one := create(t, s, "a", "")
	begins := map[string]func(key store.Key) error{
		"Conversation": func(key store.Key) error { _, err := s.Conversation(t.Context(), key); return err },
	}
	if c, ok := s.Store.(store.Child); ok {
		begins["Child"] = func(key store.Key) error { _, err := c.Child(t.Context(), key, one.ID); return err }
	}
	if f, ok := s.Store.(store.Forker); ok {
		begins["Fork"] = func(key store.Key) error { _, err := f.Fork(t.Context(), one.ID, 0, key); return err }
	}
	if p, ok := s.Store.(store.Porter); ok {
		begins["Restore"] = func(key store.Key) error {
			_, err := p.Restore(t.Context(), store.Dump{Key: key, Created: s.clock.Now()})
			return err
		}
	}
	if a, ok := s.Store.(store.Adopter); ok {
		begins["Adopt"] = func(key store.Key) error {
			_, err := a.Adopt(t.Context(), one.ID, store.Claim{Owner: "me", Hold: time.Minute}, key)
			return err
		}
	}
	for name, begin := range begins {
		for _, key := range []store.Key{
			{Agent: ""}, {Agent: "../x"}, {Agent: "a/b"}, {Agent: `a\b`}, {Agent: ".."}, {Agent: "a b"}, {Agent: strings.Repeat("a", 65)}, {Agent: "a\x00"},
			{Agent: "a", Sender: "\x00"}, {Agent: "a", Sender: "a\nb"}, {Agent: "a", Sender: "a\tb"}, {Agent: "a", Sender: "a\x1b[2J"}, {Agent: "a", Sender: "\xff"},
			{Agent: "a", Sender: "a\u202eb"}, {Agent: "a", Sender: "a\u200bb"}, {Agent: "a", Sender: "a\u3164"}, {Agent: "a", Sender: "\u2028"},
			{Agent: "a", Sender: " "}, {Agent: "a", Sender: "   "}, {Agent: "a", Sender: " me"}, {Agent: "a", Sender: "me "}, {Agent: "a", Sender: "\u00a0"},
			{Agent: "a", Sender: "e" + strings.Repeat("\u0301", 9)}, {Agent: "a", Sender: strings.Repeat("a", store.MaxSender+1)},
		} {
			require.ErrorIs(t, begin(key), store.ErrKey, "%s %q", name, key)
		}
	}
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 1)
	for _, sender := range []string{"me", "Zoë Ünal", "田中", "me@example.com", "run-01K", "a/1/2", "e\u0301", strings.Repeat("a", store.MaxSender)} {
		create(t, s, "a", sender)
	}
}

func newIsEmpty(t *testing.T, s *bench) {
	rec := create(t, s, "a", "")
	assert.NotEmpty(t, rec.ID)
	assert.Zero(t, rec.Version)
	assert.Zero(t, rec.Turns)
	assert.False(t, rec.Created.IsZero())
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Empty(t, ms)
}

// Everything a message can hold, with text that breaks careless encodings.
func everything() []message.Message {
	hostile := "a\x00b \"quoted\" \\ \u2028 😀 ' -- ;\nnew line"
	return []message.Message{
		{Role: message.RoleUser, Label: "skill", Content: message.ListOf(
			message.TextBlock(hostile),
			message.Block{Kind: message.BlockImage, MIME: "image/png", Data: "aGk="},
			message.Block{Kind: message.BlockResource, URI: "file:///x", MIME: "text/plain", Text: "x"},
		)},
		{Role: message.RoleAssistant, Content: message.ListOf(
			message.Block{Kind: message.BlockReasoning, Text: "hm", Meta: `{"signature":"s"}`},
			message.TextBlock("two calls"),
			message.Block{Kind: message.BlockToolCall, CallID: "1", Tool: "bash", JSON: `{"command":"ls <&> \u0041","n":12345678901234567890}`},
			message.Block{Kind: message.BlockToolCall, CallID: "2", Tool: "read", JSON: `{}`},
		)},
		{Role: message.RoleTool, CallID: "1", Tool: "bash", Result: message.ToolResult{
			Content: message.ListOf(message.TextBlock(hostile), message.Block{Kind: message.BlockJSON, JSON: `{"b":1,"a":[]}`}),
			Failure: message.FailOperation, Trust: message.TrustExternal, Meta: `{"k":"v"}`,
		}},
		{Role: message.RoleTool, CallID: "2", Tool: "read", Result: message.TextResult("")},
		{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("done"))},
	}
}

func roundTrip(t *testing.T, s *bench) {
	rec, want := create(t, s, "a", "x"), everything()
	v, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(want[:1]...)})
	require.NoError(t, err)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, Messages: message.MessagesOf(want[1:]...)})
	require.NoError(t, err)
	got, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func versions(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	var last int64
	for i := range 5 {
		v, err := s.Append(t.Context(), rec.ID, store.Append{Version: last, Messages: message.MessagesOf(message.UserText(fmt.Sprint(i)))})
		require.NoError(t, err)
		assert.Greater(t, v, last)
		last = v
	}
	assert.Equal(t, last, create(t, s, "a", "x").Version)
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{"0", "1", "2", "3", "4"}, texts(ms))
}

func conflict(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("one"))})
	require.NoError(t, err)
	for _, version := range []int64{0, v + 1, -1} {
		_, err = s.Append(t.Context(), rec.ID, store.Append{Version: version, Messages: message.MessagesOf(message.UserText("two")), TurnEnds: true})
		require.ErrorIs(t, err, store.ErrConflict)
	}
	again := create(t, s, "a", "x")
	assert.Equal(t, v, again.Version)
	assert.Zero(t, again.Turns)
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{"one"}, texts(ms))
}

func ephemeral(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	passing := message.UserText("passing")
	passing.Ephemeral = true
	_, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(passing, message.UserText("lasting"), passing)})
	require.NoError(t, err)
	assert.Equal(t, []string{"lasting"}, said(t, s, rec.ID))
}

// partial: the mark of a reply that was cut off is stored and copied with it.
func partial(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	half := message.Message{Role: message.RoleAssistant, Content: message.ListOf(message.TextBlock("half")), Partial: true}
	_, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("q"), half), TurnEnds: true})
	require.NoError(t, err)
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, []message.Message{message.UserText("q"), half}, ms)
	if p, ok := s.Store.(store.Porter); ok {
		d, err := p.Dump(t.Context(), rec.ID)
		require.NoError(t, err)
		assert.True(t, d.Messages[1].Message.Partial)
	}
}

func unknown(t *testing.T, s *bench) {
	_, err := s.Messages(t.Context(), "nobody")
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = s.Journal(t.Context(), "nobody")
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = s.Claim(t.Context(), "nobody", store.Claim{Owner: "me", Hold: time.Second})
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = s.Note(t.Context(), "nobody", store.Note{})
	require.ErrorIs(t, err, store.ErrUnknown)
	_, err = s.Append(t.Context(), "nobody", store.Append{Messages: message.MessagesOf(message.UserText("x"))})
	require.ErrorIs(t, err, store.ErrUnknown)
}

func turns(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	v, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(message.UserText("q"))})
	require.NoError(t, err)
	assert.Zero(t, create(t, s, "a", "x").Turns)
	_, err = s.Append(t.Context(), rec.ID, store.Append{Version: v, TurnEnds: true})
	require.NoError(t, err)
	again := create(t, s, "a", "x")
	assert.Equal(t, 1, again.Turns)
	assert.Greater(t, again.Version, v)
}

func ownership(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	in := []message.Message{message.UserText("kept")}
	_, err := s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(in...)})
	require.NoError(t, err)
	in[0] = message.UserText("changed by the writer")
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	ms[0] = message.UserText("changed by a reader")
	again, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{"kept"}, texts(again))
}

func list(t *testing.T, s *bench) {
	empty, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Empty(t, empty)
	want := []store.Record{}
	for _, k := range []store.Key{{Agent: "a"}, {Agent: "a", Sender: "b"}, {Agent: "a", Sender: "c"}, {Agent: "b", Sender: "a"}} {
		want = append(want, store.Record{Key: k})
	}
	for _, i := range []int{2, 0, 3, 1} {
		create(t, s, want[i].Key.Agent, want[i].Key.Sender)
	}
	got, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, got, len(want))
	for i := range want {
		assert.Equal(t, want[i].Key, got[i].Key)
		assert.Equal(t, create(t, s, want[i].Key.Agent, want[i].Key.Sender).ID, got[i].ID)
	}
}

func titles(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	title := func() string {
		all, err := s.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		found, err := s.Find(t.Context(), rec.ID)
		require.NoError(t, err)
		all[0].Title = found.Title // lists have none
		assert.Equal(t, all[0], found)
		return found.Title
	}
	assert.Empty(t, title())
	long := strings.Repeat("é", 200)
	v := turned(t, s, rec.ID, 0, " What\n\tis "+long, "2", "3")
	assert.Equal(t, "What is "+strings.Repeat("é", 71)+"…", title())
	if c, ok := s.Store.(store.Compacter); ok {
		_, err := c.Compact(t.Context(), rec.ID, store.At{Version: v}, 3, message.UserText("a summary"))
		require.NoError(t, err)
		assert.Equal(t, "What is "+strings.Repeat("é", 71)+"…", title())
	}
}

func manyTitles(t *testing.T, s *bench) {
	of, ok := s.Store.(store.Titles)
	if !ok {
		t.Skip("the store has no Titles")
	}
	image := message.Block{Kind: message.BlockImage, MIME: "image/png", Data: strings.Repeat("iVBO", 20_000)}
	ids, want := []string{"", "nobody"}, map[string]string{}
	for sender, first := range map[string]message.Message{
		"short":    message.UserText("hello"),
		"long":     message.UserText("hello " + strings.Repeat("x", 1<<16)),
		"behind":   {Role: message.RoleUser, Content: message.ListOf(image, message.TextBlock("an image"))},
		"untitled": message.UserText(" "),
	} {
		rec := create(t, s, "a", sender)
		_, err := s.Append(t.Context(), rec.ID, store.Append{TurnEnds: true, Messages: message.MessagesOf(first)})
		require.NoError(t, err)
		ids = append(ids, rec.ID)
		if title := store.Title(first); title != "" {
			want[rec.ID] = title
		}
	}
	require.Len(t, want, 3)
	got, err := of.Titles(t.Context(), append(ids, create(t, s, "a", "empty").ID))
	require.NoError(t, err)
	assert.Equal(t, want, got)
	none, err := of.Titles(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, none)
}

func finds(t *testing.T, s *bench) {
	for _, sender := range []string{"x", "y"} {
		rec := create(t, s, "a", sender)
		found, err := s.Find(t.Context(), rec.ID)
		require.NoError(t, err)
		assert.Equal(t, rec, found)
	}
	for _, id := range []string{"", "nobody"} {
		_, err := s.Find(t.Context(), id)
		require.ErrorIs(t, err, store.ErrUnknown)
	}
	all, err := s.List(t.Context())
	require.NoError(t, err)
	assert.Len(t, all, 2, "what is looked for is not made")
}

func race(t *testing.T, s *bench) {
	rec := create(t, s, "a", "x")
	const n = 16
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, errs[i] = s.Append(t.Context(), rec.ID, store.Append{Messages: message.MessagesOf(
				message.UserText(fmt.Sprint(i)), message.UserText(fmt.Sprint(i)),
			)})
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		if err == nil {
			assert.Equal(t, -1, won, "two appends at one version")
			won = i
			continue
		}
		assert.ErrorIs(t, err, store.ErrConflict)
	}
	require.NotEqual(t, -1, won, "no append won")
	ms, err := s.Messages(t.Context(), rec.ID)
	require.NoError(t, err)
	assert.Equal(t, []string{fmt.Sprint(won), fmt.Sprint(won)}, texts(ms))
}

func firstUse(t *testing.T, s *bench) {
	const n = 16
	ids, errs := make([]string, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			rec, err := s.Conversation(t.Context(), store.Key{Agent: "a", Sender: "x"})
			ids[i], errs[i] = rec.ID, err
		})
	}
	wg.Wait()
	for i := range n {
		require.NoError(t, errs[i])
		assert.Equal(t, ids[0], ids[i])
	}
}
