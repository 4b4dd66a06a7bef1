package schema

import "go/types"

// Parametric reports whether a type depends on a type parameter.
func Parametric(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if Parametric(arg) {
				return true
			}
		}
	case *types.Pointer:
		return Parametric(t.Elem())
	case *types.Slice:
		return Parametric(t.Elem())
	case *types.Array:
		return Parametric(t.Elem())
	case *types.Chan:
		return Parametric(t.Elem())
	case *types.Map:
		return Parametric(t.Key()) || Parametric(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if Parametric(f.Type()) {
				return true
			}
		}
	case *types.Signature:
		return parametricAny(t.Params()) || parametricAny(t.Results())
	}
	return false
}

func parametricAny(vars *types.Tuple) bool {
	for v := range vars.Variables() {
		if Parametric(v.Type()) {
			return true
		}
	}
	return false
}
