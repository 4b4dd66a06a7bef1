// Package layers has no code: its tests hold the sources to the layout of
// DESIGN.md, which package may import which, and the sizes and habits that were
// agreed on. It is also where go generate finds the one line that makes all
// generated code of the module.
package layers

//go:generate go tool hookgen -C ../../.. ./...
