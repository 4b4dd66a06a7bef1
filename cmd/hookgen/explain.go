package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/grapnel-go/grapnel/gen"
)

func explain(_ context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("explain", "[-all] [CODE…]", stderr)
	all := flags.Bool("all", false, "print the whole reference in Markdown: directives, tags and codes")
	if status, ok := parse(flags, args); !ok {
		return status
	}
	if *all {
		fmt.Fprint(stdout, gen.Reference())
		return succeeded
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return failed
	}
	for i, code := range flags.Args() {
		text, ok := gen.Explain(code)
		if !ok {
			fmt.Fprintf(stderr, "hookgen: there is no code %s; the codes are %s\n", code, strings.Join(gen.Codes(), " "))
			return failed
		}
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		fmt.Fprint(stdout, text)
	}
	return succeeded
}
