// Package composite welds several hooks into one.
//
// A [Composite] lists, for each point, the members that have it, and one function for
// each kind of point walks over such a list: deciders, rewriters, contributors, observers,
// wraps, and what opens and closes. There is no other way to call members, however the
// composite was made. [Compose] makes it of the table that command hookgen has written for
// a struct of hooks. [New] reads the same struct and the same tags at run time, with the
// same planner (package plan): for plug-ins, for programs before the first generation, and
// as the oracle for tables. [From] makes one of any hook.
//
//	c, err := composite.New(&Daemon{Guard: guard.New(nil), OS: os})
//
// # Failures
//
// A composite isolates its members: an error or a panic becomes a *hook.Failure
// with the path of the field, and the fail policy of the point or of the field's
// tag decides what takes the place of the answer. Deciding methods of a
// composite return a decision and a nil error; rewriting ones return the
// *hook.Failure. Failures that no answer carries are emitted as hook_failed
// events to the host of the place.
//
// # Policies
//
// A field's tag bounds its hook at a point, narrows where it is called, and leaves
// points out. A decider or rewriter that is late is dropped and its fail policy
// applies; [Composite.LateHooks] counts those that have not come back. Its visibility goes with the
// runs that [Composite.Recorded] tells of. With record the host runs an observer beside
// what it is doing, with background it queues a job in its place.
//
// Configuration can turn members off and change their policies by name, in layers:
// [Composite.Layered] returns the composite that a layer makes of another one.
//
// # Concurrency
//
// A composite keeps no state of its own. Its methods are as safe for concurrent
// use as its members.
package composite

//go:generate go run ../gen/internal/pointgen composite ../hook
