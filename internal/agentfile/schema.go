package agentfile

import (
	"cmp"
	_ "embed" // the schema of schemas
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v3"
)

// metaSchema describes the keywords of draft 2020-12.
//
//go:embed metaschema.json
var metaSchema string

func (r *reader) schema(n *yaml.Node, text string) {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return // recorded already
	}
	if err := isSchema(text, value); err != nil {
		r.errorAt(n, "format.schema is no JSON Schema: "+err.Error(), "write a JSON Schema (draft 2020-12): `{type: object, properties: {…}}`")
	}
}

// isSchema returns an error for wrong keywords or references of a schema. The library checks
// values, so isSchema checks the schema as a value of the meta schema.
func isSchema(text string, value any) error {
	meta, err := resolve([]byte(metaSchema))
	if err != nil {
		return err
	}
	if meta.Validate(value) != nil {
		return fmt.Errorf("%s has a value that JSON Schema does not have there", cmp.Or(misfit(meta, value), "the top"))
	}
	_, err = resolve([]byte(text))
	return err
}

// misfit returns the first place where a schema breaks the meta schema: a JSON pointer that
// ends at the first list.
func misfit(meta *jsonschema.Resolved, schema any) string {
	keywords, _ := schema.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(keywords)) {
		fits := func(value any) bool { return meta.Validate(map[string]any{key: value}) == nil }
		if fits(keywords[key]) {
			continue
		}
		named, _ := keywords[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if !fits(map[string]any{name: named[name]}) {
				return "/" + key + "/" + name + misfit(meta, named[name])
			}
		}
		return "/" + key
	}
	return ""
}

// resolve opens no other files: reading an agent reads one file.
func resolve(text []byte) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return s.Resolve(&jsonschema.ResolveOptions{Loader: func(*url.URL) (*jsonschema.Schema, error) {
		return nil, errors.New("a schema from elsewhere is not read")
	}})
}
