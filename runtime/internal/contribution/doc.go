// Package contribution merges the contributions of hooks to a turn: it sorts them,
// resolves conflicts, cuts them to the budget, and reports this in diagnostics. Its
// functions are pure: the same contributions in the same plan order give the same bytes.
//
// Heavier contributions come first; equal weights stay in plan order. Texts of
// diagnostics name contributors, domains and ids, never values.
package contribution
