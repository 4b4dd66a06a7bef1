// Package schema reads the Go type of a tool's input into the model from which schema, decoder and validation are generated, and
// writes the JSON Schema. It has no effects: types in, a tree and problems out.
//
// The schemas have only what every provider accepts: an object at the top, properties in the order of the fields,
// additionalProperties false, everything inlined.
package schema

import (
	"go/token"
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Kind is the JSON form of a value.
type Kind int

// The kinds of value.
const (
	String   Kind = iota + 1
	Int           // Value.Bits, 0 for int
	Uint          // Value.Bits, 0 for uint
	Float         // Value.Bits
	Bool          //
	Bytes         // []byte as base64
	Time          // time.Time as RFC 3339
	Duration      // time.Duration as a string, 1m30s
	JSON          // message.JSON: any value, as canonical text
	Raw           // json.RawMessage: the same as bytes
	Any           // any
	Struct        // Value.Struct
	List          // a slice of Value.Elem
	Map           // a map of strings to Value.Elem
	OwnText       // a string that the type's UnmarshalText reads
	Own           // read by the type's UnmarshalJSON, of the form Value.Shape
	Union         // one of Value.Forms; only in a Shape
)

// Object is a JSON object that is made of a Go struct.
type Object struct {
	// Type is the struct, named or not, never a pointer.
	Type   types.Type
	Fields []*Field

	// closed and required hold the keywords while a shape is read.
	closed   bool
	required []string
}

// Field is one member of an object.
type Field struct {
	// Go is the selector of the field in the struct: "Title", "Base.Title".
	Go string
	// Name is the member's name in JSON.
	Name string
	// Doc is the description, one line per paragraph.
	Doc      string
	Required bool
	// Default and Example are nil where there is none.
	Default, Example *Literal
	Value            *Value
	Pos              token.Position
}

// NullIsAbsent reports whether null counts as a missing value: in optional fields whose Go value cannot tell the two apart.
func (f *Field) NullIsAbsent() bool {
	if f.Required {
		return false
	}
	v := f.Value
	own := v.Kind == Own && (v.Shape.Pointer || v.Shape.Kind == Any)
	return v.Pointer || v.Kind != JSON && v.Kind != Raw && !own
}

// Value describes the type of a field, of an element or of a pointer's target.
type Value struct {
	Kind Kind
	// Type is the Go type without the pointer.
	Type types.Type
	// Pointer: the Go value is a pointer to Type, and nil is null.
	Pointer bool
	Bits    int
	// Quoted: the tag says ",string": a number or boolean in quotes.
	Quoted bool
	Struct *Object
	Elem   *Value
	// Shape is the //hook:schema of a type that decodes itself. Its parts have the Go types that check them.
	Shape *Value
	// Forms are the alternatives of a Union, one for each JSON type.
	Forms []*Value
	// Doc is the description of a shape; a field's own comes first.
	Doc string
	// Enum is not empty if only these values are allowed.
	Enum []Literal
	Limits
}

// Limits are the constraints in the tag of a field; nil and "" constrain nothing. Those of list elements are in Elem.
type Limits struct {
	// Min and Max are numbers as JSON and Go write them.
	Min, Max string
	// MinLen and MaxLen count characters.
	MinLen, MaxLen *int
	// MinItems and MaxItems count elements of a list.
	MinItems, MaxItems *int
	Pattern, Format    string
}

// Literal is a value as JSON and as Go.
type Literal struct {
	JSON string
	// Go is an untyped constant: a number, a quoted string, true or false. A duration is in nanoseconds.
	Go string
	// Const is the constant of the value, if the generated package may name it.
	Const *types.Const
}

// Source supplies facts that types do not have. Position must be set; the others may be nil.
type Source struct {
	Position func(token.Pos) token.Position
	// Doc returns the comment of a struct field.
	Doc func(*types.Var) string
	// Ours reports whether a field or type belongs to the main module, where it can get a comment; nil means always.
	Ours func(types.Object) bool
	// Word returns the place of a word in the tag of a field; nil and no position mean the place of the field.
	Word func(v *types.Var, word string) token.Pos
	// Open reports whether values other than a type's constants are allowed.
	Open func(*types.TypeName) bool
	// Schema returns the text of //hook:schema above a field or type; "" if there is none.
	Schema func(types.Object) string
}

// New returns the model of the struct t, which the generated code of pkg decodes. Parts with an error are missing from it.
func New(pkg *types.Package, t types.Type, src Source) (*Object, []diag.Problem) {
	b := &builder{pkg: pkg, src: src}
	o := b.object(t, token.NoPos)
	return o, diag.Sort(b.problems)
}
