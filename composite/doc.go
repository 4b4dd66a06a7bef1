// Package composite makes one hook of several.
//
// A [Composite] lists, for each point, the members that have it. One function for each kind
// of point walks over such a list: for deciders, rewriters, contributors, observers, wraps,
// and pairs that open and close. Every composite uses these walks, however it was made.
// [Compose] makes one from the table that command hookgen has written for a struct of hooks.
// [New] reads the same struct and the same tags at run time, with the same planner (package
// plan): for plug-ins, for programs before the first generation, and as the oracle for
// tables. [From] makes one of any hook.
//
//	c, err := composite.New(&Daemon{Guard: guard.New(nil), OS: os})
//
// # Failures
//
// A composite isolates its members: an error or a panic becomes a *hook.Failure
// with the path of the field, and the fail policy of the point or of the field's
// tag decides which answer counts instead. Deciding methods of a composite return a
// decision and a nil error; rewriting ones return the *hook.Failure. The composite
// emits failures that are in no answer as hook_failed events to the host of the place.
//
// # Policies
//
// A field's tag sets a timeout at a point, narrows the calls (match), and excludes
// points. If a decider or rewriter misses its timeout, its answer is dropped and its fail
// policy applies; [Composite.LateHooks] counts those that still run. The tag's visibility
// is that of the runs that [Composite.Recorded] emits. With the mode record the host calls
// an observer in the background (for observers that keep a record); with the mode background it queues a job that calls it.
//
// Configuration can turn members off and change their policies by name, in layers:
// [Composite.Layered] returns a composite with layers applied.
//
// # Concurrency
//
// A composite keeps no state of its own. Its methods are as safe for concurrent
// use as its members.
package composite

//go:generate go run ../gen/internal/pointgen composite ../hook
