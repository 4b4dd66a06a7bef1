package bench_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/bench/peers/eino"
	"github.com/grapnel-go/grapnel/bench/peers/genkit"
	"github.com/grapnel-go/grapnel/bench/peers/limit"
	"github.com/grapnel-go/grapnel/bench/peers/mcpgo"
	"github.com/grapnel-go/grapnel/bench/peers/mcpsdk"
	"github.com/grapnel-go/grapnel/bench/subject"
	"github.com/grapnel-go/grapnel/bench/typed"
)

// tenFields are those of typed.Ten with their types, and whether they are required.
var tenFields = map[string]struct {
	kind     string
	required bool
}{
	"title": {"string", true}, "body": {"string", true}, "owner": {"string", true}, "tags": {"array", true},
	"folder": {"string", false}, "priority": {"integer", false}, "weight": {"number", false},
	"pinned": {"boolean", false}, "due": {"string", false}, "links": {"array", false},
}

// checkTen says what is wrong with a schema of typed.Ten.
func checkTen(text string) error {
	var s struct {
		Type       string
		Properties map[string]struct {
			Type        any // or a list of them, with null
			Description string
		}
		Required []string
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	if s.Type != "object" || len(s.Properties) != len(tenFields) {
		return fmt.Errorf("an %s of %d properties: %s", s.Type, len(s.Properties), text)
	}
	var required []string
	for name, want := range tenFields {
		p := s.Properties[name]
		if types, ok := p.Type.([]any); p.Type != want.kind && !(ok && slices.Contains(types, any(want.kind))) {
			return fmt.Errorf("%s is a %v and not a %s", name, p.Type, want.kind)
		}
		if p.Description == "" {
			return fmt.Errorf("%s is not described", name)
		}
		if want.required {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	if !slices.Equal(required, slices.Sorted(slices.Values(s.Required))) {
		return fmt.Errorf("required are %v and not %v", s.Required, required)
	}
	return nil
}

// schemas makes a subject of a maker of schemas. What is made first is checked in
// full, what is made later by its length.
func schemas(name string, make func() (string, error)) subject.Subject {
	return subject.Subject{Name: name, New: func(tb testing.TB) func() error {
		size := 0
		return func() error {
			text, err := make()
			if err != nil {
				return err
			}
			if size == 0 {
				size = len(text)
				return checkTen(text)
			}
			if len(text) != size {
				return fmt.Errorf("%d bytes and not %d", len(text), size)
			}
			return nil
		}
	}}
}

func schemaMakers() []subject.Subject {
	return []subject.Subject{
		schemas("limit", limit.Schema),
		schemas("grapnel", typed.Schema),
		schemas("eino", eino.Schema[typed.Ten]),
		schemas("genkit", genkit.Schema[typed.Ten]),
		schemas("mcp-go", mcpgo.Schema[typed.Ten]),
		schemas("mcp-go-sdk", mcpsdk.Schema[typed.Ten]),
	}
}

// BenchmarkSchema measures how the schema of an input of ten fields is made, as the
// JSON that a model gets.
func BenchmarkSchema(b *testing.B) { subject.Bench(b, schemaMakers()) }

func TestSchema(t *testing.T) { subject.Check(t, schemaMakers()) }

func TestSchemasThatLackSomethingAreFound(t *testing.T) {
	whole, err := limit.Schema()
	require.NoError(t, err)
	without := func(change func(s map[string]any)) func() (string, error) {
		return func() (string, error) {
			var s map[string]any
			if err := json.Unmarshal([]byte(whole), &s); err != nil {
				return "", err
			}
			change(s)
			text, err := json.Marshal(s)
			return string(text), err
		}
	}
	properties := func(s map[string]any) map[string]any { return s["properties"].(map[string]any) }
	times := 0
	subject.Catch(t, []subject.Subject{
		schemas("nine fields", without(func(s map[string]any) { delete(properties(s), "links") })),
		schemas("no field is required", without(func(s map[string]any) { delete(s, "required") })),
		schemas("all are required", without(func(s map[string]any) { s["required"] = slices.Collect(maps.Keys(tenFields)) })),
		schemas("no descriptions", without(func(s map[string]any) { delete(properties(s)["due"].(map[string]any), "description") })),
		schemas("empty the second time", func() (string, error) {
			if times++; times > 1 {
				return "", nil
			}
			return whole, nil
		}),
	})
}
