package message_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/hook/message"
)

func TestDecodeStrictCostsNoMoreThanItsText(t *testing.T) {
	const n = 100_000
	cases := map[string]struct{ text, want string }{
		"lists":          {strings.Repeat("[", n), "nests deeper than 100 levels"},
		"lists in a key": {`{"a": ` + strings.Repeat("[", n), "a: nests deeper than 100 levels"},
		"closed":         {`{"a": ` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}", "a: nests deeper than 100 levels"},
		"objects":        {strings.Repeat(`{"a":`, n), "a: nests deeper than 100 levels"},
		"a long key around many": {
			`{"` + strings.Repeat("k", n) + `": {` + manyKeys(n/10) + `}}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := message.DecodeStrict[map[string]any](message.JSON(c.text))
			runtime.ReadMemStats(&after)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), "bytes allocated for a text of %d", len(c.text))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.Less(t, len(err.Error()), 200)
		})
	}
}

// manyKeys are the members of an object.
func manyKeys(n int) string {
	var sb strings.Builder
	for i := range n {
		fmt.Fprintf(&sb, `"%d":0,`, i)
	}
	return sb.String() + `"end":0`
}
