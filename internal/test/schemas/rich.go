// Package schemas is for tests: inputs and results of every kind that a typed tool may have, with the code that is generated
// for them. The tests let another implementation of JSON Schema judge whether schema and decoder accept the same arguments, and
// whether results are what their schema says.
package schemas

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Rich is a subsystem whose tools keep what they were given.
//
//hook:subsystem
type Rich struct {
	hook.Nop
	// Got is the input of the last call.
	Got any
	// Reply is the next result of report.
	Reply Report
}

// Priority is an enum of strings.
type Priority string

// The priorities; the last one needs escapes.
const (
	Low    Priority = "low"
	Normal Priority = "normal"
	Odd    Priority = "\"é\u2028/"
)

// Level is an enum of integers.
type Level int

// The levels.
const (
	Ground Level = iota
	First
	Below Level = -1
)

// Texts are strings with every limit.
type Texts struct {
	// Free is any string.
	Free string `json:"free"`
	// Short has two limits.
	Short string `json:"short,omitzero" hook:"minlen=2,maxlen=4"`
	// Long has one.
	Long *string `json:"long" hook:"maxlen=3"`
	// Filled may not be empty and must be there.
	Filled *string `json:"filled" hook:"required,minlen=1"`
	// Code has a pattern.
	Code string `json:"code,omitzero" hook:"pattern='^[a-z]{1,3}(-[0-9]+)?$'"`
	// Loose has a pattern without ends, and a length.
	Loose string `json:"loose,omitzero" hook:"pattern=[0-9]é,maxlen=6"`
	// Priority is one of the constants.
	Priority Priority `json:"priority,omitzero" hook:"default=normal"`
	// Maybe is one of them, or null.
	Maybe *Priority `json:"maybe"`
	// Open takes others too.
	Open Priority `json:"open,omitzero" hook:"open,maxlen=5"`
	// Words is an enum of the tag.
	Words []string `json:"words,omitzero" hook:"enum=a|b c|d,minitems=1,maxitems=2"`
	// Address reads text.
	Address netip.Addr `json:"address,omitzero"`
	// Near reads text of a form.
	Near *netip.Addr `json:"near" hook:"maxlen=9,pattern='^[0-9.]+$'"`
}

// Formats are strings with formats.
type Formats struct {
	// Moment of it.
	Moment string `json:"moment,omitzero" hook:"format=date-time"`
	// Day of it.
	Day string `json:"day,omitzero" hook:"format=date"`
	// Hour of it.
	Hour string `json:"hour,omitzero" hook:"format=time"`
	// Mail of somebody.
	Mail string `json:"mail,omitzero" hook:"format=email"`
	// Host of it.
	Host string `json:"host,omitzero" hook:"format=hostname"`
	// Four is an old address.
	Four string `json:"four,omitzero" hook:"format=ipv4"`
	// Six is a new one.
	Six string `json:"six,omitzero" hook:"format=ipv6"`
	// Site of it.
	Site string `json:"site,omitzero" hook:"format=uri,maxlen=30"`
	// ID of it.
	ID *string `json:"id" hook:"format=uuid"`
}

// Numbers are numbers of every size.
type Numbers struct {
	// I of any size.
	I int `json:"i"`
	// I8 and the others have their own ranges.
	I8 int8 `json:"i8,omitzero"`
	// I16 has 16 bits.
	I16 int16 `json:"i16,omitzero"`
	// I32 has 32 bits.
	I32 int32 `json:"i32,omitzero"`
	// I64 has limits.
	I64 int64 `json:"i64,omitzero" hook:"min=-5,max=7"`
	// U of any size.
	U uint `json:"u,omitzero"`
	// U8 has one limit.
	U8 uint8 `json:"u8,omitzero" hook:"max=200"`
	// U16 has 16 bits.
	U16 uint16 `json:"u16,omitzero"`
	// U32 has 32 bits.
	U32 uint32 `json:"u32,omitzero"`
	// U64 has the other limit.
	U64 uint64 `json:"u64,omitzero" hook:"min=3"`
	// F is a float.
	F float64 `json:"f,omitzero"`
	// Ratio has limits that a float can hold.
	Ratio float64 `json:"ratio,omitzero" hook:"min=-0.5,max=1e3"`
	// Small is of single precision.
	Small *float32 `json:"small" hook:"max=2.5"`
	// Q are in quotes.
	QI int64 `json:"qi,omitzero,string"`
	// QU is natural.
	QU uint16 `json:"qu,omitzero,string"`
	// QF is a float.
	QF float64 `json:"qf,omitzero,string"`
	// QB is a boolean.
	QB bool `json:"qb,omitzero,string"`
	// Level is one of the constants.
	Level Level `json:"level,omitzero"`
	// Levels may be null.
	Levels []*Level `json:"levels,omitzero" hook:"maxitems=3"`
	// Some are of the tag.
	Some *int `json:"some" hook:"enum=1|2|-3"`
	// On or off.
	On bool `json:"on,omitzero"`
	// Off or null.
	Off *bool `json:"off"`
}

// base is embedded.
type base struct {
	// Author of it.
	Author string `json:"author" hook:"maxlen=8"`
	// Hidden is hidden by the field of the same name.
	Hidden int `json:"hidden"`
}

// Leaf lies deepest.
type Leaf struct {
	// N of it.
	N int `json:"n" hook:"min=1"`
	// Unit of it.
	Unit Priority `json:"unit,omitzero" hook:"default=low"`
}

// Nested are objects, lists and maps in each other.
type Nested struct {
	base
	// Hidden is the one that counts.
	Hidden string `json:"hidden,omitzero"`
	// Leaf must be there.
	Leaf Leaf `json:"leaf"`
	// Maybe is null or a leaf.
	Maybe *Leaf `json:"maybe"`
	// Leaves are several.
	Leaves []Leaf `json:"leaves,omitzero" hook:"maxitems=2"`
	// Pointers may be null.
	Pointers []*Leaf `json:"pointers,omitzero"`
	// ByName are leaves by name.
	ByName map[string]Leaf `json:"by_name,omitzero"`
	// Counts are numbers or null by priority.
	Counts map[Priority]*int8 `json:"counts,omitzero"`
	// Matrix of numbers.
	Matrix [][]uint8 `json:"matrix,omitzero"`
	// Lists may be null, by name.
	Lists map[string]*[]string `json:"lists,omitzero"`
	// A lies deep.
	A struct {
		// B lies deeper.
		B *struct {
			// C lies deeper.
			C []struct {
				// D lies deeper.
				D map[string]struct {
					// E is the end.
					E string `json:"e" hook:"maxlen=1"`
				} `json:"d"`
			} `json:"c,omitzero"`
		} `json:"b"`
	} `json:"a,omitzero"`
}

// Special are types that are written in their own way.
type Special struct {
	// At a time.
	At time.Time `json:"at,omitzero"`
	// Until a time.
	Until *time.Time `json:"until"`
	// Wait so long.
	Wait time.Duration `json:"wait,omitzero" hook:"default=1m30s"`
	// Data of any kind.
	Data []byte `json:"data,omitzero"`
	// Raw is kept as it is.
	//
	//hook:ignore HG037
	Raw json.RawMessage `json:"raw,omitzero"`
	// JSON is kept as it is.
	//
	//hook:ignore HG037
	JSON message.JSON `json:"json,omitzero"`
	//hook:ignore HG037
	Any any `json:"any,omitzero" hook:"description=Any is anything."`
	// Own has a form of its own.
	Own *StringOrList `json:"own"`
	// Points have a form of their own.
	Points []Point `json:"points,omitzero"`
	// Even numbers only.
	Even Even `json:"even,omitzero"`
	// Chunk is data or null.
	Chunk *[]byte `json:"chunk"`
}

// StringOrList is one string, several, or nothing.
//
//hook:schema {"type":["string","array","null"],"minLength":2,"items":{"type":"string","maxLength":3},"maxItems":2}
type StringOrList []string

// UnmarshalJSON reads all forms.
func (s *StringOrList) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return json.Unmarshal(data, (*[]string)(s))
	}
	*s = make([]string, 1)
	return json.Unmarshal(data, &(*s)[0])
}

// Point is an object, or a number.
//
//hook:schema {"type":["object","number"],"maximum":2.5,"properties":{"x":{"type":"integer","minimum":-2,"maximum":2},"tags":{"type":"object","additionalProperties":{"type":["string","null"],"enum":["a","b",null]}},"when":{"type":"string","format":"date"},"rest":{}},"required":["x"],"additionalProperties":false}
type Point struct{ text string }

// UnmarshalJSON keeps the text.
func (p *Point) UnmarshalJSON(data []byte) error {
	p.text = string(data)
	return nil
}

// Even is a number of which only its method knows that it is even.
//
//hook:schema {"type":"integer"}
type Even int

// UnmarshalJSON refuses odd numbers.
func (e *Even) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, (*int)(e)); err != nil || *e%2 != 0 {
		return errors.New("odd")
	}
	return nil
}

// Texts takes strings.
//
//hook:tool
func (r *Rich) Texts(_ context.Context, in Texts) error { r.Got = in; return nil }

// Formats takes strings with formats.
//
//hook:tool
func (r *Rich) Formats(_ context.Context, in Formats) error { r.Got = in; return nil }

// Numbers takes numbers.
//
//hook:tool
func (r *Rich) Numbers(_ context.Context, in *Numbers) error { r.Got = *in; return nil }

// Nested takes objects.
//
//hook:tool
func (r *Rich) Nested(_ context.Context, _ *hook.Env, in Nested) error { r.Got = in; return nil }

// Special takes the rest.
//
//hook:tool
func (r *Rich) Special(_ context.Context, in Special) error { r.Got = in; return nil }

// Nothing takes nothing.
//
//hook:tool
func (r *Rich) Nothing(context.Context) error { return nil }
