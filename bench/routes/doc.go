// Package routes has, below it, one package for each number of tools of the
// scenario Route: the same six owners with 8, 64 and 512 tools. Package write makes
// their sources and hookgen their composites when a benchmark runs; none of it is committed.
package routes

//go:generate go run ./write
//go:generate go tool hookgen ./...
