// Package faults has no code: its tests are the evidence that a turn loses nothing.
// They play conversations in which everything may fail that can (models, tools,
// hooks, stores, processes and people's patience) in bubbles of testing/synctest,
// where time is virtual and a hang is an error, and hold what is left in the store
// against tallies that the tools keep themselves.
//
//   - TestFaultInjectedTurns plays random conversations. A seed that fails can be
//     played alone: -faults.seed=N.
//   - TestCancels cancels turns at random moments.
//   - TestCrashAfterEveryJournalStep lets the process die behind every write, and
//     behind every write of the recovery.
//   - TestArgumentsAreIdenticalForAll shows who sees which arguments.
//   - TestAgentsComeAndGoDuringTurns registers and unregisters agents.
//
// Each has known-bad variants of the runtime or its store beside it, which it has
// to catch. What a test has counted it prints as lines "FIGURE name=value unit".
package faults
