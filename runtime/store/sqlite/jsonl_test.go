package sqlite_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/store"
	"github.com/grapnel-go/grapnel/runtime/store/jsonl"
	"github.com/grapnel-go/grapnel/runtime/store/mem"
)

// A conversation goes out of a file, into memory, and back into a file, and is the
// same byte by byte.
func TestAConversationMovesToAnotherStoreAndBack(t *testing.T) {
	t.Parallel()
	s, other := open(t, version1(t)), mem.New(nil)
	rec, err := s.Conversation(t.Context(), store.Key{Agent: "coder", Sender: "me"})
	require.NoError(t, err)
	_, err = s.Compact(t.Context(), rec.ID, store.At{Version: rec.Version}, 5, message.UserText("summary"))
	require.NoError(t, err)
	var first, second, third bytes.Buffer
	require.NoError(t, jsonl.Export(t.Context(), s, rec.ID, &first))
	_, err = jsonl.Import(t.Context(), s, bytes.NewReader(first.Bytes()), nil)
	require.ErrorIs(t, err, store.ErrExists)

	moved, err := jsonl.Import(t.Context(), other, bytes.NewReader(first.Bytes()), nil)
	require.NoError(t, err)
	require.NoError(t, jsonl.Export(t.Context(), other, moved.ID, &second))
	assert.Equal(t, first.String(), second.String())

	fresh := open(t, file(t))
	back, err := jsonl.Import(t.Context(), fresh, &second, nil)
	require.NoError(t, err)
	require.NoError(t, jsonl.Export(t.Context(), fresh, back.ID, &third))
	assert.Equal(t, first.String(), third.String())
	assert.Equal(t, texts(t, s, rec.ID), texts(t, fresh, back.ID))
}

func TestADamagedConversationIsExportedWithoutTheDamage(t *testing.T) {
	t.Parallel()
	s, rec, _ := damaged(t, `UPDATE message SET body = '{' WHERE num = 1 << 32 | 2`)
	var out bytes.Buffer
	require.ErrorIs(t, jsonl.Export(t.Context(), s, rec.ID, &out), store.ErrDamaged)
	assert.Equal(t, 1+5, strings.Count(out.String(), "\n"))
	again, err := jsonl.Import(t.Context(), s, &out, &store.Key{Agent: "mended"})
	require.NoError(t, err)
	assert.Len(t, texts(t, s, again.ID), 5)
}
