package emit

import (
	"fmt"
	"go/types"
	"strconv"

	"github.com/dave/jennifer/jen"
)

// Type writes a type and notes its imports. It panics for a type that the package cannot name; callers have checked that.
func (f *File) Type(t types.Type) *jen.Statement {
	switch t := t.(type) {
	case *types.Basic:
		return f.basic(t)
	case *types.Named:
		return f.named(t.Obj(), t.TypeArgs())
	case *types.Alias:
		return f.named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return jen.Op("*").Add(f.Type(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(f.Type(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(f.Type(t.Elem()))
	case *types.Map:
		return jen.Map(f.Type(t.Key())).Add(f.Type(t.Elem()))
	case *types.Chan:
		return f.channel(t)
	case *types.Signature:
		return jen.Func().Add(f.Signature(t, nil))
	case *types.Struct:
		return f.structure(t)
	case *types.Interface:
		return f.iface(t)
	case *types.Union:
		return f.union(t)
	case *types.TypeParam:
		return identifier(t.Obj().Name())
	}
	panic(fmt.Sprintf("emit: type %s: cannot be written", t))
}

func (f *File) basic(t *types.Basic) *jen.Statement {
	switch t.Kind() {
	case types.UnsafePointer:
		return jen.Qual("unsafe", "Pointer")
	case types.Invalid:
		panic("emit: invalid type")
	}
	return jen.Id(t.Name())
}

func (f *File) named(obj *types.TypeName, args *types.TypeList) *jen.Statement {
	var out *jen.Statement
	if obj.Pkg() == nil {
		out = jen.Id(obj.Name())
	} else {
		out = f.Qual(obj.Pkg(), obj.Name())
	}
	if args.Len() == 0 {
		return out
	}
	var list []jen.Code
	for t := range args.Types() {
		list = append(list, f.Type(t))
	}
	return out.Types(list...)
}

func (f *File) channel(t *types.Chan) *jen.Statement {
	switch t.Dir() {
	case types.SendOnly:
		return jen.Chan().Op("<-").Add(f.Type(t.Elem()))
	case types.RecvOnly:
		return jen.Op("<-").Chan().Add(f.Type(t.Elem()))
	}
	return jen.Chan().Parens(f.Type(t.Elem()))
}

func (f *File) structure(t *types.Struct) *jen.Statement {
	var fields []jen.Code
	for i := range t.NumFields() {
		v := t.Field(i)
		field := f.Type(v.Type())
		if !v.Embedded() {
			field = identifier(v.Name()).Add(field)
		}
		if tag := t.Tag(i); tag != "" {
			field.Op(tagLiteral(tag))
		}
		fields = append(fields, field)
	}
	return jen.Struct(fields...)
}

// tagLiteral writes a struct tag byte for byte.
func tagLiteral(tag string) string {
	if strconv.CanBackquote(tag) {
		return "`" + tag + "`"
	}
	return fmt.Sprintf("%q", tag)
}

func (f *File) iface(t *types.Interface) *jen.Statement {
	if t.Empty() {
		return jen.Any()
	}
	var list []jen.Code
	for m := range t.ExplicitMethods() {
		list = append(list, identifier(m.Name()).Add(f.Signature(m.Signature(), nil)))
	}
	for e := range t.EmbeddedTypes() {
		list = append(list, f.Type(e))
	}
	return jen.Interface(list...)
}

// Signature writes parameters and results. names are those of the parameters; nil for none.
func (f *File) Signature(sig *types.Signature, names []string) *jen.Statement {
	var params, results []jen.Code
	for i := range sig.Params().Len() {
		t := sig.Params().At(i).Type()
		code := f.Type(t)
		if s, ok := t.(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
			code = jen.Op("...").Add(f.Type(s.Elem()))
		}
		if names != nil {
			code = identifier(names[i]).Add(code)
		}
		params = append(params, code)
	}
	for v := range sig.Results().Variables() {
		results = append(results, f.Type(v.Type()))
	}
	out := jen.Params(params...)
	switch len(results) {
	case 0:
		return out
	case 1:
		return out.Add(results[0])
	}
	return out.Params(results...)
}

func (f *File) union(t *types.Union) *jen.Statement {
	out := jen.Null()
	for i := range t.Len() {
		if i > 0 {
			out.Op("|")
		}
		if t.Term(i).Tilde() {
			out.Op("~")
		}
		out.Add(f.Type(t.Term(i).Type()))
	}
	return out
}

// typeParameters writes the list that declares type parameters, [K comparable, V any]; nothing for none.
func (f *File) typeParameters(params *types.TypeParamList) *jen.Statement {
	if params.Len() == 0 {
		return jen.Null()
	}
	var list []jen.Code
	for p := range params.TypeParams() {
		list = append(list, identifier(p.Obj().Name()).Add(f.Type(p.Constraint())))
	}
	return jen.Types(list...)
}

// typeArguments writes the list that passes them on, [K, V].
func typeArguments(params *types.TypeParamList) *jen.Statement {
	if params.Len() == 0 {
		return jen.Null()
	}
	var list []jen.Code
	for p := range params.TypeParams() {
		list = append(list, identifier(p.Obj().Name()))
	}
	return jen.Types(list...)
}
