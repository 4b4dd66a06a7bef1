package agentfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// offline refuses schemas from elsewhere: reading an agent opens nothing else.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, errors.New("a schema from elsewhere is not read")
}

// schema notes what is wrong with a JSON Schema.
func (r *reader) schema(n *yaml.Node, text string) {
	const fix = "write a JSON Schema (draft 2020-12): `{type: object, properties: {…}}`"
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return // what has no JSON was noted already
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(offline{})
	const place = "agent:/schema"
	if err = c.AddResource(place, doc); err == nil {
		_, err = c.Compile(place)
	}
	if err == nil {
		return
	}
	what := strings.ReplaceAll(err.Error(), place, "")
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = invalid.Err // it has no Unwrap
	}
	if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		for len(v.Causes) > 0 {
			v = v.Causes[0]
		}
		what = fmt.Sprintf("/%s: %s", strings.Join(v.InstanceLocation, "/"), v.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
	r.errorAt(n, "format.schema is no JSON Schema: "+what, fix)
}
