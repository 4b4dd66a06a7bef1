package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/grapnel-go/grapnel/gen"
)

func scaffold(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, status, ok := scaffoldOptions(args, stderr)
	if !ok {
		return status
	}
	result, err := gen.New(ctx, o)
	if err = errors.Join(err, gen.Print(stderr, gen.Text, o.Dir, result.Problems)); err != nil {
		fmt.Fprintf(stderr, "hookgen: %v\n", err)
		return failed
	}
	if o.Check && len(result.Written) > 0 {
		fmt.Fprintf(stderr, "hookgen: %s is not there yet: run the command without HOOKGEN_CHECK\n", result.Package)
		return differs
	}
	printNext(stdout, result)
	if gen.HasErrors(result.Problems) {
		return failed
	}
	return succeeded
}

// scaffoldOptions reads the name and the flags in any order. If ok is false the command ends with the status.
func scaffoldOptions(args []string, stderr io.Writer) (o gen.NewOptions, status int, ok bool) {
	flags := newFlags("new", "NAME [flags]", stderr)
	flags.StringVar(&o.Dir, "C", "", "run in this `dir`ectory")
	flags.StringVar(&o.Below, "dir", "subsystems", "make NAME in this `dir`ectory")
	flags.StringVar(&o.Into, "into", "", "add a field to this `composite`, such as ./daemon.Daemon")
	flags.BoolVar(&o.Dynamic, "dynamic", false, "the tools are known only at run time; -tools are those that it starts with")
	tools := flags.String("tools", "", "the `names` of its tools, separated by commas; add becomes the tool NAME_add")
	var names []string
	for rest := args; ; rest = flags.Args()[1:] {
		if status, ok := parse(flags, rest); !ok {
			return o, status, false
		}
		if flags.NArg() == 0 {
			break
		}
		names = append(names, flags.Arg(0))
	}
	check, err := checkByEnvironment()
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "hookgen: %v\n", err)
		return o, failed, false
	case len(names) > 1:
		fmt.Fprintf(stderr, "hookgen: new takes one name, not %q; tools are written -tools add,list\n", names)
		return o, failed, false
	case len(names) == 1:
		o.Name = names[0]
	}
	if o.Check = check; *tools != "" {
		o.Tools = strings.Split(*tools, ",")
	}
	return o, succeeded, true
}

func printNext(w io.Writer, r gen.NewResult) {
	if r.Whole {
		fmt.Fprintf(w, "%s has type %s and all of its tools: nothing to do\n", r.Package, r.Type)
	}
	if len(r.Written) == 0 {
		return
	}
	longest := 0
	for _, f := range r.Written {
		longest = max(longest, len(f.Path))
	}
	for _, f := range r.Written {
		fmt.Fprintf(w, "%-*s  %s\n", longest, f.Path, about(r, f))
	}
	if r.Hint != "" {
		fmt.Fprintf(w, "note: %s\n", r.Hint)
	}
	fmt.Fprintln(w, "next:")
	if r.Get != "" {
		fmt.Fprintf(w, "\t%s\n", r.Get)
	}
	fmt.Fprintln(w, "\tgo mod tidy")
	fmt.Fprintf(w, "\tfill in %s, then its test\n", r.Written[0].Path)
	if r.Field != "" {
		fmt.Fprintf(w, "\tset the field where %s is made:  %s: %s.New()\n", r.Composite, r.Field, path.Base(r.Package))
	}
	fmt.Fprintf(w, "\tgo tool hookgen ./...\n\tgo test %s -update\n", r.Package)
}

func about(r gen.NewResult, f gen.NewFile) string {
	switch f.What {
	case gen.Yours:
		text := "yours: type " + r.Type + ", New"
		if len(r.Tools) > 0 {
			text += ", " + strings.Join(r.Tools, ", ")
		}
		return text
	case gen.Test:
		return "yours: the rules of every hook, and what each tool does"
	case gen.Descriptor:
		return "yours: points and tools, for reviews; go test -update writes it"
	case gen.Changed:
		return "a field " + r.Field + " in " + r.Composite + ", and its import"
	}
	return "generated"
}
