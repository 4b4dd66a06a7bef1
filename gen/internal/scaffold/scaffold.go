// Package scaffold writes the first version of a subsystem and adds it to a composite: it checks names, fills templates, finds the
// place for a field, has the code generated, and type-checks all of it together before it writes the first file.
package scaffold

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"
)

// Subsystem is a subsystem to write. Make it with [NewSubsystem], which validates its names.
type Subsystem struct {
	// Name is the name of the package, Type that of the type.
	Name, Type string
	Dynamic    bool
	// Prefix is the prefix of the tools' names.
	Prefix string
	Tools  []Tool
}

// File is one file of a subsystem. Name is relative to the directory of the package, with slashes.
type File struct {
	Name string
	Text []byte
}

//go:embed templates
var templates embed.FS

// page is the data of a template.
type page struct {
	*Subsystem
	// Path is the import path, Import the name by which the test imports the package, Receiver that of the methods' receiver.
	Path, Import, Receiver string
}

// Files returns the files of a subsystem with this import path: the package, its test, and the descriptor for the test.
func (s *Subsystem) Files(path string) ([]File, error) {
	name := "typed"
	if s.Dynamic {
		name = "dynamic"
	}
	t, err := template.ParseFS(templates, "templates/"+name+".txtar")
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, page{s, path, s.importName(), s.Name[:1]}); err != nil {
		return nil, err
	}
	var files []File
	for _, f := range txtar.Parse(text.Bytes()).Files {
		text := f.Data
		if strings.HasSuffix(f.Name, ".go") {
			if text, err = format.Source(text); err != nil {
				return nil, fmt.Errorf("template %s: %s: %w", name, f.Name, err)
			}
		}
		files = append(files, File{strings.Replace(f.Name, "NAME", s.Name, 1), text})
	}
	return files, nil
}

// importName returns the name by which the test imports the package: its own, unless the test imports another package of that name.
func (s *Subsystem) importName() string {
	switch s.Name {
	case "flag", "hook", "hooktest", "message", "testing":
		return "my" + s.Name
	}
	return s.Name
}

// Paste returns the code of some tools, to add to an existing subsystem.
func (s *Subsystem) Paste(tools []Tool) (string, error) {
	only := *s
	only.Tools = tools
	t, err := template.ParseFS(templates, "templates/typed.txtar")
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	err = t.ExecuteTemplate(&text, "tools", page{Subsystem: &only, Receiver: s.Name[:1]})
	return strings.TrimSpace(text.String()), err
}
