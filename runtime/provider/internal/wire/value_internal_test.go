package wire

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Strings are read as encoding/json reads them, in whatever pieces they come.
func FuzzPiece(f *testing.F) {
	for _, seed := range []string{
		`"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\ud83d\ude00"`, `"\ude00\ud83d"`, `"\\ud83d"`, `"\\\ud83d"`,
		`"\ud83d\u0041"`, `"\u12"`, `"\uZZZZ"`, `"\x"`, `"a`, "\"\x01\"", "\"\xff\"", "\"\xc3\"", `""`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want string
		if json.Unmarshal([]byte(text), &want) != nil || text[0] != '"' || text[len(text)-1] != '"' {
			return
		}
		var waiting rune
		require.Equal(t, want, Glue(&waiting, pieceOf([]byte(text)))+Half(waiting))
		require.Equal(t, want, Unquote([]byte(text[1:len(text)-1])))
	})
}
