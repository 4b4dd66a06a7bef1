// Package routes has, below it, one package for each number of tools of the
// scenario Route: the same six owners with 8, 64 and 512 tools. Package write makes
// their sources and hookgen welds them; nothing below it is edited by hand. All of
// it is committed, so that the benchmarks compile in a clean checkout.
package routes

//go:generate go run ./write
//go:generate go tool hookgen ./...
