// Command hookgen generates code from //hook: directives: names, schemas and dispatch of typed tools, and the tables of
// composites.
//
//	//go:generate go tool hookgen ./...
//
//	hookgen [gen] [flags] [packages]   generate, or with -check only compare; the default is ./...
//	hookgen plan [flags] [packages]    the members of a composite at each point: text, JSON, Markdown with a picture
//	hookgen new NAME [flags]           the first version of a subsystem, with tests
//	hookgen vet [flags] [packages]     the same rules as an analyzer, and misuse of hooks
//	hookgen explain CODE               what a problem's code means
//	hookgen help                       all commands
//
// Problems are printed as file:line:col: error CODE: what, with notes and a fix. Exit status: 0 for success, 1 if -check found a
// stale, missing or orphaned file, 2 for errors.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
)

func main() {
	debug.SetGCPercent(400) // the process is short and frees little: by default garbage collection takes a fifth of the time
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
