// Package work says what is measured: the same work for every subject, and the
// check that it was done.
//
// A [Subject] is a system under measurement. It is started for a [Turn], which says
// how much there is of everything: tools, calls, history, hooks. Its model is in the
// process and costs nothing; it asks the [Ledger] what to answer and tells it what
// it was shown. The tool, the hooks and the consumer of a streamed answer tell the
// ledger too, and at the end of a turn it says whether all of the work was done.
package work
