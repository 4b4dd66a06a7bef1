// Package designs has the examples that the authors of earlier designs would write first, each in
// one file on the public API, with their words beside the words of package hook. The designs are
// numbered as in docs/aliases.md. The tests run each example in a turn of a scripted model.
package designs

//go:generate go tool hookgen .
