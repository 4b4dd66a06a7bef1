package schema

import "go/types"

// Invalid returns the part of t that does not type-check, or nil. It does not look into the definitions of named types.
func Invalid(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return t
		}
	case *types.Pointer:
		return Invalid(t.Elem())
	case *types.Slice:
		return Invalid(t.Elem())
	case *types.Array:
		return Invalid(t.Elem())
	case *types.Map:
		return firstOf(Invalid(t.Key()), Invalid(t.Elem()))
	case *types.Chan:
		return Invalid(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if bad := Invalid(arg); bad != nil {
				return bad
			}
		}
	case *types.Signature:
		return firstOf(invalidAmong(t.Params()), invalidAmong(t.Results()))
	case *types.Struct:
		for f := range t.Fields() {
			if bad := Invalid(f.Type()); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func invalidAmong(vars *types.Tuple) types.Type {
	for v := range vars.Variables() {
		if bad := Invalid(v.Type()); bad != nil {
			return bad
		}
	}
	return nil
}

func firstOf(a, b types.Type) types.Type {
	if a != nil {
		return a
	}
	return b
}
