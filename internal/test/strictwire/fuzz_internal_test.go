package strictwire

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
		var p parser
		n, fault := p.parse(s)
		if strings.Count(s, "[")+strings.Count(s, "{") > maxDepth {
			return
		}
		if fault == "" != (json.Valid([]byte(s)) && utf8.ValidString(s)) && !strings.Contains(fault, "low surrogate") {
			t.Fatalf("%q: %q", s, fault)
		}
		if n.kind == text && fault == "" {
			var want string
			if err := json.Unmarshal([]byte(s), &want); err != nil || want != n.text {
				t.Fatalf("%q became %q: %v", s, n.text, err)
			}
		}
	})
}

// FuzzCheck: whatever a request is, the servers answer it, and in JSON.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":"x"}]}`,
		`{"model":"m","max_tokens":1,"tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"},` +
			`{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}]}`,
		`{"model":"m","tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{},"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":` +
			`{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]}`,
		`[]`, `{"messages":{}}`, `{"model":"m","max_tokens":1,"messages":[1,null,[]]}`, `{"model":"m","messages":[null]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, check := range []func([]byte) *Refusal{CheckOpenAI, CheckAnthropic} {
			if r := check(body); r != nil && (r.Message == "" || r.Rule == "" || !json.Valid([]byte(r.Body))) {
				t.Fatalf("%q: %+v", body, r)
			}
		}
	})
}
