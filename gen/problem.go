package gen

import (
	"errors"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/reference"
)

// Problem is one finding, as data: Code, Severity, Pos, Subject, Method, Notes and Edits, with the methods Message and Fix.
type Problem = diag.Problem

// Info is the severity of problems that stop nothing and need no action.
const Info = diag.Info

// Format is an output format of problems.
type Format = diag.Format

// The formats.
const (
	Text   = diag.Text
	GitHub = diag.GitHub
	JSON   = diag.JSON
)

// Formats returns all formats.
func Formats() []Format { return diag.Formats() }

// Print writes problems whose positions are relative to dir, in the order given. The error is the writer's.
func Print(w io.Writer, f Format, dir string, problems []Problem) error {
	printer := diag.Printer{Format: f, Source: diag.Files(dir)}
	return printer.Print(w, diag.Locate(problems, printer.Source))
}

// HasErrors reports whether one of the problems stopped the run.
func HasErrors(problems []Problem) bool { return diag.HasErrors(problems) }

// Explain returns the page of a code: its meaning, why it is a problem, an example, and the grammar of the words involved. ok is
// false if there is no such code.
func Explain(code string) (page string, ok bool) { return reference.Explain(code) }

// Codes returns all codes, sorted.
func Codes() []string { return diag.Codes() }

// Reference returns the whole reference in Markdown: directives, tags and codes.
func Reference() string { return reference.Markdown() }

// Differences returns the problems and those of the files that differ from their wanted texts, sorted. It is for the result of a
// check.
func (r Result) Differences() []Problem {
	out := slices.Clone(r.Problems)
	for _, c := range r.Changes {
		cause := diag.OutputStale
		switch c.Kind {
		case Missing:
			cause = diag.OutputMissing
		case Orphaned:
			cause = diag.OutputOrphaned
		}
		out = append(out, diag.New(cause, firstLine(c.Path), c.Path))
	}
	return diag.Sort(out)
}

func firstLine(file string) token.Position { return token.Position{Filename: file, Line: 1} }

// WritePicture writes the text of a plan into a file, whose name is relative to dir. A reader of the file sees the old text or the
// new one. With check nothing is written; a file that differs is a problem.
func WritePicture(dir, file string, text []byte, check bool) ([]Problem, error) {
	name := file
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	have, err := os.ReadFile(name)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err == nil && string(have) == string(text):
		return nil, nil
	case err != nil && !missing:
		return nil, err
	case !check:
		return nil, replace(name, text)
	case missing:
		return []Problem{diag.New(diag.PictureMissing, firstLine(file), file)}, nil
	}
	return []Problem{diag.New(diag.PictureStale, firstLine(file), file)}, nil
}
