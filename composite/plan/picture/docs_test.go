package picture_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/composite/plan/picture"
)

// keys are the JSON keys of a type and of what it holds.
func keys(t reflect.Type, into map[string]bool, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] || t == reflect.TypeFor[plan.Plan]() {
		return
	}
	seen[t] = true
	for f := range t.Fields() {
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" {
			into[key] = true
		}
		keys(f.Type, into, seen)
	}
}

// TestDocumented: docs/plan.md has every key of the JSON, and none that is not there.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/plan.md")
	require.NoError(t, err)
	_, table, ok := strings.Cut(string(text), "| key | of | meaning |\n")
	require.True(t, ok)
	has := map[string]bool{}
	keys(reflect.TypeFor[picture.View](), has, map[reflect.Type]bool{})
	delete(has, "composite") // its place is taken by members
	for line := range strings.SplitSeq(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for name := range strings.SplitSeq(cell, ", ") {
			if key := strings.Trim(name, "`"); key != name {
				assert.Contains(t, has, key, "docs/plan.md has a key that is not there")
			}
		}
	}
	for key := range has {
		assert.Contains(t, table, "`"+key+"`", "docs/plan.md does not say what it is")
	}
}
