package states

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
)

// keepable returns an error if values of the type do not survive JSON. A field that JSON
// silently leaves out is an error too: its loss would show only after a restart.
func keepable(t reflect.Type) error {
	if err := comesBack(t, map[reflect.Type]bool{}); err != nil {
		return err
	}
	text, err := json.Marshal(reflect.Zero(t).Interface())
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	return err
}

var (
	marshaler       = reflect.TypeFor[json.Marshaler]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// own reports whether the type encodes itself. It is an error if it does not also decode
// itself.
func own(t reflect.Type) (bool, error) {
	p := reflect.PointerTo(t)
	writes, reads := p.Implements(marshaler), p.Implements(unmarshaler)
	writesText, readsText := p.Implements(textMarshaler), p.Implements(textUnmarshaler)
	switch {
	case writes && !reads:
		return true, fmt.Errorf("%v has MarshalJSON without UnmarshalJSON", t)
	case !writes && writesText && !reads && !readsText:
		return true, fmt.Errorf("%v has MarshalText without UnmarshalText", t)
	}
	return writes || writesText, nil
}

func comesBack(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if has, err := own(t); has {
		return err
	}
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return fmt.Errorf("JSON has no %v", t)
	case reflect.Interface:
		return fmt.Errorf("JSON does not keep the dynamic type of a value of type %v", t)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return comesBack(t.Elem(), seen)
	case reflect.Map:
		switch k := t.Key().Kind(); {
		case k == reflect.String, k >= reflect.Int && k <= reflect.Uintptr:
		case !t.Key().Implements(textMarshaler):
			return fmt.Errorf("JSON has no keys of type %v", t.Key())
		}
		return comesBack(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if err := fieldComesBack(t, t.Field(i), seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func fieldComesBack(t reflect.Type, sf reflect.StructField, seen map[reflect.Type]bool) error {
	if sf.Tag.Get("json") == "-" || sf.Name == "_" {
		return nil
	}
	if !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct) {
		return fmt.Errorf("the field %s of %v is not exported, so that JSON leaves it out: export it, or mark it with the tag `json:\"-\"`", sf.Name, t)
	}
	return comesBack(sf.Type, seen)
}
