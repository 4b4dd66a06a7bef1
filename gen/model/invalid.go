package model

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/diag"
)

// invalidIn returns the invalid type that t is made of, or nil. It does not look into the definitions of named types: only what
// is written here must be valid.
func invalidIn(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.Invalid {
			return t
		}
	case *types.Pointer:
		return invalidIn(t.Elem())
	case *types.Slice:
		return invalidIn(t.Elem())
	case *types.Array:
		return invalidIn(t.Elem())
	case *types.Map:
		return firstOf(invalidIn(t.Key()), invalidIn(t.Elem()))
	case *types.Chan:
		return invalidIn(t.Elem())
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if bad := invalidIn(arg); bad != nil {
				return bad
			}
		}
	case *types.Signature:
		return firstOf(invalidInAll(t.Params()), invalidInAll(t.Results()))
	case *types.Struct:
		for f := range t.Fields() {
			if bad := invalidIn(f.Type()); bad != nil {
				return bad
			}
		}
	}
	return nil
}

func invalidInAll(vars *types.Tuple) types.Type {
	for v := range vars.Variables() {
		if bad := invalidIn(v.Type()); bad != nil {
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

// invalid reports something that does not type-check, with what the checker says about that line or about the imports.
func (m *Model) invalid(pos token.Pos, what string, _ types.Type) {
	at := m.Position(pos)
	p := diag.Problem{Code: "HG010", Pos: at, Message: what + " has a type that is not valid"}
	for _, path := range slices.Sorted(maps.Keys(m.packages)) {
		for _, e := range m.packages[path].Errors {
			if where := m.Position(e.Pos); where.Filename == at.Filename && where.Line == at.Line {
				p.Notes = append(p.Notes, diag.Note{Pos: where, Message: e.Msg})
			}
		}
	}
	if p.Notes == nil {
		p.Notes = m.importErrors(at.Filename)
	}
	m.once(p)
}

// importErrors are the packages that a file imports in vain.
func (m *Model) importErrors(file string) []diag.Note {
	var notes []diag.Note
	for _, path := range slices.Sorted(maps.Keys(m.packages)) {
		for _, e := range m.packages[path].Errors {
			if where := m.Position(e.Pos); where.Filename == file && strings.HasPrefix(e.Msg, "could not import") {
				notes = append(notes, diag.Note{Pos: where, Message: e.Msg})
			}
		}
	}
	return notes
}
