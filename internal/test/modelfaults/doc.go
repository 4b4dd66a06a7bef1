// Package modelfaults has no code: its test plays turns of subsystem fallback against
// providers that fail.
//
//   - TestTurnsSurviveEveryKindOfFault damages answers in the process, on a virtual clock, for
//     each dialect of its table, and checks each pause.
//
// It must detect known-bad variants. Counts are lines "FIGURE name=value unit".
package modelfaults
