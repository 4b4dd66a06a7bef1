// Package visits counts what a turn visits. A walk over the history, the tools or the
// conversations may allocate nothing and still make every turn longer.
//
// The go command counts how often each statement runs (-covermode=atomic), so nothing in the
// program counts for the test, and a loop is found wherever it stands. Two runs whose sizes
// differ must not differ in the count of any statement.
package visits
