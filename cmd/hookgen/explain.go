package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/grapnel-go/grapnel/composite/plan"
	"github.com/grapnel-go/grapnel/gen/diag"
	"github.com/grapnel-go/grapnel/gen/directive"
	"github.com/grapnel-go/grapnel/gen/reference"
	"github.com/grapnel-go/grapnel/gen/schema"
)

// explain prints the pages of codes, with the grammar where the code is about words.
func explain(_ context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("explain", "[-all] [CODE…]", stderr)
	all := flags.Bool("all", false, "print the whole reference in Markdown: directives, tags and codes")
	if status, ok := parse(flags, args); !ok {
		return status
	}
	if *all {
		fmt.Fprint(stdout, reference.Markdown())
		return well
	}
	if flags.NArg() == 0 {
		flags.Usage()
		return failed
	}
	for i, code := range flags.Args() {
		text, ok := diag.Explain(code)
		if !ok {
			fmt.Fprintf(stderr, "hookgen: there is no code %s; the codes are %s\n", code, strings.Join(diag.Codes(), " "))
			return failed
		}
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		fmt.Fprint(stdout, text)
		grammar(stdout, strings.ToUpper(code))
	}
	return well
}

// grammar prints the words that a code is about.
func grammar(w io.Writer, code string) {
	switch code {
	case "HG005", "HG007", "HG008":
		fmt.Fprint(w, "\nThe directives:\n\n", directive.Manual())
	case "HG009", "HG043", "HG044", "HG046":
		words(w)
	case "HG045":
		words(w)
		matchKinds(w)
	case "HG033":
		inputWords(w)
	}
}

// matchKinds prints what match= can look at.
func matchKinds(w io.Writer) {
	fmt.Fprint(w, "\nWhat match= looks at:\n\n")
	for _, word := range plan.MatchKinds() {
		fmt.Fprintf(w, "\t%-12s%s\n", word.Word, word.Doc)
	}
}

// words prints what a tag on a composite's field may say.
func words(w io.Writer) {
	for _, point := range []bool{false, true} {
		title := "For the field:"
		if point {
			title = "Behind a point:"
		}
		fmt.Fprintf(w, "\n%s\n\n", title)
		for _, word := range plan.Words() {
			if word.Point == point {
				fmt.Fprintf(w, "\t%-12s%s\n", word.Word, word.Doc)
			}
		}
	}
	fmt.Fprint(w, "\nThe points are the interfaces of package hook with the directive //hook:point.\n")
}

// inputWords prints what a tag on an input field may say.
func inputWords(w io.Writer) {
	fmt.Fprint(w, "\nThe words:\n\n")
	for _, word := range schema.TagWords() {
		fmt.Fprintf(w, "\t%-12s%s\n", word.Word, word.Doc)
	}
	fmt.Fprintf(w, "\nThe formats: %s.\n", strings.Join(schema.Formats(), ", "))
}
