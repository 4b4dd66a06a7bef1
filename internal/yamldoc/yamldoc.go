// Package yamldoc reads YAML that people write: one document of limited depth, without
// anchors and aliases, and the frontmatter of Markdown files.
//
//	front, body, err := yamldoc.Split(text)
//	root, quoted, err := yamldoc.Front(front, &yamldoc.Keys{Free: []string{"description"}, Guarded: []string{"tools"}})
//
// The reader of the file must limit its size.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// MaxDepth is how deep mappings and lists may nest.
const MaxDepth = 100

// Error is a mistake in a document, with its place and fix.
type Error struct {
	// Line and Column count from 1.
	Line, Column int
	// What continues a sentence that begins with the document; Fix says what to do.
	What, Fix string
}

// Error returns "what in line n; fix".
func (e *Error) Error() string {
	text := fmt.Sprintf("%s in line %d", e.What, e.Line)
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// Parse returns the value of a document; nil if there is none. The error is an [*Error].
func Parse(text []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntax(err)
	}
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, syntax(err)
	default:
		return nil, &Error{Line: max(more.Line, 1), Column: 1, What: "has a second document", Fix: "take the --- out"}
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	if err := check(doc.Content[0]); err != nil {
		return nil, err
	}
	return doc.Content[0], nil
}

var (
	yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// fromZero are the errors of the library's parser, which counts lines from 0; its
	// scanner counts from 1.
	fromZero = regexp.MustCompile(`did not find expected (?:node content|key|'-' indicator|',' or )`)
)

// syntax reads the line from a text such as "yaml: line 3: did not find …". The library omits
// the number of the first line.
func syntax(err error) *Error {
	line := 0
	if m := yamlError.FindStringSubmatch(err.Error()); m != nil {
		line, _ = strconv.Atoi("0" + m[1])
	}
	if line > 0 && fromZero.MatchString(err.Error()) {
		line++
	}
	return &Error{
		Line: max(line, 1), Column: 1, What: "is no YAML: " + yamlError.ReplaceAllString(err.Error(), ""),
		Fix: "put a value that holds `: ` or begins with a special character in quotes",
	}
}

// check refuses values that nest too deep, and anchors and aliases, because they let a short
// text mean a huge value. It does not recurse: the parser allows a depth of 10,000.
func check(root *yaml.Node) error {
	type place struct {
		node  *yaml.Node
		depth int
	}
	for todo := []place{{root, 1}}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch n := at.node; {
		case at.depth > MaxDepth:
			return &Error{Line: n.Line, Column: n.Column, What: fmt.Sprintf("nests deeper than %d levels", MaxDepth), Fix: "make it flatter"}
		case n.Kind == yaml.AliasNode || n.Anchor != "":
			return &Error{Line: n.Line, Column: n.Column, What: "has an anchor or an alias, which is not read here", Fix: "write the value out"}
		}
		for _, n := range slices.Backward(at.node.Content) { // so that the first one is next
			todo = append(todo, place{n, at.depth + 1})
		}
	}
	return nil
}
