package sections

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/internal/agentfile"
	"github.com/grapnel-go/grapnel/internal/app"
)

var update = flag.Bool("update", false, "write docs/agent.schema.json")

const module = "github.com/grapnel-go/grapnel/"

var root = filepath.Join("..", "..", "..")

// head is the schema of the keys that belong to no subsystem.
const head = `{
	"name": {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$", "description": "The agent's name; the file's name without .md if it is left out."},
	"description": {"type": "string", "description": "One sentence, for people and for agents that delegate."},
	"model": {"description": "A model, as VENDOR:NAME, or a mapping with its settings.", "anyOf": [{"type": "string"}, {"type": "object"}]},
	"tools": {"type": "array", "items": {"type": "string"}, "description": "The tools that the agent may use; all if it is left out, none if it is empty."},
	"senders": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}},
		"description": "Tools, or patterns of them, that only some senders may have called."},
	"limits": {"type": "object", "additionalProperties": false, "description": "Limits of one turn.", "properties": {
		"steps": {"type": "integer"}, "tokens": {"type": "integer"}, "max_tokens": {"type": "integer"}, "context_window": {"type": "integer"},
		"time": {"type": "string", "description": "A duration, such as 90s or 2m."}}},
	"format": {"description": "The form of answers: text, json, or a schema.", "anyOf": [{"enum": ["text", "json"]},
		{"type": "object", "additionalProperties": false, "properties": {"name": {"type": "string"}, "schema": {"type": "object"}}}]},
	"tool_choice": {"description": "Whether the model must call a tool.", "anyOf": [{"enum": ["auto", "none", "required"]},
		{"type": "object", "additionalProperties": false, "properties": {"tool": {"type": "string"}}}]},
	"loop": {"enum": ["tool-calling", "plan-and-execute"], "description": "How the agent works: tool-calling, or plan-and-execute."},
	"hooks": {"type": "object", "description": "Subsystems that are off for this agent, or tuned, in the words of hooks.json."}
}`

// comments are those of the fields and types of a package, by "Type" and "Type.Field".
type comments map[string]string

func commentsOf(t *testing.T, path string) comments {
	t.Helper()
	out := comments{}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(strings.TrimPrefix(path, module)), "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range fields.Fields.List {
				for _, ident := range f.Names {
					out[spec.Name.Name+"."+ident.Name] = plain(f.Doc.Text())
				}
			}
			return true
		})
	}
	return out
}

var link = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

func plain(comment string) string {
	return link.ReplaceAllString(strings.Join(strings.Fields(comment), " "), "$1")
}

// schemaOf returns the schema of a type as encoding/json reads it.
func schemaOf(t *testing.T, typ reflect.Type) map[string]any {
	t.Helper()
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return map[string]any{}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return schemaOf(t, typ.Elem())
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t, typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t, typ.Elem())}
	case reflect.Struct:
		properties := map[string]any{}
		fields(t, typ, properties)
		return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	}
	t.Fatalf("a section has a %v: teach this test what it is in JSON", typ)
	return nil
}

func fields(t *testing.T, typ reflect.Type, properties map[string]any) {
	t.Helper()
	said := commentsOf(t, typ.PkgPath())
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields(t, f.Type, properties)
		case f.IsExported() && name != "-":
			s := schemaOf(t, f.Type)
			if text := said[typ.Name()+"."+f.Name]; text != "" {
				s["description"] = text
			}
			properties[name] = s
		}
	}
}

// The document has every key of an agent's file, and its sections are those of the code.
func TestTheSchemaOfAgentFiles(t *testing.T) {
	t.Parallel()
	var properties map[string]any
	require.NoError(t, json.Unmarshal([]byte(head), &properties))
	for key, section := range app.Sections() {
		properties[key] = schemaOf(t, reflect.TypeOf(section))
	}
	got, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The head of an agent's file of Grapnel",
		"type": "object", "additionalProperties": false, "properties": properties,
	}, "", "  ")
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(got, &schema))
	_, err = schema.Resolve(nil)
	require.NoError(t, err)

	var keys []string
	for key := range properties {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	assert.Equal(t, agentfile.Keys(), keys, "a section needs a line in app.Sections and in agentfile")

	file := filepath.Join(root, "docs", "agent.schema.json")
	got = append(got, '\n')
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go test ./internal/test/sections -update writes it")
}

// What the page shows is what the schema takes, and what it does not take is refused.
func TestWhatTheSchemaTakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "agent.schema.json"))
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	for text, valid := range map[string]bool{
		`{"tools":["read"],"limits":{"steps":8,"time":"2m"},"guard":{"calls":{"bash":3}}}`: true,
		`{"schedule":{"per_hour":10}}`:                        true,
		`{"toolbox":{"above":9,"keep":["read","mcp__x__*"]}}`: true,
		`{"toolbox":{"abov":9}}`:                              false,
		`{"schedule":{"per_day":10}}`:                         false,
		`{"tool":["read"]}`:                                   false,
		`{"guard":{"steps":"many"}}`:                          false,
	} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		err := resolved.Validate(v)
		assert.Equal(t, valid, err == nil, fmt.Sprint(text, ": ", err))
	}
}
