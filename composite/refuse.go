package composite

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

var (
	hookPath    = reflect.TypeFor[hook.Nop]().PkgPath()
	contextType = reflect.TypeFor[context.Context]()
	tagKey      = regexp.MustCompile(`([A-Za-z]+):"`)
)

// signed caches the result of signatures.
var signed struct {
	once sync.Once
	by   map[string]reflect.Type
}

// signatures returns the type of the method of every point, without a receiver: the
// dynamic composite has them all. It is computed on demand. As the initial value of a
// variable every program with a composite would reach MethodByName, which makes the linker
// keep all methods of all types, some megabytes.
func signatures() map[string]reflect.Type {
	signed.once.Do(func() {
		signed.by = map[string]reflect.Type{}
		t := reflect.TypeFor[*Composite]()
		for p := range point.All() {
			if m, ok := t.MethodByName(p.String()); ok {
				signed.by[p.String()] = unbound(m, t)
			}
		}
	})
	return signed.by
}

func unbound(m reflect.Method, t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Interface {
		return m.Type
	}
	var in, out []reflect.Type
	for i := 1; i < m.Type.NumIn(); i++ {
		in = append(in, m.Type.In(i))
	}
	for o := range m.Type.Outs() {
		out = append(out, o)
	}
	return reflect.FuncOf(in, out, m.Type.IsVariadic())
}

// looks is the result of inspecting the methods of a type.
type looks struct {
	// like: the type is probably meant as a hook. A method fits a point, or has its name
	// and uses a type of package hook. OnClose alone does not count.
	like bool
	// missing are the methods of hook.Hook that the type lacks.
	missing []string
	// wrong are methods that almost fit a point.
	wrong []plan.Problem
}

func inspect(t reflect.Type) looks {
	if t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
		t = reflect.PointerTo(t)
	}
	var l looks
	want := signatures()
	for p, info := range point.All() {
		m, ok := t.MethodByName(info.Name)
		switch {
		case !ok && info.Kind == "facade":
			l.missing = append(l.missing, info.Name)
		case !ok:
		case unbound(m, t) == want[info.Name]:
			l.like = l.like || p != point.OnClose
		default:
			l.like = l.like || speaksOfHooks(unbound(m, t))
			problem := plan.Misfit(t.String(), info.Name, info.Kind == "facade")
			problem.Message += fmt.Sprintf(" (have %s, want %s)", unbound(m, t), want[info.Name])
			l.wrong = append(l.wrong, problem)
		}
	}
	l.wrong = append(l.wrong, nearMisses(t, want)...)
	if t.Kind() == reflect.Pointer {
		if owner := embedsNilNop(t.Elem()); owner != nil {
			l.wrong = append(l.wrong, plan.NilNop(owner.String()))
		}
	}
	return l
}

// embedsNilNop returns the struct, t or one that it embeds, that embeds *hook.Nop; nil if there is none.
func embedsNilNop(t reflect.Type) reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for f := range t.Fields() {
		if f.Anonymous && f.Type == reflect.TypeFor[*hook.Nop]() {
			return t
		}
		if f.Anonymous {
			if owner := embedsNilNop(f.Type); owner != nil {
				return owner
			}
		}
	}
	return nil
}

func speaksOfHooks(f reflect.Type) bool {
	has := func(t reflect.Type) bool {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		return t.PkgPath() == hookPath
	}
	for t := range f.Ins() {
		if has(t) {
			return true
		}
	}
	for t := range f.Outs() {
		if has(t) {
			return true
		}
	}
	return false
}

func nearMisses(t reflect.Type, want map[string]reflect.Type) []plan.Problem {
	var out []plan.Problem
	for i := range t.NumMethod() {
		m := t.Method(i)
		if want[m.Name] != nil {
			continue
		}
		var points []string
		for p := range point.All() {
			if name := p.String(); !withContext(want[name]) || withContext(unbound(m, t)) {
				points = append(points, name)
			}
		}
		if name := plan.Nearest(m.Name, points); name != "" {
			out = append(out, plan.Near(t.String(), m.Name, name))
		}
	}
	return out
}

func withContext(f reflect.Type) bool { return f.NumIn() > 0 && f.In(0) == contextType }

func isHook(t reflect.Type) bool {
	return t.Implements(hookType) || reflect.PointerTo(t).Implements(hookType)
}

// misfits returns an error for the methods of a hook that look like points and are never
// called. It accepts every hook in a field of an interface type.
func misfits(t reflect.Type) error {
	if t.Kind() == reflect.Interface {
		return nil
	}
	var errs []error
	for _, p := range inspect(t).wrong {
		p.Fix += ", or make the field a hook.Hook if it is meant as it is"
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// refuse returns an error for a field that is neither a hook nor a group but looks like one;
// nil if it does not.
func refuse(sf reflect.StructField, v reflect.Value, tagged bool) error {
	if name := pointOfFunc(sf.Type); name != "" {
		return plan.BareFunc(sf.Name, name)
	}
	if l := inspect(sf.Type); l.like {
		var errs []error
		if l.missing != nil {
			errs = append(errs, plan.NoHook(sf.Type.String(), l.missing, sf.Type.Kind() == reflect.Interface))
		}
		for _, p := range l.wrong {
			errs = append(errs, p)
		}
		return errors.Join(errs...)
	}
	if what := held(sf.Type, v, maxHeld); what != "" {
		if sf.Type.Kind() == reflect.Slice && guardLike(sf.Type.Elem()) {
			return plan.NoGroup(sf.Name, sf.Type.String())
		}
		return plan.Holds(sf.Type.String(), what)
	}
	if tagged {
		return plan.NoHook(sf.Type.String(), nil, false)
	}
	return nil
}

// maxHeld bounds the depth of the search for hooks in a value.
const maxHeld = 3

// held describes a part of a value that looks like a hook; "" if there is none. If v is
// invalid, held searches the type.
func held(t reflect.Type, v reflect.Value, depth int) string {
	if depth == 0 || t.PkgPath() == hookPath {
		return ""
	}
	switch t.Kind() {
	case reflect.Interface:
		if v.IsValid() && !v.IsNil() {
			return found(v.Elem().Type(), v.Elem(), depth)
		}
	case reflect.Pointer:
		if v.IsValid() && v.IsNil() {
			v = reflect.Value{}
		} else if v.IsValid() {
			v = v.Elem()
		}
		return found(t.Elem(), v, depth)
	case reflect.Slice, reflect.Array, reflect.Chan, reflect.Map:
		return heldInElements(t, v, depth)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && f.Tag.Get("hook") != "-" {
				if what := found(f.Type, reflect.Value{}, depth); what != "" {
					return what + " in " + f.Name
				}
			}
		}
	}
	return ""
}

func heldInElements(t reflect.Type, v reflect.Value, depth int) string {
	if what := found(t.Elem(), reflect.Value{}, depth); what != "" {
		return what
	}
	if t.Elem().Kind() != reflect.Interface || !v.IsValid() {
		return ""
	}
	switch t.Kind() {
	case reflect.Map:
		for _, e := range v.Seq2() {
			if what := found(t.Elem(), e, depth); what != "" {
				return what
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if what := found(t.Elem(), v.Index(i), depth); what != "" {
				return what
			}
		}
	}
	return ""
}

// found returns the type if it looks like a hook, and otherwise searches it with held.
func found(t reflect.Type, v reflect.Value, depth int) string {
	if guardLike(t) {
		return strings.TrimPrefix(t.String(), "*")
	}
	return held(t, v, depth-1)
}

func guardLike(t reflect.Type) bool {
	return t != reflect.TypeFor[hook.Nop]() && (isHook(t) || pointOfFunc(t) != "" || inspect(t).like)
}

// pointOfFunc returns the one-method point with the signature of a function, or "". It
// ignores OnClose, whose signature is too common.
func pointOfFunc(t reflect.Type) string {
	if t.Kind() != reflect.Func {
		return ""
	}
	want := signatures()
	for p, info := range point.All() {
		if info.Kind != "facade" && p != point.OnClose && want[info.Name].ConvertibleTo(t) {
			return info.Name
		}
	}
	return ""
}

// nearKeys returns an error for misspelt tag keys, almost "hook".
func nearKeys(tag reflect.StructTag) error {
	var errs []error
	if p, bad := plan.BadTag(string(tag)); bad {
		errs = append(errs, p)
	}
	for _, key := range tagKey.FindAllStringSubmatch(string(tag), -1) {
		if p, near := plan.NearKey(key[1]); near {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}
