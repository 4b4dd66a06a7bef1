package schema

import (
	"go/types"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
)

// Method is the form of a typed tool.
type Method struct {
	// Input is nil for a tool without arguments.
	Input *Object
	// Pointer: the method takes a pointer to the input.
	Pointer bool
	// Env: the method takes a *hook.Env.
	Env bool
	// Out is nil if there is only an error.
	Out types.Type
	// Output describes the JSON of the result; nil if there is none or it cannot be described.
	Output *Value
}

const (
	forms   = "func(ctx context.Context[, env *hook.Env][, in T]) (out, error), or only error, with T a struct or a pointer to one"
	envName = "github.com/grapnel-go/grapnel/hook.Env"
)

// NewMethod reads the signature of a tool and its input, which the generated code of pkg decodes. Another signature is HG030, a
// type that does not type-check HG010.
func NewMethod(pkg *types.Package, fn *types.Func, src Source) (*Method, []diag.Problem) {
	b := &builder{pkg: pkg, src: src}
	sig := fn.Signature()
	m := &Method{}
	have := b.name(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic()))
	if Invalid(sig) != nil {
		b.report(diag.InvalidSignature, fn.Pos(), have).Method = fn.Name()
		return nil, b.problems
	}
	in, ok := m.params(sig)
	if !ok || !m.results(sig) {
		p := b.report(diag.NoToolSignature, fn.Pos(), b.name(sig.Recv().Type()))
		p.Method, p.Notes = fn.Name(), diag.HaveWant(have, forms)
		return nil, b.problems
	}
	if in != nil {
		b.input(in, fn)
		m.Input = b.object(in, fn.Pos())
	}
	if m.Out != nil && !Parametric(m.Out) { // the type is known only at run time
		m.Output = b.output(m.Out, fn)
	}
	return m, diag.Sort(b.problems)
}

// params reads the parameters and returns the type of the input, nil for none.
func (m *Method) params(sig *types.Signature) (types.Type, bool) {
	list := sig.Params()
	if list.Len() == 0 || sig.Variadic() || fullName(types.Unalias(list.At(0).Type())) != "context.Context" {
		return nil, false
	}
	next := 1
	if next < list.Len() {
		if p, ok := types.Unalias(list.At(next).Type()).(*types.Pointer); ok && fullName(types.Unalias(p.Elem())) == envName {
			m.Env = true
			next++
		}
	}
	if next == list.Len() {
		return nil, true
	}
	in := types.Unalias(list.At(next).Type())
	if p, ok := in.(*types.Pointer); ok {
		m.Pointer, in = true, types.Unalias(p.Elem())
	}
	_, ok := in.Underlying().(*types.Struct)
	return in, ok && fullName(in) != envName && next+1 == list.Len()
}

func (m *Method) results(sig *types.Signature) bool {
	list := sig.Results()
	if n := list.Len(); n == 0 || n > 2 || !types.Identical(list.At(n-1).Type(), types.Universe.Lookup("error").Type()) {
		return false
	}
	if list.Len() == 1 {
		return true
	}
	m.Out = list.At(0).Type()
	switch m.Out.Underlying().(type) {
	case *types.Chan, *types.Signature:
		return false
	}
	return true
}
