package args_test

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook/message"
)

// FuzzCanonical compares with jsontext, which knows neither our code nor our
// further rules: what we accept it accepts with the same value, and what only we
// refuse breaks one of those rules.
func FuzzCanonical(f *testing.F) {
	for _, tt := range refused {
		if len(tt.text) < 1000 {
			f.Add(tt.text)
		}
	}
	for _, tt := range canonical {
		f.Add(tt.text)
	}
	f.Add(`{"a":[{},[],"",0,-1.5e-7,true,false,null],"b":{"c":{"d":"\u00e9\ud83d\ude00"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := args.Canonical(text)
		if text == "" {
			require.NoError(t, err)
			assert.Equal(t, "{}", string(got))
			return
		}
		value := jsontext.Value(text)
		valid := value.IsValid() && value.Kind() == '{'
		if err != nil {
			if valid && !breaksOurRules(text) {
				t.Fatalf("refused, but another reader accepts it: %q: %v", text, err)
			}
			return
		}
		require.True(t, valid, "accepted, but another reader refuses it: %q", text)
		require.False(t, breaksOurRules(text), "accepted against our rules: %q", text)
		sameValue(t, text, string(got))
		again, err := args.Canonical(string(got))
		require.NoError(t, err)
		require.Equal(t, got, again, "canonical text must be its own canonical text")
	})
}

// sameValue compares the values of both texts, and the form of the second one.
func sameValue(t *testing.T, text, canonical string) {
	t.Helper()
	var before, after any
	require.NoError(t, json.Unmarshal([]byte(text), &before))
	require.NoError(t, json.Unmarshal([]byte(canonical), &after))
	require.Equal(t, before, after)
	compacted := jsontext.Value(text)
	require.NoError(t, compacted.Compact())
	require.LessOrEqual(t, len(canonical), len(compacted))
	requote := jsontext.Value(canonical)
	require.NoError(t, requote.Format(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false), jsontext.PreserveRawStrings(false)))
	require.Equal(t, canonical, string(requote), "jsontext has another shortest form")
}

// breaksOurRules walks the tokens of a text that is valid JSON and looks for what
// we refuse beyond that.
func breaksOurRules(text string) bool {
	d := jsontext.NewDecoder(strings.NewReader(text))
	var top []string
	for {
		token, err := d.ReadToken()
		if err != nil {
			return err != io.EOF
		}
		switch token.Kind() {
		case '"':
			if strings.ContainsRune(token.String(), 0) {
				return true
			}
			if _, n := d.StackIndex(1); d.StackDepth() == 1 && n%2 == 1 {
				for _, name := range top {
					if strings.EqualFold(name, token.String()) {
						return true
					}
				}
				top = append(top, token.String())
			}
		case '0':
			if n := token.String(); !strings.ContainsAny(n, ".eE") {
				if v, err := strconv.ParseInt(n, 10, 64); err != nil || v > 1<<53-1 || v < -(1<<53-1) {
					return true
				}
			} else if v, err := strconv.ParseFloat(n, 64); err != nil || math.IsInf(v, 0) {
				return true
			}
		case '{', '[':
			if d.StackDepth() > 64 {
				return true
			}
		}
	}
}

// FuzzDecode feeds the typed decoder: it never panics, is never more lenient than
// Canonical, and what it accepts has the value that encoding/json reads.
func FuzzDecode(f *testing.F) {
	for _, tt := range refused {
		if len(tt.text) < 1000 {
			f.Add(tt.text)
		}
	}
	f.Add(`{"command":"a","limit":-42,"small":-128,"count":65535,"ratio":-0.5e2,"single":1.5,"force":true,"tags":["x","\u0041"]}`)
	f.Add(`{"command":"a","env":{"A":"1","a":"2"},"sub":null,"subs":[{"name":"n","n":7},{"n":1,"name":""}],"data":"aGk="}`)
	f.Add(`{"command":"a","limit":null,"raw":null,"subs":[{"n":null,"name":"n"}],"any":null}`)
	f.Add(`{"command":"a","raw":{"b":[1,2],"a":null},"any":[1,{"k":"v"}],"big":"-9","huge":"18","share":"1e3","sure":"true"}`)
	f.Fuzz(func(t *testing.T, text string) {
		in, inv := bind(text)
		if inv.Err() != nil {
			require.NotEmpty(t, inv.Err().Reason)
			return
		}
		whole, err := args.Canonical(text)
		require.NoError(t, err)
		canonical := inv.Args()
		if strings.Contains(text, "null") {
			require.Equal(t, given(t, whole), given(t, canonical))
			again, _ := bind(string(canonical))
			require.Equal(t, in, again)
		} else {
			require.Equal(t, whole, canonical)
		}
		if in.Wait != 0 || strings.Contains(text, "wait") {
			return // encoding/json reads durations as numbers
		}
		var want everything
		require.NoError(t, json.Unmarshal([]byte(canonical), &want))
		if in.Sub == nil {
			require.Nil(t, want.Sub)
		}
		require.Equal(t, want, in)
	})
}

// given returns the value of a text without the optional members that are null.
func given(t *testing.T, text message.JSON) map[string]any {
	t.Helper()
	var out map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	without := func(v any, names ...string) {
		object, _ := v.(map[string]any)
		for name, value := range object {
			if value == nil && !slices.Contains(names, name) {
				delete(object, name)
			}
		}
	}
	without(out, "raw")
	without(out["sub"])
	subs, _ := out["subs"].([]any)
	for _, s := range subs {
		without(s)
	}
	return out
}
