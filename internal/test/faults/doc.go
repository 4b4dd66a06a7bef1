// Package faults has no code: its tests show that a turn loses nothing. They run
// conversations in which models, tools, hooks, stores, processes and people may fail. They
// use bubbles of testing/synctest, where time is virtual and a hang is an error. They
// compare the store with tallies of the tools.
//
//   - TestFaultInjectedTurns plays random conversations. A seed that fails can be
//     played alone: -faults.seed=N.
//   - TestCancels cancels turns at random moments.
//   - TestCrashAfterEveryJournalStep lets the process die after every write, and
//     after every write of the recovery.
//   - TestArgumentsAreIdenticalForAll compares the arguments that all parties see.
//   - TestAgentsComeAndGoDuringTurns registers and unregisters agents.
//
// Each must detect known-bad variants of the runtime or its store. The tests print their
// counts as lines "FIGURE name=value unit".
package faults
