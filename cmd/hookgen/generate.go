package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/diag"
)

// newFlags returns the flags of a command, which say what they are on stderr.
func newFlags(name, args string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: hookgen %s %s\n", name, args)
		flags.PrintDefaults()
	}
	return flags
}

// parse reads flags; with false the command ends with the status.
func parse(flags *flag.FlagSet, args []string) (status int, ok bool) {
	switch err := flags.Parse(args); err {
	case nil:
		return well, true
	case flag.ErrHelp:
		return well, false
	}
	return failed, false
}

// generate writes the generated files, or compares them.
func generate(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("gen", "[flags] [packages]", stderr)
	check := flags.Bool("check", false, "write nothing; exit 1 if a file is stale, missing or orphaned")
	dir := flags.String("C", "", "run in this `dir`ectory")
	if status, ok := parse(flags, args); !ok {
		return status
	}
	result, err := gen.Run(ctx, gen.Options{Dir: *dir, Patterns: flags.Args(), Check: *check})
	diag.Print(stderr, result.Problems)
	if err != nil {
		fmt.Fprintf(stderr, "hookgen: %v\n", err)
		return failed
	}
	if diag.HasErrors(result.Problems) {
		return failed
	}
	if *check && len(result.Changes) > 0 {
		diag.Print(stderr, checkProblems(result.Changes))
		return differs
	}
	return well
}

// regenerate is how a file becomes what it should be, with a go:generate line and without.
const regenerate = `run "go tool hookgen ./...", or "go generate ./..." where a go:generate line does the same`

// checkProblems says what a check has found.
func checkProblems(changes []gen.Change) []diag.Problem {
	var out []diag.Problem
	for _, c := range changes {
		p := diag.Problem{Code: "HG070", Message: "is out of date", Fix: regenerate}
		switch c.Kind {
		case gen.Missing:
			p.Code, p.Message = "HG071", "is missing"
		case gen.Orphaned:
			p.Code, p.Message, p.Fix = "HG072", "was generated, but nothing generates it any more", "delete it, or "+regenerate
		}
		p.Pos.Filename, p.Pos.Line, p.Pos.Column = c.Path, 1, 1
		out = append(out, p)
	}
	return out
}
