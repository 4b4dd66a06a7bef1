// Package differential has one struct of hooks with everything that a composite can have:
// an optional field, a nested composite, a prefix, a run-time owner, an interface field, a
// group, and members that answer, fail and panic. Its tests run random programs against the
// composite of the generated table, and against the composite that is read from the tags of
// the same struct. Both must have equal answers, order of calls, failures and events. One
// walker runs both; package laws judges it.
package differential
