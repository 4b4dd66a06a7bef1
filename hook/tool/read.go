package tool

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/grapnel-go/grapnel/composite/args"
)

// read decodes the value into the settable to, as generated code does. d keeps the first error.
func (v *value) read(d *args.Decoder, to reflect.Value) {
	if v.null {
		if d.Null() {
			return
		}
		p := reflect.New(v.typ)
		to.Set(p)
		to = p.Elem()
	}
	switch v.kind {
	case object:
		v.readObject(d, to)
	case list:
		v.readList(d, to)
	case dict:
		v.readDict(d, to)
	case text:
		to.SetString(d.String())
	case number:
		v.readNumber(d, to)
	case boolean:
		if v.quoted {
			to.SetBool(d.QuotedBool())
		} else {
			to.SetBool(d.Bool())
		}
	case base64:
		to.SetBytes(d.Bytes())
	case moment:
		to.Set(reflect.ValueOf(d.Time()))
	case duration:
		to.SetInt(int64(d.Duration()))
	case canonical:
		to.SetString(string(d.Raw()))
	case raw:
		to.SetBytes([]byte(d.Raw()))
	case anything:
		if got := d.Any(); got != nil {
			to.Set(reflect.ValueOf(got))
		}
	case ownText:
		s := d.String()
		v.checkText(d, s)
		d.Text(s, to.Addr().Interface().(encoding.TextUnmarshaler))
		return
	}
	v.check(d, to)
}

func (v *value) readObject(d *args.Decoder, to reflect.Value) {
	for _, f := range v.fields {
		if f.fallback.IsValid() {
			to.FieldByIndex(f.index).Set(f.fallback)
		}
	}
	o := d.Object()
	for o.Next() {
		i := v.fieldAt(o.Key())
		if i < 0 {
			o.Unknown(v.names()...)
			return
		}
		f := v.fields[i]
		if !f.nullIsAbsent() {
			o.Once(uint(i))
		} else if !o.Given(uint(i)) {
			continue
		}
		f.value.read(d, to.FieldByIndex(f.index))
	}
	for i, f := range v.fields {
		if f.required {
			o.Require(uint(i), f.name)
		}
	}
}

func (v *value) fieldAt(name string) int {
	for i, f := range v.fields {
		if f.name == name {
			return i
		}
	}
	return -1
}

func (v *value) names() []string {
	names := make([]string, len(v.fields))
	for i, f := range v.fields {
		names[i] = f.name
	}
	return names
}

// nullIsAbsent reports whether null counts as not given.
func (f *field) nullIsAbsent() bool {
	return !f.required && (f.value.null || f.value.kind != canonical && f.value.kind != raw)
}

func (v *value) readList(d *args.Decoder, to reflect.Value) {
	a := d.Array()
	out := reflect.MakeSlice(v.typ, 0, 0)
	for a.Next() {
		item := reflect.New(v.typ.Elem()).Elem()
		v.elem.read(d, item)
		out = reflect.Append(out, item)
	}
	to.Set(out)
	if v.schema.MinItems != nil {
		a.AtLeast(*v.schema.MinItems)
	}
	if v.schema.MaxItems != nil {
		a.AtMost(*v.schema.MaxItems)
	}
}

func (v *value) readDict(d *args.Decoder, to reflect.Value) {
	m := d.Object()
	to.Set(reflect.MakeMap(v.typ))
	for m.Next() {
		key := reflect.ValueOf(m.Key()).Convert(v.typ.Key())
		if to.MapIndex(key).IsValid() {
			m.Twice()
		}
		item := reflect.New(v.typ.Elem()).Elem()
		v.elem.read(d, item)
		to.SetMapIndex(key, item)
	}
}

func (v *value) readNumber(d *args.Decoder, to reflect.Value) {
	bits := v.typ.Bits()
	switch {
	case to.CanInt() && v.quoted:
		to.SetInt(d.QuotedInt(bits))
	case to.CanInt():
		to.SetInt(d.Int(bits))
	case to.CanUint() && v.quoted:
		to.SetUint(d.QuotedUint(bits))
	case to.CanUint():
		to.SetUint(d.Uint(bits))
	case v.quoted:
		to.SetFloat(d.QuotedFloat(bits))
	default:
		to.SetFloat(d.Float(bits))
	}
}

// check refuses the last decoded value if it breaks a limit.
func (v *value) check(d *args.Decoder, got reflect.Value) {
	switch {
	case len(v.enum) > 0:
		for _, want := range v.enum {
			if want.Equal(got) {
				return
			}
		}
		d.Refuse("must be one of " + strings.Join(v.enumTokens, ", "))
	case v.kind == text:
		v.checkText(d, got.String())
	case v.kind == number:
		v.checkBounds(d, asFloat(got))
	}
}

func (v *value) checkText(d *args.Decoder, s string) {
	if v.schema.MinLength != nil {
		d.MinLen(s, *v.schema.MinLength)
	}
	if v.schema.MaxLength != nil {
		d.MaxLen(s, *v.schema.MaxLength)
	}
	if v.pattern != nil {
		d.Pattern(s, v.pattern)
	}
	if v.schema.Format != "" {
		d.Format(s, v.schema.Format)
	}
}

func (v *value) checkBounds(d *args.Decoder, n float64) {
	low, high := v.min != nil && n < v.min.n, v.max != nil && n > v.max.n
	switch {
	case !low && !high:
	case v.max == nil:
		d.Refuse("must be at least " + v.min.text)
	case v.min == nil:
		d.Refuse("must be at most " + v.max.text)
	default:
		d.Refuse("must lie between " + v.min.text + " and " + v.max.text)
	}
}

// asFloat loses nothing: a number that has bounds lies within ±(2^53-1).
func asFloat(v reflect.Value) float64 {
	switch {
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return v.Float()
}
