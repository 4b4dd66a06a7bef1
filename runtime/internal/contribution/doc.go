// Package contribution merges what hooks contribute to a turn: it sorts, resolves
// conflicts, cuts what passes the budget, and says what it did. Everything in it is
// a function of values, without I/O, clocks or maps in an order: the same
// contributions in the same plan order give the same bytes.
//
// Among contributions the heavier come first, and equals in plan order. Texts of
// diagnostics name contributors, domains and ids, never values.
package contribution
