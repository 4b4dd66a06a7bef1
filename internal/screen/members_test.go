package screen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/grapnel-go/grapnel/internal/screen"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ args, want string }{
		"a command":          {`{"command":"ls -l","timeout":9}`, "command: ls -l\ntimeout: 9"},
		"all lines":          {`{"command":"ls\n\nrm x\n"}`, "command: ls\n  │ \n  │ rm x\n  │ "},
		"what does not show": {"{\"command\":\"ls \u202e\\u200b\\r\U000e0041\"}", `command: ls \u{202e}\u{200b}\x0d\u{e0041}`},
		"a key":              {`{"a\nb":1}`, `a\x0ab: 1`},
		"what is deeper":     {`{"a":{"b":["\u202e",1]}}`, `a: {"b":["\u202e",1]}`},
		"no object":          {"[1,\u200b2]", `[1,\u{200b}2]`},
		"no JSON":            {`{"a":`, `{"a":`},
		"nothing":            {`{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, screen.Members(tt.args).String())
		})
	}
}
