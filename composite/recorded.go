package composite

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/hook"
)

// RecordOptions are options of [Recorded]; nil is all zero values.
type RecordOptions struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Recorded returns a hook that does what h does and tells of every hook run, as a
// [hook.EventHookRun] to the host of the place. Code that is generated has no part
// in it and pays nothing: the hook returned is a dynamic composite over the members
// that h has at this moment, with the order, the tools and the policies of its
// plan. Composites among the members, in groups too, are taken apart in the same
// way, so that runs have full paths, "Core.Guard". A hook that is no composite is
// one member, named by its type; so is a composite with hand-written methods of
// its own (plan.Plan.Own), because only the whole does what its author wants.
//
// Recorded are the points beside hook.Hook, OnBuildAgent, OnRegisterAgent,
// OnUnregisterAgent, Preprocess, and the Dispatch of the tool's owner. Schema,
// SystemPrompt and ScopedTools are not, because they say what a hook is; nor is
// OnEvent, which is told of the runs itself. Of a hook that is known only at run
// time nobody can say whether a method of hook.Hook is its own or hook.Nop's: what
// changes nothing there and does not fail is not told. Nor is a hook that its tag
// says is not meant (match=). A run is told when it is over; a hook that
// was late is abandoned and not waited for.
func Recorded(h hook.Hook, o *RecordOptions) hook.Hook {
	if c, ok := h.(*Composite); ok && c.rec != nil {
		return h
	}
	rec := &recorder{now: time.Now}
	if o != nil && o.Now != nil {
		rec.now = o.Now
	}
	if h == nil {
		h = hook.Nop{}
	}
	if c := rec.twin(h, "", "", nil); c != nil {
		return c
	}
	return rec.single(h)
}

// twin returns the recording twin of a composite; nil if h is none that can be
// taken apart. path and prefix are what lies above it, and around who may see its
// runs.
func (rec *recorder) twin(h hook.Hook, path, prefix string, around map[hook.Point]hook.Visibility) *Composite {
	c, ok := h.(*Composite)
	if !ok {
		c = mirror(h)
	}
	if c == nil {
		return nil
	}
	out := *c
	out.rec, out.path, out.public, out.around = rec, path, prefix, around
	out.members = slices.Clone(c.members)
	for i := range out.members {
		m := &out.members[i]
		m.run = within(path, m.path)
		if inner := rec.twin(m.hook, m.run, prefix+m.prefix, out.visibilities(m)); inner != nil {
			m.hook, m.nested = inner, true
		}
	}
	out.link()
	return &out
}

// visibilities are who may see the runs of the member at each point that says so.
func (c *Composite) visibilities(m *member) map[hook.Point]hook.Visibility {
	out := map[hook.Point]hook.Visibility{}
	for p := range hook.Points() {
		if v := c.visibility(m, p); v != "" {
			out[p] = v
		}
	}
	return out
}

// single returns the composite of one hook. It has no path, so that answers and
// failures are as the hook's own.
func (rec *recorder) single(h hook.Hook) *Composite {
	name := strings.TrimPrefix(fmt.Sprintf("%T", h), "*")
	c := &Composite{name: name, rec: rec, plan: &plan.Plan{Type: name, Members: []plan.Member{{Type: fmt.Sprintf("%T", h), Dynamic: true}}}}
	c.add(Field{Hook: h, Options: plan.Options{Dynamic: true}})
	c.members[0].run = name
	c.route()
	c.link()
	return c
}

// mirror returns the dynamic composite of a generated one as it is now; nil if h is
// none, or has methods of its own.
func mirror(h hook.Hook) *Composite {
	if c := mirrored(h); c != nil && len(c.plan.Own) == 0 {
		return c
	}
	return nil
}

// mirrored is mirror, also of a composite with methods of its own.
func mirrored(h hook.Hook) *Composite {
	own, ok := h.(planned)
	v := reflect.ValueOf(h)
	if !ok || v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil
	}
	p, v := own.Plan(), v.Elem()
	name, _, _ := strings.Cut(v.Type().String(), "[") // without type arguments
	if p == nil || p.Type != name {
		return nil // of somebody else: the plan is that of a composite which h embeds
	}
	c := &Composite{name: p.Type, plan: p, routes: map[string]route{}}
	for _, m := range p.Members {
		f, ok := memberField(v, m.Field)
		if !ok {
			return nil
		}
		at := len(c.members)
		c.fields = append(c.fields, f)
		if c.add(f); f.Hook == nil {
			c.required(f)
			continue
		}
		for _, tool := range m.Tools {
			c.routes[tool] = route{at, strings.TrimPrefix(tool, m.Prefix)}
		}
		c.members[at].known = named(m.Points)
	}
	for _, m := range c.members {
		c.points |= m.points
	}
	c.link()
	return c
}

// named returns the points of a member that the generator has found.
func named(uses []plan.PointUse) (set hook.PointSet) {
	for p, info := range hook.Points() {
		if slices.ContainsFunc(uses, func(u plan.PointUse) bool { return u.Name == info.Name }) {
			set = set.With(hook.SetOf(p))
		}
	}
	return set
}

// memberField reads the field of a generated composite, which may be unexported.
func memberField(v reflect.Value, name string) (Field, bool) {
	sf, ok := v.Type().FieldByName(name)
	if !ok || len(sf.Index) > 1 {
		return Field{}, false
	}
	options, problems := plan.ParseTag(sf.Tag.Get("hook"), planPoints(everyPoint))
	if problems != nil {
		return Field{}, false // not the tag that it was generated from
	}
	f := fieldWith(sf, reflect.NewAt(sf.Type, v.FieldByIndex(sf.Index).Addr().UnsafePointer()).Elem(), options)
	if !f.open { // what an interface holds speaks for itself only where it is generated
		f.Options = f.Options.Over(defaultsOf(f.Hook))
	}
	return f, true
}
