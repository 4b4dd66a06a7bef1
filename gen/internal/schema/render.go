package schema

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/internal/argrules"
)

// Words lists values for an error message: low, normal, high.
func Words(values []Literal) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.JSON
		if s, err := strconv.Unquote(v.JSON); err == nil {
			words[i] = s
		}
	}
	return strings.Join(words, ", ")
}

// JSON returns the schema of the object without blanks. A nil object has no members.
func (o *Object) JSON() string { return strings.Join(o.Pieces(), "") }

// Pieces returns the schema in parts: head, one part per member, tail.
func (o *Object) Pieces() []string {
	if o == nil {
		return []string{`{"type":"object","properties":{},"additionalProperties":false}`}
	}
	return o.pieces(`"object"`, "")
}

func (o *Object) pieces(typ, description string) []string {
	var required []string
	pieces := []string{`{"type":` + typ + description + `,"properties":{`}
	for i, f := range o.Fields {
		piece := quote(f.Name) + ":" + f.schema()
		if i < len(o.Fields)-1 {
			piece += ","
		}
		pieces = append(pieces, piece)
		if f.Required {
			required = append(required, quote(f.Name))
		}
	}
	tail := `}`
	if len(required) > 0 {
		tail += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return append(pieces, tail+`,"additionalProperties":false}`)
}

func (f *Field) schema() string {
	extra := ""
	if f.Default != nil {
		extra += `,"default":` + f.Default.JSON
	}
	if f.Example != nil {
		extra += `,"examples":[` + f.Example.JSON + `]`
	}
	return f.Value.schema(f.Doc, extra)
}

// JSON returns the schema of the value, without blanks.
func (v *Value) JSON() string { return v.schema("", "") }

// Pieces returns the schema in parts: those of an object as [Object.Pieces] does, anything else in one.
func (v *Value) Pieces() []string {
	if v.Kind == Struct {
		return v.Struct.pieces(v.typeList("object"), "")
	}
	return []string{v.JSON()}
}

// schema returns the schema of a value: type, description, limits and all other keywords.
func (v *Value) schema(doc, extra string) string {
	if v.Kind == Own {
		shape := *v.Shape
		shape.Pointer = shape.Pointer || v.Pointer
		return shape.schema(cmp.Or(doc, shape.Doc), extra)
	}
	doc = cmp.Or(doc, v.Doc)
	description := ""
	if doc != "" {
		description = `,"description":` + quote(doc)
	}
	typ, limits := v.typeAndLimits()
	if typ == "" {
		return "{" + strings.TrimPrefix(description+extra, ",") + "}"
	}
	typ = v.typeList(typ)
	switch v.Kind {
	case Union:
		for _, form := range v.Forms {
			_, own := form.typeAndLimits()
			limits += own + form.parts()
		}
	case Struct:
		return strings.TrimSuffix(strings.Join(v.Struct.pieces(typ, description), ""), "}") + extra + "}"
	}
	return `{"type":` + typ + description + limits + v.parts() + extra + "}"
}

func (v *Value) typeList(typ string) string {
	names := []string{quote(typ)}
	if v.Kind == Union {
		names = nil
		for _, form := range v.Forms {
			name, _ := form.typeAndLimits()
			names = append(names, quote(name))
		}
	}
	if v.Pointer {
		names = append(names, `"null"`)
	}
	if len(names) == 1 {
		return names[0]
	}
	return "[" + strings.Join(names, ",") + "]"
}

func (v *Value) parts() string {
	switch v.Kind {
	case Struct: // in a union; elsewhere Pieces writes it
		s := strings.Join(v.Struct.pieces("", ""), "")
		return "," + strings.TrimSuffix(strings.TrimPrefix(s, `{"type":,`), "}")
	case List:
		return `,"items":` + v.Elem.schema("", "")
	case Map:
		return `,"additionalProperties":` + v.Elem.schema("", "")
	}
	return ""
}

// typeAndLimits returns the JSON type, "" for any, and the keywords for the limits, each with a comma before it.
func (v *Value) typeAndLimits() (string, string) {
	switch v.Kind {
	case Bytes:
		return "string", `,"contentEncoding":"base64"`
	case Time:
		return "string", `,"format":"date-time"`
	case Duration:
		return "string", `,"pattern":` + quote(argrules.DurationPattern)
	case Bool:
		if v.Quoted {
			return "string", v.enum(`"true"`, `"false"`)
		}
		return "boolean", ""
	case Int, Uint, Float:
		return v.numberLimits()
	case String, OwnText:
		return "string", v.stringLimits()
	case Union:
		return "union", ""
	case Struct, Map:
		return "object", ""
	case List:
		return "array", keyword("minItems", v.MinItems) + keyword("maxItems", v.MaxItems)
	}
	return "", ""
}

func (v *Value) numberLimits() (string, string) {
	if v.Quoted {
		pattern := map[Kind]string{Int: argrules.IntegerPattern, Uint: argrules.NaturalPattern, Float: argrules.NumberPattern}[v.Kind]
		return "string", `,"pattern":` + quote(pattern)
	}
	typ, least, most := "number", v.Min, v.Max
	if v.Kind != Float {
		typ = "integer"
		low, high := intRange(v)
		if least == "" && (v.Kind == Uint || v.Bits > 0 && v.Bits < 64) {
			least = low.String()
		}
		if most == "" && v.Bits > 0 && v.Bits < 64 {
			most = high.String()
		}
	}
	limits := ""
	if least != "" {
		limits += `,"minimum":` + least
	}
	if most != "" {
		limits += `,"maximum":` + most
	}
	if len(v.Enum) > 0 {
		limits = v.literals()
	}
	return typ, limits
}

func (v *Value) stringLimits() string {
	limits := keyword("minLength", v.MinLen) + keyword("maxLength", v.MaxLen)
	if v.Pattern != "" {
		limits += `,"pattern":` + quote(v.Pattern)
	}
	if v.Format != "" {
		limits += `,"format":` + quote(v.Format)
	}
	return limits + v.literals()
}

func (v *Value) literals() string {
	var values []string
	for _, l := range v.Enum {
		values = append(values, l.JSON)
	}
	return v.enum(values...)
}

func (v *Value) enum(values ...string) string {
	if len(values) == 0 {
		return ""
	}
	if v.Pointer {
		values = append(values, "null")
	}
	return `,"enum":[` + strings.Join(values, ",") + `]`
}

func keyword(name string, n *int) string {
	if n == nil {
		return ""
	}
	return `,"` + name + `":` + strconv.Itoa(*n)
}
