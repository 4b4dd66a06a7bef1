// Package layers has no code: its tests check the sources against the layout of DESIGN.md:
// which package may import which, sizes, and conventions. It also has the line for go
// generate that makes all generated code of the module.
package layers

//go:generate go tool hookgen -C ../../.. ./...
