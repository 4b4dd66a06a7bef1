package bound_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/runtime/internal/bound"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3000)
	for _, tc := range []struct{ name, args, want string }{
		{"what fits", `{"a":"b"}`, `{"a":"b"}`},
		{"a path beside a content", `{"path":"a,}\"{[","content":"` + long + `","n":[1,{"a":2}]}`,
			`{"path":"a,}\"{[","content":"[… 3002 bytes left out …]","n":[1,{"a":2}]}`},
		{"a list", `{"a":[` + long + `]}`, `{"a":"[… 3002 bytes left out …]"}`},
		{"a long name", `{"` + long + `":1}`, `{"omitted":true}`},
		{"many members", `{` + strings.Repeat(`"a":1,`, 1000) + `"b":2}`, `{"omitted":"6007 bytes"}`},
		{"no object", `"` + long + `"`, `{"omitted":"3002 bytes"}`},
		{"no JSON", `{"a":` + long, `{"omitted":"3005 bytes"}`},
		{"a colon in a name", `{"a\":b":"` + long + `"}`, `{"omitted":"3012 bytes"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			short, omitted := bound.Args(message.JSON(tc.args), 2000)
			assert.Equal(t, tc.want, string(short))
			assert.Equal(t, len(tc.args)-len(tc.want), omitted)
		})
	}
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"path":"a","s":"` + strings.Repeat("y", 1200) + `"}`, `{`, `[}`, `{"\\`, fmt.Sprintf("%q", "{")} {
		f.Add(s, 50)
	}
	f.Fuzz(func(t *testing.T, args string, limit int) {
		short, omitted := bound.Args(message.JSON(args), max(limit, 40))
		if len(args) > max(limit, 40) && (!json.Valid([]byte(short)) || len(short) > max(limit, 40)) || omitted < 0 {
			t.Fatalf("%d: %s", omitted, short)
		}
	})
}
