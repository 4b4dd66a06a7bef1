// Package differential holds one struct of hooks that has everything a composite can
// have: an optional field, a nested composite, a prefix, a run-time owner, an
// interface field, a group, and members that answer, fail and panic. Its tests
// run random programs against the composite of the generated table and the one that
// is read from the tags of the same struct, which must not differ in anything: answers,
// order of calls, failures, events. One walk runs both; package laws judges it.
package differential
