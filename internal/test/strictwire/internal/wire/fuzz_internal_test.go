package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse holds the parser to encoding/json, which takes two things more: bytes
// that are no UTF-8 and lone surrogates.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\ud83d\ude00",true,null,{}]}`, `{"a":"\ud800"}`, "\"\xff\"", `[1,]`, `01`, `"\`, `[[[[`, "\" \x01\"", `{"a":1,"a":2} `} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p Parser
		n, fault := p.Parse(s)
		if strings.Count(s, "[")+strings.Count(s, "{") > maxDepth {
			return
		}
		if fault == "" != (json.Valid([]byte(s)) && utf8.ValidString(s)) && !strings.Contains(fault, "low surrogate") {
			t.Fatalf("%q: %q", s, fault)
		}
		if n.Kind == Text && fault == "" {
			var want string
			if err := json.Unmarshal([]byte(s), &want); err != nil || want != n.Text {
				t.Fatalf("%q became %q: %v", s, n.Text, err)
			}
		}
	})
}
