package emit

import (
	"fmt"
	"go/types"
	"strconv"

	"github.com/dave/jennifer/jen"
)

// typeCode writes a type as package path does. Only what can stand in a signature or a tool input is known.
func typeCode(t types.Type, path string) *jen.Statement {
	inner := func(t types.Type) *jen.Statement { return typeCode(t, path) }
	switch t := t.(type) {
	case *types.Alias:
		return withArgs(named(t.Obj(), path), t.TypeArgs(), path)
	case *types.Named:
		return withArgs(named(t.Obj(), path), t.TypeArgs(), path)
	case *types.TypeParam:
		return identifier(t.Obj().Name())
	case *types.Basic:
		return jen.Id(t.Name())
	case *types.Pointer:
		return jen.Op("*").Add(inner(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(inner(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(inner(t.Elem()))
	case *types.Map:
		return jen.Map(inner(t.Key())).Add(inner(t.Elem()))
	case *types.Interface:
		if t.Empty() {
			return jen.Any()
		}
	case *types.Struct:
		return structCode(t, path)
	case *types.Signature:
		return jen.Func().Add(signatureCode(nil, t, path))
	case *types.Chan:
		switch t.Dir() {
		case types.SendOnly:
			return jen.Chan().Op("<-").Add(inner(t.Elem()))
		case types.RecvOnly:
			return jen.Op("<-").Chan().Add(inner(t.Elem()))
		}
		return jen.Chan().Parens(inner(t.Elem()))
	}
	panic(fmt.Sprintf("emit: type %s: it cannot be written here", t))
}

func named(obj *types.TypeName, path string) *jen.Statement {
	if obj.Pkg() == nil || obj.Pkg().Path() == path {
		return identifier(obj.Name())
	}
	return jen.Qual(obj.Pkg().Path(), obj.Name())
}

func withArgs(name *jen.Statement, list *types.TypeList, path string) *jen.Statement {
	if list.Len() == 0 {
		return name
	}
	var args []jen.Code
	for t := range list.Types() {
		args = append(args, typeCode(t, path))
	}
	return name.Types(args...)
}

func structCode(s *types.Struct, path string) *jen.Statement {
	var fields []jen.Code
	for i := range s.NumFields() {
		f := typeCode(s.Field(i).Type(), path)
		if !s.Field(i).Embedded() {
			f = identifier(s.Field(i).Name()).Add(f)
		}
		if tag := s.Tag(i); tag != "" {
			f.Op(tagText(tag))
		}
		fields = append(fields, f)
	}
	return jen.Struct(fields...)
}

// tagText writes a struct tag exactly as it is: the type is another one with another tag.
func tagText(tag string) string {
	if strconv.CanBackquote(tag) {
		return "`" + tag + "`"
	}
	return strconv.Quote(tag)
}

// signatureCode writes parameters and results; recv is the first parameter of a method expression, or nil.
func signatureCode(recv jen.Code, sig *types.Signature, path string) *jen.Statement {
	var params, results []jen.Code
	if recv != nil {
		params = append(params, recv)
	}
	for v := range sig.Params().Variables() {
		params = append(params, typeCode(v.Type(), path))
	}
	for v := range sig.Results().Variables() {
		results = append(results, typeCode(v.Type(), path))
	}
	out := jen.Params(params...)
	if len(results) == 1 {
		return out.Add(results[0])
	}
	return out.Params(results...)
}
