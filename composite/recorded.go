package composite

import (
	"context"
	"slices"
	"time"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/point"
)

// RecordOptions are options of [Composite.Recorded]; nil is all zero values.
type RecordOptions struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Opener gets the runs of OnClose if OnOpen is not called on this composite; nil drops them.
	Opener hook.Host
	// Log also gets the runs; nil is none.
	Log RunLog
}

// RunLog keeps records of hook runs. It is safe for concurrent use, and its methods do not wait.
type RunLog interface {
	// NewID returns the id of a run.
	NewID() string
	// Put gets a run when it begins, with the status event.RunRunning or, in the background,
	// event.RunQueued, and again when it ends, with the same ID. Runs that take no time, as
	// skipped ones, are put once. at is the host of the run's place.
	Put(ctx context.Context, at hook.Host, r hook.Run)
}

// Recorded returns a composite that behaves like c and emits every hook run, as an
// [event.HookRun] to the host of the place. Runs of members of nested composites have full
// paths, "Core.Guard". A recorded composite is returned as it is.
//
// It records all one-method points, OnBuildAgent, OnRegisterAgent, OnUnregisterAgent,
// Preprocess, and the Dispatch of the tool's owner. It does not record Schema, SystemPrompt
// and ScopedTools, which describe a hook, nor OnEvent, which gets the runs itself. In a field
// of an interface type a method of hook.Hook may be hook.Nop's, so a run of it is emitted
// only if it changes something or fails. A hook that its tag excludes (match=) has no run. A
// run is emitted when it has ended; that of a late hook when its timeout is over.
func (c *Composite) Recorded(o *RecordOptions) *Composite {
	if c.rec != nil {
		return c
	}
	rec := &recorder{now: time.Now}
	if o != nil {
		rec.log = o.Log
		if o.Now != nil {
			rec.now = o.Now
		}
	}
	if o != nil && o.Opener != nil {
		rec.host.Store(&o.Opener)
	}
	return rec.recordingCopy(c, "", "", nil)
}

// recordingCopy returns a recording copy of a composite. path and prefix are those within the
// outermost composite, inherited the visibility that its members inherit.
func (rec *recorder) recordingCopy(c *Composite, path, prefix string, inherited map[hook.Point]hook.Visibility) *Composite {
	out := *c
	out.rec, out.path, out.toolPrefix, out.inherited = rec, path, prefix, inherited
	out.members = slices.Clone(c.members)
	for i := range out.members {
		m := &out.members[i]
		if m.path != "" { // a single hook keeps the name of its type
			m.run = within(path, m.path)
		}
		if inner, ok := m.hook.(*Composite); ok {
			m.hook, m.nested = rec.recordingCopy(inner, m.run, prefix+m.prefix, out.visibilities(m)), true
		}
	}
	out.link()
	return &out
}

// visibilities returns the visibility of the member's runs by point, if it has one.
func (c *Composite) visibilities(m *member) map[hook.Point]hook.Visibility {
	out := map[hook.Point]hook.Visibility{}
	for p := range point.All() {
		if v := c.visibility(m, p); v != "" {
			out[p] = v
		}
	}
	return out
}
