package picture_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/grapnel-go/grapnel/composite/plan/picture"
)

// graph is what a strict reader finds in DOT.
type graph struct {
	nodes, edges int
	labels       []string
}

// reader is a parser of the part of the DOT language that is used here.
type reader struct {
	tokens []string
	graph  graph
}

// word is a name or a number.
var word = regexp.MustCompile(`^([A-Za-z_][A-Za-z_0-9]*|[0-9]+(\.[0-9]+)?)`)

// lex splits DOT into its tokens; strings keep their quotes.
func lex(text string) ([]string, error) {
	var out []string
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case strings.ContainsRune(" \t\n", rune(c)):
			i++
		case strings.ContainsRune("{}[]=,;", rune(c)):
			out, i = append(out, string(c)), i+1
		case strings.HasPrefix(text[i:], "->"):
			out, i = append(out, "->"), i+2
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\n' {
					return nil, fmt.Errorf("a line break in a string at %d", i)
				}
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, fmt.Errorf("a string is open at %d", i)
			}
			out, i = append(out, text[i:end+1]), end+1
		case word.MatchString(text[i:]):
			w := word.FindString(text[i:])
			out, i = append(out, w), i+len(w)
		default:
			return nil, fmt.Errorf("unexpected %q at %d", c, i)
		}
	}
	return out, nil
}

func (r *reader) next() string {
	if len(r.tokens) == 0 {
		return ""
	}
	t := r.tokens[0]
	r.tokens = r.tokens[1:]
	return t
}

func (r *reader) want(t string) error {
	if got := r.next(); got != t {
		return fmt.Errorf("got %q, want %q", got, t)
	}
	return nil
}

// block reads the statements up to the closing brace.
func (r *reader) block() error {
	for {
		name := r.next()
		var err error
		switch name {
		case "}":
			return nil
		case "{":
			err = r.block()
		case "subgraph":
			r.next()
			if err = r.want("{"); err == nil {
				err = r.block()
			}
		case "", ";", "=", "->", "[", "]", ",":
			return fmt.Errorf("unexpected %q", name)
		default:
			err = r.statement(name)
		}
		if err != nil {
			return err
		}
	}
}

// statement reads what follows a name up to its semicolon.
func (r *reader) statement(name string) error {
	switch t := r.next(); t {
	case "=":
		r.value(name == "label")
		return r.want(";")
	case "->":
		r.next()
		r.graph.edges++
		return r.attributes()
	case "[":
		if name != "node" && name != "edge" {
			r.graph.nodes++
		}
		r.tokens = append([]string{"["}, r.tokens...)
		return r.attributes()
	default:
		return fmt.Errorf("%q behind %q", t, name)
	}
}

func (r *reader) value(label bool) {
	if v := r.next(); label {
		r.graph.labels = append(r.graph.labels, v)
	}
}

func (r *reader) attributes() error {
	if t := r.next(); t == ";" {
		return nil
	} else if t != "[" {
		return fmt.Errorf("%q, want attributes or a semicolon", t)
	}
	for {
		name := r.next()
		if err := r.want("="); err != nil {
			return err
		}
		r.value(name == "label")
		switch t := r.next(); t {
		case "]":
			return r.want(";")
		case ",":
		default:
			return fmt.Errorf("%q behind an attribute", t)
		}
	}
}

func readDOT(text string) (graph, error) {
	tokens, err := lex(text)
	if err != nil {
		return graph{}, err
	}
	r := &reader{tokens: tokens}
	for len(r.tokens) > 0 {
		if err := r.want("digraph"); err != nil {
			return graph{}, err
		}
		r.next()
		if err := r.want("{"); err != nil {
			return graph{}, err
		}
		if err := r.block(); err != nil {
			return graph{}, err
		}
	}
	return r.graph, nil
}

func TestDOTIsWellFormed(t *testing.T) {
	for name, s := range sources() {
		g, err := readDOT(render(t, picture.DOT, s))
		require.NoError(t, err, name)
		v := picture.New(s)
		calls := max(len(v.Points)-1, 0)
		for _, p := range v.Points {
			calls += len(p.Calls)
		}
		assert.Equal(t, calls, g.edges, name)
		assert.GreaterOrEqual(t, g.nodes, len(v.Points), name)
		for _, l := range g.labels {
			assert.Regexp(t, `^"([^"\\]|\\\\|\\"|\\n)*"$`, l, "an escape that means something to labels")
		}
	}
}

// TestTheReaderOfDOTCanFail: what a missing escape would give is refused.
func TestTheReaderOfDOTCanFail(t *testing.T) {
	for _, text := range []string{
		`digraph "a"b" {}`, `digraph "a\" {}`, "digraph \"a\nb\" {}", `digraph "a" { m0 [label="x"y"]; }`, `digraph "a" { m0 -> }`, `digraph "a" {`,
		`digraph "a" { m0 [label=<b>]; }`,
	} {
		_, err := readDOT(text)
		assert.Error(t, err, text)
	}
}
