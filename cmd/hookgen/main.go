// Command hookgen generates the static parts of a program's hooks: names, schemas and dispatch of typed tools, and the facades of
// composites.
//
//	//go:generate go tool hookgen ./...
//
//	hookgen [gen] [flags] [packages]   generate, or with -check only compare; the default is ./...
//	hookgen plan [flags] [packages]    who acts where in a composite: text, Markdown, JSON, DOT, SVG
//	hookgen new NAME [flags]           the first version of a subsystem, with tests
//	hookgen vet [flags] [packages]     the same rules as an analyzer, and misuse of hooks
//	hookgen explain CODE               what a problem's code means
//	hookgen help                       all commands
//
// Problems are printed as file:line:col: error CODE: what, with notes and a fix. Exit status: 0 if all is well, 1 if -check found a
// file that is stale, missing or orphaned, 2 if there is a problem.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
)

func main() {
	debug.SetGCPercent(400) // a short life with much that stays: collecting it is a fifth of the time
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
