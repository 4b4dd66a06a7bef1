package memory

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/sqldb"
)

// vocabulary is made of words whose frequency falls with their rank, as it does
// in texts.
func sentence(r *rand.Rand, words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = fmt.Sprintf("w%d", int(r.ExpFloat64()*400))
	}
	return strings.Join(out, " ")
}

func BenchmarkRecall10000(b *testing.B) {
	m, err := Open(b.Context(), filepath.Join(b.TempDir(), "m.db"), nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, m.OnClose(b.Context())) }()
	r := rand.New(rand.NewPCG(1, 2))
	require.NoError(b, m.table.db.Write(b.Context(), func(tx sqldb.Tx) error {
		for i := range 10_000 {
			e := entry{name: fmt.Sprintf("note %d %s", i, sentence(r, 2)), content: sentence(r, 40), aliases: []string{sentence(r, 1)}}
			if _, err := m.table.putIn(tx, home{key: "agent:"}, e); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, q := range []struct{ name, query string }{
		{"rare word", "w2500"}, {"three words", "w900 w1200 w2000"}, {"frequent word", "w3"}, {"prefix", "w25*"}, {"none", ""},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Recall(b.Context(), nil, RecallInput{Query: q.query}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
