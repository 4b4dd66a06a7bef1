package openai

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

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

// The reader of events does what can be said in ten lines about a whole text.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "data:a\r\ndata:  b\r\rdata\n\n", "\xEF\xBB\xBFdata: a", ": c\n\nevent: error\n\nevent: error\ndata: x\n\n", "id: 1\nretry: 2\ndata: a\n\nx", "error: e\n\n", "\r\n\r\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, wantErr := plainly(text)
		for _, src := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			e := events{src: src, most: 1 << 20, left: 1 << 20}
			var got []string
			data, err := e.next()
			for ; err == nil; data, err = e.next() {
				got = append(got, string(data))
			}
			require.Equal(t, want, got)
			require.Equal(t, wantErr, errors.Is(err, errField))
		}
	})
}

// plainly returns the data of all events, and whether a line that is no field
// ends them.
func plainly(text string) (all []string, odd bool) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	lines[0] = strings.TrimPrefix(lines[0], "\xEF\xBB\xBF")
	data := ""
	for _, line := range append(lines, "") {
		name, value, colon := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != "":
			all, data = append(all, data), ""
		case line == "":
		case name == "data" && data != "":
			data += "\n" + value
		case name == "data" || name == "error" && colon:
			data = value
		case name == "event", colon && (name == "" || name == "id" || name == "retry"):
		default:
			return all, true
		}
	}
	return all, false
}
