// Package modelfaults has no code: its tests play turns of subsystem fallback against
// providers that fail.
//
//   - TestTurnsSurviveDrawnFaults puts a relay between the adapter and aimock, a server that
//     was not written here. The relay draws the fault of each request.
//   - TestTurnsSurviveEveryKindOfFault damages answers in the process, on a virtual clock, for
//     each dialect of its table, and checks each pause.
//
// Both must detect known-bad variants. They print their counts as lines "FIGURE name=value
// unit".
package modelfaults
