package model

import (
	"go/types"

	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/load"
)

// Form is how a tool's method is called.
type Form struct {
	// Env: it takes a *hook.Env.
	Env bool
	// Input is the struct of the arguments, named or not; nil for a tool without arguments.
	Input types.Type
	// Pointer: it takes a pointer to the input.
	Pointer bool
}

const wantForm = "func(ctx context.Context[, env *hook.Env][, in T]) (out, error), or only error, with T a struct or a pointer to one"

// Form reads the signature of a tool; false if it is none that can be called, which is then noted.
func (m *Model) Form(t *Tool) (Form, bool) {
	sig := t.Method.Signature()
	if bad := invalidIn(sig); bad != nil {
		m.invalid(t.Method.Pos(), "the signature of "+t.Method.Name(), bad)
		return Form{}, false
	}
	form, ok := formOf(sig)
	if ok {
		return form, true
	}
	m.Add(diag.Problem{
		Code: "HG030", Pos: m.Position(t.Pos),
		Message: "(" + m.relative(sig.Recv().Type(), t.Method.Pkg()) + ")." + t.Method.Name() + " cannot be a tool: its signature is none of a tool's",
		Notes: []diag.Note{
			{Message: "have " + m.relative(sig, t.Method.Pkg())},
			{Message: "want " + wantForm},
		},
		Fix: "change the signature, or drop //hook:tool",
	})
	return Form{}, false
}

func formOf(sig *types.Signature) (Form, bool) {
	var f Form
	params := sig.Params()
	if sig.Variadic() || params.Len() == 0 || !isType(params.At(0).Type(), "context", "Context") {
		return f, false
	}
	at := 1
	if at < params.Len() {
		if p, ok := types.Unalias(params.At(at).Type()).(*types.Pointer); ok && isType(p.Elem(), load.HookPath, "Env") {
			f.Env = true
			at++
		}
	}
	if at < params.Len() {
		f.Input = params.At(at).Type()
		if p, ok := types.Unalias(f.Input).(*types.Pointer); ok {
			f.Input, f.Pointer = p.Elem(), true
		}
		if _, ok := f.Input.Underlying().(*types.Struct); !ok {
			return f, false
		}
		at++
	}
	return f, at == params.Len() && resultsFit(sig.Results())
}

func resultsFit(results *types.Tuple) bool {
	n := results.Len()
	return (n == 1 || n == 2) && types.Identical(results.At(n-1).Type(), types.Universe.Lookup("error").Type())
}

// isType tells whether t is the named type of a package.
func isType(t types.Type, pkg, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg && n.Obj().Name() == name
}

// relative writes a type for people: names of other packages with the package's name.
func (m *Model) relative(t types.Type, from *types.Package) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == from {
			return ""
		}
		return p.Name()
	})
}
