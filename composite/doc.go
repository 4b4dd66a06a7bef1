// Package composite welds several hooks into one.
//
// There are two ways to the same behaviour. The generator (command hookgen)
// writes the facade of a struct of hooks as static Go, which calls the small
// helpers of this package: [Gate] for points that decide, [Fold] for those that
// rewrite, [Fan] for those that observe, [Bracket] for those that open and close,
// [ToolWraps] and [ModelWraps] for those that wrap. [New] reads the same struct
// and the same tags at run time, with the same planner (package plan): for
// plug-ins, for programs before the first generation, and as the oracle that
// generated code is tested against.
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
// applies; [Abandoned] counts those that have not come back. Its visibility goes with the
// runs that [Recorded] tells of. With record the host runs an observer beside what it
// is doing ([Fan.Beside]), with background it queues a job in its place
// ([Fan.Background]).
//
// Configuration can turn members off and change their policies by name, in layers:
// [Layered] returns the composite that a layer makes of another one.
//
// # Concurrency
//
// A composite keeps no state of its own. Its methods are as safe for concurrent
// use as its members.
package composite

//go:generate go run ../internal/pointgen
