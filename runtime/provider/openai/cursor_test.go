package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cursor accepts what encoding/json accepts, but for depth, and reads the
// same strings.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, ` { "a" : [ 1 , -0.5e+7 , true , null , "x" ] } `, `"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t"`, `"\ud83d"`, `"\ude00"`, `"\ud83dx"`, `"\ud83d\ud83d\ude00"`,
		`"\ud83d\u0041"`, `"\u12"`, `"\uZZZZ"`, `"\x"`, `"a`, "\"\x01\"", "\"\xff\"", "\"\xc3\"", `01`, `1.`, `-`, `1e`, `.5`, `tru`, `[1,]`, `{"a":1,}`, `{,}`, `{"a"}`, `[1 2]`, `}`, ``, `{"a":1}x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := cursor{data: []byte(text)}
		c.skip()
		c.peek()
		valid := c.fault == "" && c.pos == len(c.data)
		if strings.Count(text, "[")+strings.Count(text, "{") <= maxDepth {
			require.Equal(t, json.Valid([]byte(text)), valid, "%q: %s", text, c.fault)
		}
		c.reset([]byte(text))
		assert.Equal(t, valid && strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{"), c.isObject([]byte(text)))
		if !valid {
			return
		}
		c.reset([]byte(text))
		var want string
		if c.peek() != '"' || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		var waiting rune
		got := glue(&waiting, c.str()) + half(waiting)
		require.Equal(t, want, got)
	})
}
