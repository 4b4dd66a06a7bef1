package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/internal/spell"
)

// Options are what the hook tag of one field says:
//
//	hook:"prefix=u_,optional,before=Memory; BeforeTool: failopen"
//
// Before the first point stand the options of the field, after each point those
// of that point.
type Options struct {
	// Ignore is "-": the field takes no part.
	Ignore bool
	// Optional: the field may be nil.
	Optional bool
	// Dynamic: the member's tools are known only at run time.
	Dynamic bool
	// Prefix is put in front of the member's tool names.
	Prefix string
	// Before, After and Requires name fields of the same composite.
	Before, After, Requires []string
	// Order refines the declaration order, lower first; nil is 100.
	Order *int
	// Points are the policies of single points, in the order written.
	Points []PointUse
}

const defaultOrder = 100

func (o Options) order() int {
	if o.Order == nil {
		return defaultOrder
	}
	return *o.Order
}

// Policy returns failopen, failclosed, or "" for the point's default.
func (o Options) Policy(point string) string {
	for _, p := range o.Points {
		if p.Name == point {
			return p.Policy
		}
	}
	return ""
}

type ref struct{ word, field string }

func (o Options) refs() []ref {
	var out []ref
	for word, fields := range map[string][]string{"before": o.Before, "after": o.After, "requires": o.Requires} {
		for _, f := range fields {
			out = append(out, ref{word, f})
		}
	}
	slices.SortFunc(out, func(a, b ref) int { return strings.Compare(a.word+a.field, b.word+b.field) })
	return out
}

// Word documents one word of the tag.
type Word struct {
	Word, Doc string
	// Point: the word belongs behind a point.
	Point bool
}

// Words returns the grammar of the tag, for references and error messages.
func Words() []Word {
	return []Word{
		{"-", "the field takes no part", false},
		{"optional", "the field may be nil", false},
		{"dynamic", "the member's tools are known only at run time", false},
		{"prefix=", "is put in front of the member's tool names", false},
		{"before=", "comes before the named field", false},
		{"after=", "comes after the named field", false},
		{"requires=", "the named field must be there", false},
		{"order=", "a number, lower first, 100 by default", false},
		{"failopen", "a failure at this point counts as no opinion", true},
		{"failclosed", "a failure at this point blocks", true},
	}
}

// words returns the words that may stand before a point, or behind one.
func words(point bool) []string {
	var out []string
	for _, w := range Words() {
		if w.Point == point {
			out = append(out, strings.TrimSuffix(w.Word, "="))
		}
	}
	return out
}

// ParseTag reads the value of a hook tag. points are the names that may stand
// before a colon. Problems have no fields: the caller knows the place.
func ParseTag(tag string, points []string) (Options, []Problem) {
	var o Options
	var problems []Problem
	for i, part := range strings.Split(tag, ";") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, text, isPoint := strings.Cut(part, ":")
		if !isPoint {
			if i > 0 {
				problems = append(problems, problem("%q stands after a point but names none; write Point: option", part))
				continue
			}
			problems = append(problems, o.parseField(part)...)
			continue
		}
		problems = append(problems, o.parsePoint(strings.TrimSpace(name), text, points)...)
	}
	return o, problems
}

func (o *Options) parseField(text string) []Problem {
	var problems []Problem
	for word := range strings.SplitSeq(text, ",") {
		key, value, valued := strings.Cut(strings.TrimSpace(word), "=")
		if p := o.setField(key, value, valued); p != nil {
			problems = append(problems, *p)
		}
	}
	return problems
}

func (o *Options) setField(key, value string, valued bool) *Problem {
	switch key {
	case "-", "optional", "dynamic":
		if valued {
			return one(problem("%s takes no value", key))
		}
		o.Ignore = o.Ignore || key == "-"
		o.Optional = o.Optional || key == "optional"
		o.Dynamic = o.Dynamic || key == "dynamic"
		return nil
	case "prefix", "before", "after", "requires", "order":
		if value == "" {
			return one(problem("%s wants a value, as in %s=%s", key, key, example(key)))
		}
	}
	switch key {
	case "prefix":
		if !validTool(value) {
			return one(problem("prefix %q: only letters, digits, _ and - can stand in a tool name", value))
		}
		o.Prefix = value
	case "before":
		o.Before = append(o.Before, value)
	case "after":
		o.After = append(o.After, value)
	case "requires":
		o.Requires = append(o.Requires, value)
	case "order":
		n, err := strconv.Atoi(value)
		if err != nil {
			return one(problem("order wants a number, got %q", value))
		}
		o.Order = &n
	default:
		return one(unknownWord(key, words(false)))
	}
	return nil
}

func (o *Options) parsePoint(name, text string, points []string) []Problem {
	if !slices.Contains(points, name) {
		return []Problem{unknownPoint(name, points)}
	}
	var problems []Problem
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		switch {
		case word != "failopen" && word != "failclosed":
			problems = append(problems, unknownWord(word, words(true)))
		case o.Policy(name) != "":
			problems = append(problems, problem("%s has two fail policies", name))
		default:
			o.Points = append(o.Points, PointUse{Name: name, Policy: word})
		}
	}
	return problems
}

func unknownWord(word string, known []string) Problem {
	p := problem("unknown word %q", word)
	p.Fix = "the words are " + strings.Join(known, ", ")
	if near := spell.Closest(word, known); near != "" {
		p.Fix = fmt.Sprintf("did you mean %q?", near)
	}
	return p
}

func unknownPoint(name string, points []string) Problem {
	p := problem("unknown point %q", name)
	p.Fix = "the points are " + strings.Join(points, ", ")
	if near := spell.Closest(name, points); near != "" {
		p.Fix = fmt.Sprintf("did you mean %q?", near)
	}
	return p
}

func problem(format string, args ...any) Problem {
	return Problem{Code: "HG009", Message: fmt.Sprintf(format, args...)}
}

func one(p Problem) *Problem { return &p }

func example(key string) string {
	switch key {
	case "prefix":
		return "users_"
	case "order":
		return "50"
	}
	return "Memory"
}
