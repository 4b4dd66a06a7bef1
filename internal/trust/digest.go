package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Digest returns the digest of values: of every field, slice, map and pointer in them,
// exported or not. A new field of a type that has an effect is covered by itself. It panics
// for functions and channels, which no configuration has.
func Digest(values ...any) string {
	h := sha256.New()
	for _, v := range values {
		writeValue(h, reflect.ValueOf(v))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// writeValue writes the value so that no two values of one type have the same bytes.
// It panics for functions and channels, which no configuration has.
func writeValue(w io.Writer, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
		fmt.Fprint(w, "nil;")
	case reflect.Struct:
		fmt.Fprintf(w, "{%d:", v.NumField())
		for i := range v.NumField() {
			fmt.Fprintf(w, "%q=", v.Type().Field(i).Name)
			writeValue(w, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(w, "[%d:", v.Len())
		for i := range v.Len() {
			writeValue(w, v.Index(i))
		}
	case reflect.Map:
		fmt.Fprintf(w, "map[%d:", v.Len())
		keys := map[string]reflect.Value{}
		for _, k := range v.MapKeys() {
			var sb strings.Builder
			writeValue(&sb, k)
			keys[sb.String()] = v.MapIndex(k)
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			fmt.Fprint(w, k)
			writeValue(w, keys[k])
		}
	case reflect.Pointer, reflect.Interface:
		fmt.Fprintf(w, "*%t", v.IsNil())
		writeValue(w, v.Elem())
	case reflect.String:
		fmt.Fprintf(w, "%q;", v.String())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		fmt.Fprintf(w, "%v;", v)
	default:
		panic(fmt.Sprintf("trust: digest of a %s: what is approved holds data only", v.Type()))
	}
}
