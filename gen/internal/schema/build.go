package schema

import (
	"go/token"
	"go/types"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/argrules"
	"github.com/grapnel-go/grapnel/internal/origin"
)

type builder struct {
	pkg      *types.Package
	src      Source
	open     []types.Type // the structs around the current field
	problems []diag.Problem
}

// report adds a problem. The result is valid until the next call.
func (b *builder) report(cause diag.Cause, pos token.Pos, subject string, facts ...any) *diag.Problem {
	b.problems = append(b.problems, diag.New(cause, b.src.Position(pos), subject, facts...))
	return &b.problems[len(b.problems)-1]
}

// name writes a type as the generated package would.
func (b *builder) name(t types.Type) string {
	if _, ok := t.(*types.Struct); ok {
		return "the struct"
	}
	return types.TypeString(t, func(p *types.Package) string {
		if p == b.pkg {
			return ""
		}
		return p.Name()
	})
}

// object reads the struct t; the field at pos mentions it.
func (b *builder) object(t types.Type, pos token.Pos) *Object {
	for i, outer := range b.open {
		if types.Identical(outer, t) {
			b.recursion(b.open[i:], pos)
			return nil
		}
	}
	if len(b.open) > argrules.MaxDepth {
		b.report(diag.InputTooDeep, pos, b.name(t), argrules.MaxDepth)
		return nil
	}
	b.open = append(b.open, t)
	defer func() { b.open = b.open[:len(b.open)-1] }()

	o := &Object{Type: t}
	for _, c := range b.candidates(t) {
		if f := b.field(t, c); f != nil {
			o.Fields = append(o.Fields, f)
		}
	}
	if len(o.Fields) > argrules.MaxFields {
		b.report(diag.TooManyFields, pos, b.name(t), len(o.Fields), argrules.MaxFields)
		return nil
	}
	return o
}

func (b *builder) recursion(cycle []types.Type, pos token.Pos) {
	path := make([]string, 0, len(cycle)+1)
	for _, t := range append(cycle[:len(cycle):len(cycle)], cycle[0]) {
		path = append(path, b.name(t))
	}
	b.report(diag.RecursiveInput, pos, path[0], strings.Join(path, " -> "))
}

func (b *builder) field(owner types.Type, c candidate) *Field {
	b.undescribable(c.v, owner)
	v := b.value(c.v.Type(), c.v, owner)
	if v == nil {
		return nil
	}
	f := &Field{Go: c.path(owner, b.pkg), Name: c.name, Value: v, Pos: b.src.Position(c.v.Pos())}
	f.Required = !v.Pointer && !c.options.omit
	if c.options.quoted && !b.quote(v, c.v) {
		return nil
	}
	if b.src.Doc != nil {
		f.Doc = origin.Text(b.src.Doc(c.v))
	}
	ok := b.constrain(f, c.v, c.hook)
	if f.Doc == "" {
		f.Doc = v.describes()
	}
	if f.Doc == "" && (b.src.Ours == nil || b.src.Ours(c.v)) {
		b.report(diag.UndescribedField, c.v.Pos(), b.name(owner), c.v.Name())
	}
	if !ok {
		return nil
	}
	return f
}

func (b *builder) quote(v *Value, field *types.Var) bool {
	switch v.Kind {
	case Int, Uint, Float, Bool:
		if len(v.Enum) == 0 {
			v.Quoted = true
			return true
		}
	}
	b.report(diag.QuotedKind, field.Pos(), field.Name(), b.name(field.Type()))
	return false
}

func (b *builder) value(t types.Type, field *types.Var, owner types.Type) *Value {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		v := b.value(p.Elem(), field, owner)
		if v == nil {
			return nil
		}
		if v.Pointer {
			b.report(diag.PointerToPointer, field.Pos(), b.name(owner), field.Name())
			return nil
		}
		v.Pointer = true
		return v
	}
	t = types.Unalias(t)
	if cause, bad := b.unnameable(t); bad {
		b.report(cause, field.Pos(), b.name(owner), field.Name(), b.pkg.Name(), b.name(t))
		return nil
	}
	if v := special(t); v != nil {
		if v.Kind == Any || v.Kind == Raw || v.Kind == JSON {
			b.report(diag.AnyInput, field.Pos(), field.Name(), b.name(t))
		}
		return v
	}
	if own := decodesItself(t); own != "" {
		return b.own(t, own, field, owner)
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return b.basic(t, u, field, owner)
	case *types.Struct:
		if o := b.object(t, field.Pos()); o != nil {
			return &Value{Kind: Struct, Type: t, Struct: o}
		}
		return nil
	case *types.Slice:
		return b.elem(List, t, u.Elem(), field, owner)
	case *types.Map:
		if key, ok := u.Key().Underlying().(*types.Basic); ok && key.Info()&types.IsString != 0 && decodesItself(u.Key()) == "" {
			return b.elem(Map, t, u.Elem(), field, owner)
		}
	}
	cause := diag.ImpossibleInput
	if _, ok := t.Underlying().(*types.Array); ok {
		cause = diag.ImpossibleArray
	}
	b.report(cause, field.Pos(), b.name(owner), field.Name(), b.name(t))
	return nil
}

func (b *builder) elem(kind Kind, t, elem types.Type, field *types.Var, owner types.Type) *Value {
	if v := b.value(elem, field, owner); v != nil {
		return &Value{Kind: kind, Type: t, Elem: v}
	}
	return nil
}

func (b *builder) basic(t types.Type, u *types.Basic, field *types.Var, owner types.Type) *Value {
	v := &Value{Type: t}
	switch ok := v.basic(u); {
	case u.Kind() == types.Invalid:
		b.report(diag.InvalidInput, field.Pos(), b.name(owner), field.Name())
		return nil
	case !ok || u.Kind() == types.Uintptr:
		b.report(diag.ImpossibleBasic, field.Pos(), b.name(owner), field.Name(), b.name(t))
		return nil
	}
	v.Enum = b.constants(v)
	return v
}

// basic makes v a value of a basic type; false if JSON has no such value.
func (v *Value) basic(u *types.Basic) bool {
	switch info := u.Info(); {
	case info&types.IsString != 0:
		v.Kind = String
	case info&types.IsBoolean != 0:
		v.Kind = Bool
	case info&types.IsUnsigned != 0:
		v.Kind, v.Bits = Uint, bitsOf(u.Kind())
	case info&types.IsInteger != 0:
		v.Kind, v.Bits = Int, bitsOf(u.Kind())
	case info&types.IsFloat != 0:
		v.Kind, v.Bits = Float, bitsOf(u.Kind())
	default:
		return false
	}
	return true
}

func bitsOf(k types.BasicKind) int {
	switch k {
	case types.Int8, types.Uint8:
		return 8
	case types.Int16, types.Uint16:
		return 16
	case types.Int32, types.Uint32, types.Float32:
		return 32
	case types.Int64, types.Uint64, types.Float64:
		return 64
	}
	return 0
}

// special returns the value of a type that the decoder treats specially, or nil.
func special(t types.Type) *Value {
	v := &Value{Type: t}
	switch fullName(t) {
	case "time.Time":
		v.Kind = Time
	case "time.Duration":
		v.Kind = Duration
	case "encoding/json.RawMessage", "encoding/json/jsontext.Value":
		v.Kind = Raw
	case "github.com/grapnel-go/grapnel/hook/message.JSON":
		v.Kind = JSON
	default:
		if s, ok := t.Underlying().(*types.Slice); ok && decodesItself(t) == "" {
			if e, ok := types.Unalias(s.Elem()).(*types.Basic); ok && e.Kind() == types.Uint8 {
				v.Kind = Bytes
				return v
			}
		}
		if i, ok := t.Underlying().(*types.Interface); ok && i.Empty() {
			v.Kind = Any
			return v
		}
		return nil
	}
	return v
}

func fullName(t types.Type) string {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.TypeArgs().Len() > 0 {
		return ""
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// decodesItself returns the method with which encoding/json lets the type decode itself, or "".
func decodesItself(t types.Type) string {
	set := types.NewMethodSet(types.NewPointer(t))
	if types.IsInterface(t) {
		return ""
	}
	for _, name := range []string{"UnmarshalJSON", "UnmarshalText"} {
		if set.Lookup(nil, name) != nil {
			return name
		}
	}
	return ""
}

// hidden reports control characters, characters that change the direction of text, and blanks other than the usual one.
func hidden(r rune) bool { return !unicode.IsPrint(r) }
