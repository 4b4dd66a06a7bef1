package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/grapnel-go/grapnel/gen"
	"github.com/grapnel-go/grapnel/gen/vet"
)

// vetPackages reports wrong and misused hooks. It writes only fixes.
func vetPackages(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("vet", "[flags] [packages]", stderr)
	var o vet.Options
	flags.StringVar(&o.Dir, "C", "", "run in this `dir`ectory")
	flags.StringVar(&o.Tags, "tags", "", "build `tags`, separated by commas")
	flags.BoolVar(&o.Info, "v", false, "also print problems of severity info")
	fix := flags.Bool("fix", false, "apply the fixes that need no decision")
	asJSON := flags.Bool("json", false, "write one object of JSON on a line for each problem")
	if status, ok := parse(flags, args); !ok {
		return status
	}
	o.Patterns = flags.Args()
	problems, err := vet.Run(ctx, o)
	if err == nil && *fix {
		problems, err = vet.Fix(o.Dir, problems)
	}
	format, out := gen.Text, stderr
	if *asJSON {
		format, out = gen.JSON, stdout // programs read JSON from there
	}
	if err := errors.Join(err, gen.Print(out, format, o.Dir, problems)); err != nil {
		fmt.Fprintf(stderr, "hookgen: %v\n", err)
		return failed
	}
	status := succeeded
	for _, p := range problems {
		switch {
		case p.Pos.Filename == "": // a problem of the command line, such as a pattern without packages
			return failed
		case p.Severity != gen.Info:
			status = differs
		}
	}
	return status
}
