package schema

import (
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/argrules"
)

// candidate is a field that encoding/json sees, before conflicts of names are resolved.
type candidate struct {
	v       *types.Var
	through []*types.Var // the embedded structs that it is promoted from
	name    string
	tagged  bool // the name comes from a tag
	options jsonOptions
	hook    string
}

type jsonOptions struct{ omit, quoted bool }

// path returns the selector of the field in a value of owner: its name, or the full path if the name alone means another field.
func (c candidate) path(owner types.Type, pkg *types.Package) string {
	found, _, _ := types.LookupFieldOrMethod(owner, true, pkg, c.v.Name())
	if found == c.v {
		return c.v.Name()
	}
	var names []string
	for _, v := range append(c.through[:len(c.through):len(c.through)], c.v) {
		names = append(names, v.Name())
	}
	return strings.Join(names, ".")
}

// candidates returns the fields of the struct in the order of declaration, embedded structs in place. It resolves conflicts of
// names as encoding/json does: the shallowest wins, then the one with a tag; what remains is a problem.
func (b *builder) candidates(t types.Type) []candidate {
	all := b.collect(t, nil)
	var kept []candidate
	for _, c := range all {
		if slices.ContainsFunc(all, func(o candidate) bool { return o.beats(c) }) {
			continue
		}
		same := func(o candidate) bool { return strings.EqualFold(o.name, c.name) }
		if i := slices.IndexFunc(kept, same); i >= 0 {
			b.twice(t, kept[i], c)
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// beats reports whether encoding/json prefers c to o because both have the same name.
func (c candidate) beats(o candidate) bool {
	if c.name != o.name || c.v == o.v {
		return false
	}
	if len(c.through) != len(o.through) {
		return len(c.through) < len(o.through)
	}
	return c.tagged && !o.tagged
}

func (b *builder) twice(t types.Type, first, second candidate) {
	cause := diag.DuplicateJSONName
	if first.name != second.name {
		cause = diag.SimilarJSONName
	}
	p := b.report(cause, second.v.Pos(), b.name(t), second.name, first.v.Name(), second.v.Name())
	p.Notes = append(p.Notes, diag.DeclaredHere(b.src.Position(first.v.Pos()), first.v.Name()))
}

func (b *builder) collect(t types.Type, through []*types.Var) []candidate {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	var out []candidate
	for i := range s.NumFields() {
		v, tag := s.Field(i), reflect.StructTag(s.Tag(i))
		text, tagged := tag.Lookup("json")
		if text == "-" {
			continue
		}
		name, options, _ := strings.Cut(text, ",")
		if v.Embedded() && name == "" && b.embedded(t, v) {
			if !slices.Contains(through, v) {
				out = append(out, b.collect(v.Type(), append(through[:len(through):len(through)], v))...)
			}
			continue
		}
		if !v.Exported() {
			_, hooked := tag.Lookup("hook")
			switch {
			case tagged || hooked:
				b.report(diag.TaggedUnexported, v.Pos(), b.name(t), v.Name(), either(tagged, "json", "hook"))
			case through == nil && !exports(s):
				b.report(diag.AllUnexported, v.Pos(), b.name(t), v.Name())
			}
			continue
		}
		c := candidate{v: v, through: through, name: name, tagged: name != "", hook: tag.Get("hook")}
		if name == "" {
			c.name = v.Name()
		}
		c.options, ok = b.jsonOptions(v, options)
		if ok && b.validName(v, c.name) {
			out = append(out, c)
		}
	}
	return out
}

func either(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// exports reports whether a struct has a field that JSON can set, or an embedded field that may have one.
func exports(s *types.Struct) bool {
	for v := range s.Fields() {
		if v.Exported() || v.Embedded() {
			return true
		}
	}
	return false
}

// embedded reports whether the fields of an embedded field count as the struct's.
func (b *builder) embedded(owner types.Type, v *types.Var) bool {
	t := types.Unalias(v.Type())
	if p, ok := t.(*types.Pointer); ok {
		if _, ok := p.Elem().Underlying().(*types.Struct); ok {
			b.report(diag.EmbeddedPointer, v.Pos(), b.name(owner), v.Name())
			return true
		}
		return false
	}
	_, ok := t.Underlying().(*types.Struct)
	return ok && special(t) == nil && decodesItself(t) == ""
}

func (b *builder) jsonOptions(v *types.Var, text string) (jsonOptions, bool) {
	var out jsonOptions
	if text == "" {
		return out, true
	}
	for _, word := range strings.Split(text, ",") {
		switch word {
		case "omitempty", "omitzero":
			out.omit = true
		case "string":
			out.quoted = true
		case "":
		default:
			b.report(diag.UnknownJSONOption, v.Pos(), v.Name(), word,
				diag.DidYouMean(word, []string{"omitempty", "omitzero", "string"}, `"`))
			return out, false
		}
	}
	return out, true
}

func (b *builder) validName(v *types.Var, name string) bool {
	if argrules.ValidName(name) {
		return true
	}
	b.report(diag.BadJSONName, v.Pos(), v.Name(), name, argrules.NamePattern)
	return false
}
