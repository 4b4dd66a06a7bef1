package body_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/runtime/provider/providertest/internal/body"
)

func TestTextsResolvesEscapes(t *testing.T) {
	t.Parallel()
	got := body.Texts(`{"a":["\u00e9\"x",{"b":1.50}],"c":true}`)
	for _, want := range []string{"é\"x", "a\n", "b\n", "1.50", "true"} {
		assert.Contains(t, got, want)
	}
	assert.Equal(t, "no JSON", body.Texts("no JSON"))
}

func TestPlainLeavesOutMarksAndKeepsTheOrder(t *testing.T) {
	t.Parallel()
	got, err := body.Plain(`{ "b": [1, {"mark": {"x": [2]}, "z": "é", "a": null}], "mark": 1, "a": 1.0}`, []string{"mark"})
	require.NoError(t, err)
	assert.Equal(t, `{"b":[1,{"z":"é","a":null}],"a":1.0}`, got)
	_, err = body.Plain(`{"a":`, nil)
	require.Error(t, err)
}

func TestGrows(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, before, after, want string }{
		{"more at the end", `{"s":"x","m":[1,{"a":2}]}`, `{"s":"x","m":[1,{"a":2},3]}`, ""},
		{"the same", `{"m":[1]}`, `{"m":[1]}`, ""},
		{"another element", `{"m":[1,2]}`, `{"m":[1,3,4]}`, `element 1 of "m" is another one`},
		{"another order of members", `{"m":[{"a":1,"b":2}]}`, `{"m":[{"b":2,"a":1},3]}`, `element 0 of "m" is another one`},
		{"fewer", `{"m":[1,2]}`, `{"m":[1]}`, `the member "m" is another one`},
		{"another member", `{"s":"x"}`, `{"s":"y"}`, `the member "s" is another one`},
		{"a new member", `{"s":"x"}`, `{"s":"x","t":1}`, `the new member "t"`},
		{"no JSON, more", "line\n", "line\nanother\n", ""},
		{"no JSON, another", "line\n", "lime\n", "does not begin with the request before"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := body.Grows(tc.before, tc.after)
			if tc.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Contains(t, got, tc.want)
		})
	}
}
