package schema

import "go/types"

// encodesItself returns the method with which encoding/json lets the type encode itself, or "".
func encodesItself(t types.Type) string {
	if types.IsInterface(t) {
		return ""
	}
	set := types.NewMethodSet(types.NewPointer(t))
	for _, name := range []string{"MarshalJSON", "MarshalText"} {
		if set.Lookup(nil, name) != nil {
			return name
		}
	}
	return ""
}
