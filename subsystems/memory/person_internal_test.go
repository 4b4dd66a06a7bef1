package memory

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/test/databases"
)

func TestWhatAPersonWrites(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0) // a clock that stands still
	o := &Options{Project: "p", Now: func() time.Time { return at }, Mask: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }}
	for name, open := range map[string]func(t *testing.T) *Memory{
		"sqlite": func(t *testing.T) *Memory {
			m, err := Open(t.Context(), filepath.Join(t.TempDir(), "m.db"), o)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, m.OnClose(t.Context())) })
			return m
		},
		"postgres": func(t *testing.T) *Memory { return OpenIn(databases.Open(t, databases.DSN(t)).SQL(), o) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written(t, open(t))
		})
	}
}

func written(t *testing.T, m *Memory) {
	t.Helper()
	ctx := t.Context()
	h := home{"p", "agent:a"}
	put(t, m, h, entry{name: "berth", content: "The berth is number four.", aliases: []string{"dock"}, conversation: "c1", turn: "t1", kind: KindFact, label: label{OriginPage, message.TrustExternal}, confidence: 0.5})
	put(t, m, h, entry{name: "fee", content: "The fee is nine crowns.", aliases: []string{"price"}, conversation: "c1", turn: "t1", label: label{OriginModel, message.TrustWorkspace}})
	put(t, m, home{"q", "agent:a"}, entry{name: "berth", content: "That of another project."})
	all, err := m.List(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	berth, fee := all[0], all[1]

	now, err := m.Rewrite(ctx, berth.ID, "Our berth is number seven; the gate opens with hunter2.")
	require.NoError(t, err)
	assert.NotEqual(t, berth.ID, now.ID, "also when the clock stands still")
	want := berth
	want.ID, want.Updated = now.ID, now.Updated
	want.Content, want.Origin, want.Trust, want.Confidence, want.Conversation = "Our berth is number seven; the gate opens with ***.", OriginUser, message.TrustWorkspace, 1, ""
	assert.Equal(t, want, now, "it keeps its name, its kind and its sources")
	for query, found := range map[string]int{"seven": 1, "four": 0, "dock": 0} {
		hits, err := m.table.find(ctx, []home{h}, search{query: query, limit: 5})
		require.NoError(t, err)
		assert.Len(t, hits, found, "%s: a page has chosen no word by which it is found", query)
	}
	_, err = m.table.put(ctx, h, entry{name: "berth", content: "The berth is number one."}, func(is version) bool { return !is.foreign("c1") })
	require.ErrorIs(t, err, errForeign, "the conversation that wrote it does not replace what a person wrote")

	_, err = m.Rewrite(ctx, fee.ID, "The fee is ten crowns.")
	require.NoError(t, err)
	hits, err := m.table.find(ctx, []home{h}, search{query: "price", limit: 5})
	require.NoError(t, err)
	assert.Len(t, hits, 1, "aliases of a model stay")

	for _, id := range []string{berth.ID, "", "x", "1-x", strings.Replace(now.ID, "-", "-1", 1)} {
		_, err = m.Rewrite(ctx, id, "No.")
		require.ErrorIs(t, err, ErrChanged, id)
		require.ErrorIs(t, m.Discard(ctx, id), ErrChanged, id)
	}
	for _, text := range []string{"", " \n", strings.Repeat("x", maxContent+1), "\xff", "The key is AKIAABCDEFGHIJKLMNOP."} {
		_, err = m.Rewrite(ctx, now.ID, text)
		require.ErrorIs(t, err, ErrContent)
	}
	require.NoError(t, m.Discard(ctx, now.ID))
	require.ErrorIs(t, m.Discard(ctx, now.ID), ErrChanged)
	all, err = m.List(ctx)
	require.NoError(t, err)
	require.Len(t, all, 1)
	others, err := m.ListAll(ctx)
	require.NoError(t, err)
	require.Len(t, others, 2)
	for _, r := range others {
		if r.Project == "q" {
			_, err = m.Rewrite(ctx, r.ID, "Mine.")
			require.ErrorIs(t, err, ErrChanged, "of another project")
			require.ErrorIs(t, m.Discard(ctx, r.ID), ErrChanged)
		}
	}
}
