package transfer

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/store"
)

// rows is a part in memory. wrong changes what Load keeps; nil keeps all.
type rows struct {
	all   []store.Row
	wrong func([]store.Row) []store.Row
}

func (r *rows) Rows(_ context.Context, each func(store.Row) error) error {
	for _, row := range r.all {
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) Load(ctx context.Context, from func(context.Context, func(store.Row) error) error) error {
	err := from(ctx, func(row store.Row) error {
		r.all = append(r.all, row)
		return nil
	})
	if r.wrong != nil {
		r.all = r.wrong(r.all)
	}
	return err
}

func TestACopyThatIsNotTheSameIsAnError(t *testing.T) {
	t.Parallel()
	source := &rows{all: []store.Row{{Table: "a", Values: []any{"x", int64(1)}}, {Table: "b", Values: []any{nil}}}}
	for name, wrong := range map[string]func([]store.Row) []store.Row{
		"the table b is missing":                          func(all []store.Row) []store.Row { return all[:1] },
		"the table c is too much":                         func(all []store.Row) []store.Row { return append(all, store.Row{Table: "c"}) },
		"the table a: 1 rows here, 2 there":               func(all []store.Row) []store.Row { return append(all[:1:1], all...) },
		"the table b: 1 rows here, 1 there":               func(all []store.Row) []store.Row { return append(all[:1:1], store.Row{Table: "b", Values: []any{""}}) },
		"something has written meanwhile, or a disk is f": func(all []store.Row) []store.Row { return nil },
	} {
		_, err := copyPart(t.Context(), part{"part", source, nil}, part{"part", &rows{wrong: wrong}, nil})
		require.ErrorIs(t, err, ErrDiffers)
		assert.ErrorContains(t, err, name)
	}
	p, err := copyPart(t.Context(), part{"part", source, nil}, part{"part", &rows{}, nil})
	require.NoError(t, err)
	assert.Len(t, p.Tables, 2)
}
