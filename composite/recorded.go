package composite

import (
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// RecordOptions are options of [Composite.Recorded]; nil is all zero values.
type RecordOptions struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Recorded returns a composite that does what c does and tells of every hook run, as a
// [event.HookRun] to the host of the place. It has the same members, each with what
// tells of it. Runs of members of composites in it have full paths, "Core.Guard". One that
// is recorded already is returned as it is.
//
// Recorded are the points beside hook.Hook, OnBuildAgent, OnRegisterAgent,
// OnUnregisterAgent, Preprocess, and the Dispatch of the tool's owner. Schema,
// SystemPrompt and ScopedTools are not, because they say what a hook is; nor is
// OnEvent, which is told of the runs itself. Of a hook that is known only at run
// time nobody can say whether a method of hook.Hook is its own or hook.Nop's: what
// changes nothing there and does not fail is not told. Nor is a hook that its tag
// says is not meant (match=). A run is told when it is over; a hook that
// was late is abandoned and not waited for.
func (c *Composite) Recorded(o *RecordOptions) *Composite {
	if c.rec != nil {
		return c
	}
	rec := &recorder{now: time.Now}
	if o != nil && o.Now != nil {
		rec.now = o.Now
	}
	return rec.twin(c, "", "", nil)
}

// twin returns the recording twin of a composite. path and prefix are what lies above
// it, and around who may see its runs.
func (rec *recorder) twin(c *Composite, path, prefix string, around map[hook.Point]hook.Visibility) *Composite {
	out := *c
	out.rec, out.path, out.public, out.around = rec, path, prefix, around
	out.members = slices.Clone(c.members)
	for i := range out.members {
		m := &out.members[i]
		if m.path != "" { // else it is alone, and named by its type
			m.run = within(path, m.path)
		}
		if inner, ok := m.hook.(*Composite); ok {
			m.hook, m.nested = rec.twin(inner, m.run, prefix+m.prefix, out.visibilities(m)), true
		}
	}
	out.link()
	return &out
}

// visibilities are who may see the runs of the member at each point that says so.
func (c *Composite) visibilities(m *member) map[hook.Point]hook.Visibility {
	out := map[hook.Point]hook.Visibility{}
	for p := range point.All() {
		if v := c.visibility(m, p); v != "" {
			out[p] = v
		}
	}
	return out
}
