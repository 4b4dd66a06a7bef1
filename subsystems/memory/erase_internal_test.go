package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

func TestMemoriesGoWithTheirOnlySource(t *testing.T) {
	t.Parallel()
	inEach(t, goneWithTheirOnlySource)
}

func goneWithTheirOnlySource(t *testing.T, db database) {
	m := db.open(t, &Options{Project: "/p"})
	put := func(h home, name, conversation string) {
		_, err := m.table.put(t.Context(), h, entry{name: name, content: "qzcanary " + name, conversation: conversation, turn: "t"},
			func(version) bool { return true })
		require.NoError(t, err)
	}
	of := home{"/p", "agent:a"}
	put(of, "mine", "c1")
	put(of, "theirs", "c2")
	put(of, "both", "c1")
	put(home{"", "user:agent:a"}, "wide", "c1")
	put(home{"/q", "agent:a"}, "elsewhere", "c3")
	require.NoError(t, m.table.write(t.Context(), []string{"/p"}, func(tx sqldb.Tx) error {
		_, err := tx.Exec(`UPDATE memory SET sources = '[{"conversation":"c1"},{"conversation":"c2","turn":"t"}]' WHERE name = 'both'`)
		if err == nil {
			err = m.table.wait(tx, of, entry{name: "waits", content: "qzcanary waits", conversation: "c1", turn: "t"})
		}
		return err
	}))
	for _, dry := range []bool{true, false} {
		deleted, kept, err := m.Erase(t.Context(), []string{"c1", "c9"}, dry)
		require.NoError(t, err)
		assert.Equal(t, 3, deleted, "mine, wide and what waits")
		assert.Equal(t, 1, kept)
	}
	all, err := m.ListAll(t.Context())
	require.NoError(t, err)
	left := map[string][]Source{}
	for _, r := range all {
		left[r.Name] = r.Sources
		assert.NotEqual(t, "c1", r.Conversation)
	}
	assert.Equal(t, map[string][]Source{
		"theirs": {{"c2", "t"}}, "both": {{"c2", "t"}}, "elsewhere": {{"c3", "t"}},
	}, left)
	waiting, err := m.Candidates(t.Context())
	require.NoError(t, err)
	assert.Empty(t, waiting)
	for _, text := range []string{"qzcanary mine", "qzcanary wide", "qzcanary waits"} {
		assert.NotContains(t, db.texts(t), text)
	}
	assert.Contains(t, db.texts(t), "qzcanary both", "the test can see it")

	for _, dry := range []bool{true, false} {
		deleted, err := m.EraseProject(t.Context(), "/p", dry)
		require.NoError(t, err)
		assert.Equal(t, 2, deleted)
	}
	all, err = m.ListAll(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "elsewhere", all[0].Name)
}
