package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/grapnel-go/grapnel/gen"
)

// newFlags returns the flag set of a command, which prints its usage to stderr.
func newFlags(name, args string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: hookgen %s %s\n", name, args)
		flags.PrintDefaults()
	}
	return flags
}

// parse reads flags. If ok is false the command ends with the status.
func parse(flags *flag.FlagSet, args []string) (status int, ok bool) {
	switch err := flags.Parse(args); err {
	case nil:
		return succeeded, true
	case flag.ErrHelp:
		return succeeded, false
	}
	return failed, false
}

// generation has the flags of gen.
type generation struct {
	options gen.Options
	diff    bool
	verbose bool
	format  gen.Format
}

// generate writes the generated files, or compares them with -check.
func generate(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	g, status, ok := generationOf(args, stderr)
	if !ok {
		return status
	}
	result, err := gen.Run(ctx, g.options)
	problems := result.Problems
	differing := g.options.Check && len(result.Changes) > 0 && !gen.HasErrors(result.Problems)
	if differing {
		problems = result.Differences()
	}
	out := stderr
	if g.format != gen.Text {
		out = stdout // programs read JSON from there
	}
	if err := errors.Join(err, gen.Print(out, g.format, g.options.Dir, g.shown(problems))); err != nil {
		fmt.Fprintf(stderr, "hookgen: %v\n", err)
		return failed
	}
	if g.verbose {
		g.printRun(stderr, result)
	}
	switch {
	case gen.HasErrors(result.Problems):
		return failed
	case !differing:
		return succeeded
	case g.diff:
		if err := diff(stdout, g.options.Dir, result); err != nil {
			fmt.Fprintf(stderr, "hookgen: %v\n", err)
			return failed
		}
	}
	return differs
}

// generationOf reads the flags. If ok is false the command ends with the status.
func generationOf(args []string, stderr io.Writer) (g generation, status int, ok bool) {
	flags := newFlags("gen", "[flags] [packages]", stderr)
	flags.StringVar(&g.options.Dir, "C", "", "run in this `dir`ectory")
	flags.StringVar(&g.options.Tags, "tags", "", "build `tags`, separated by commas")
	flags.BoolVar(&g.options.Check, "check", false, "write nothing; exit 1 if a file is stale, missing or orphaned; also HOOKGEN_CHECK=1")
	flags.BoolVar(&g.diff, "diff", false, "like -check, and print what would change as unified diffs")
	flags.BoolVar(&g.options.Strict, "strict", false, "warnings are errors")
	flags.BoolVar(&g.verbose, "v", false, "print what is read and written, and problems of severity info")
	format := flags.String("format", string(gen.Text), "how problems are written: text, github or json")
	asJSON := flags.Bool("json", false, "the same as -format=json")
	if status, ok := parse(flags, args); !ok {
		return g, status, false
	}
	g.format = gen.Format(*format)
	if *asJSON {
		g.format = gen.JSON
	}
	if !slices.Contains(gen.Formats(), g.format) {
		fmt.Fprintf(stderr, "hookgen: there is no -format=%s; the formats are text, github, json\n", *format)
		return g, failed, false
	}
	check, err := checkByEnvironment()
	if err != nil {
		fmt.Fprintf(stderr, "hookgen: %v\n", err)
		return g, failed, false
	}
	g.options.Check = g.options.Check || g.diff || check
	g.options.Patterns = flags.Args()
	return g, succeeded, true
}

// checkByEnvironment reports whether HOOKGEN_CHECK asks for a check, so that go generate ./... can check.
func checkByEnvironment() (bool, error) {
	text := os.Getenv("HOOKGEN_CHECK")
	if text == "" {
		return false, nil
	}
	check, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("HOOKGEN_CHECK is %q; set it to 1 or 0", text)
	}
	return check, nil
}

// shown returns the problems that are printed.
func (g generation) shown(problems []gen.Problem) []gen.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p gen.Problem) bool { return p.Severity == gen.Info && !g.verbose })
}

func (g generation) printRun(w io.Writer, result gen.Result) {
	fmt.Fprintf(w, "hookgen: %d packages, %d with directives\n", len(result.Packages), len(result.Read))
	for _, path := range result.Read {
		fmt.Fprintf(w, "hookgen: read %s\n", path)
	}
	for _, c := range result.Changes {
		verb := "wrote"
		switch {
		case g.options.Check:
			verb = string(c.Kind)
		case c.Kind == gen.Orphaned:
			verb = "deleted"
		}
		fmt.Fprintf(w, "hookgen: %s %s\n", verb, c.Path)
	}
}
