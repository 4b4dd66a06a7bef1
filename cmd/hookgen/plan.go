package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan/picture"
	"github.com/grapnel-go/grapnel/gen"
)

// planning has the flags of plan.
type planning struct {
	options gen.Options
	format  picture.Format
	// file is the output file; "" is standard output.
	file string
}

// showPlan prints the plans of all composites in the packages, from their source.
func showPlan(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	p, status, ok := planningOf(args, stderr)
	if !ok {
		return status
	}
	views, problems, err := gen.Plans(ctx, p.options)
	problems = slices.DeleteFunc(problems, func(p gen.Problem) bool { return p.Severity == gen.Info }) // the plan shows these itself
	if err := errors.Join(err, gen.Print(stderr, gen.Text, p.options.Dir, problems)); err != nil {
		return failWith(stderr, err)
	}
	if gen.HasErrors(problems) {
		return failed
	}
	if len(views) == 0 {
		return failWith(stderr, fmt.Errorf("no //hook:composite in %s", strings.Join(p.options.Patterns, " ")))
	}
	text, err := picture.Render(p.format, views...)
	if err != nil {
		return failWith(stderr, err)
	}
	if p.file == "" {
		_, err = stdout.Write(text)
	} else {
		status, err = p.write(text, stderr)
	}
	if err != nil {
		return failWith(stderr, err)
	}
	return status
}

func failWith(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "hookgen: %v\n", err)
	return failed
}

func planningOf(args []string, stderr io.Writer) (p planning, status int, ok bool) {
	flags := newFlags("plan", "[flags] [packages]", stderr)
	flags.StringVar(&p.options.Dir, "C", "", "run in this `dir`ectory")
	flags.StringVar(&p.options.Tags, "tags", "", "build `tags`, separated by commas")
	flags.BoolVar(&p.options.Strict, "strict", false, "warnings are errors")
	flags.BoolVar(&p.options.Check, "check", false, "with -o: write nothing; exit 1 if the file is not what it should be; also HOOKGEN_CHECK=1")
	flags.StringVar(&p.file, "o", "", "write to this `file`, whose name tells the format: .txt, .md, .json")
	format := flags.String("format", "", "how the plan is shown: text, md (with a picture) or json; the default is text")
	if status, ok := parse(flags, args); !ok {
		return p, status, false
	}
	err := p.complete(*format, flags)
	if err != nil {
		return p, failWith(stderr, err), false
	}
	return p, succeeded, true
}

// complete sets the options that depend on several flags.
func (p *planning) complete(format string, flags *flag.FlagSet) (err error) {
	p.options.Patterns = flags.Args()
	if len(p.options.Patterns) == 0 {
		p.options.Patterns = []string{"./..."}
	}
	switch {
	case format != "":
		p.format, err = picture.ParseFormat(format)
	case p.file != "":
		p.format, err = picture.FormatOf(p.file)
	default:
		p.format = picture.Text
	}
	if err != nil {
		return err
	}
	if p.options.Check && p.file == "" {
		return errors.New("-check compares a file: give its name with -o")
	}
	check, err := checkByEnvironment()
	p.options.Check = p.options.Check || check
	return err
}

// write writes the file if its text differs, or reports that with -check.
func (p planning) write(text []byte, stderr io.Writer) (int, error) {
	problems, err := gen.WritePicture(p.options.Dir, p.file, text, p.options.Check)
	if err != nil {
		return failed, err
	}
	if len(problems) == 0 {
		return succeeded, nil
	}
	return differs, gen.Print(stderr, gen.Text, p.options.Dir, problems)
}
