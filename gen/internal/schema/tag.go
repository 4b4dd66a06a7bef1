package schema

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/argrules"
	"github.com/grapnel-go/grapnel/internal/format"
	"github.com/grapnel-go/grapnel/internal/origin"
)

// term is a word of the hook tag of an input field, with the kinds of value that it constrains; nil is all.
type term struct {
	name  string
	value bool
	kinds []Kind
	what  string
	doc   string
}

var terms = []term{
	{"required", false, nil, "", "the argument must be there, whatever the type says"},
	{"description", true, nil, "", "what the model is told where the field has no comment"},
	{"minlen", true, []Kind{String, OwnText}, "strings", "at least so many characters"},
	{"maxlen", true, []Kind{String, OwnText}, "strings", "at most so many characters"},
	{"min", true, []Kind{Int, Uint, Float}, "numbers", "the least value"},
	{"max", true, []Kind{Int, Uint, Float}, "numbers", "the greatest value"},
	{"minitems", true, []Kind{List}, "lists", "at least so many elements"},
	{"maxitems", true, []Kind{List}, "lists", "at most so many elements"},
	{"pattern", true, []Kind{String, OwnText}, "strings", "a regular expression, in single quotes where it has a comma"},
	{"format", true, []Kind{String, OwnText}, "strings", "one of the formats below"},
	{"open", false, []Kind{String, Int, Uint}, "types with constants", "other values than the constants of the type are allowed"},
	{"enum", true, []Kind{String, Int, Uint}, "strings and integers", "the values that are allowed, with | between"},
	{"default", true, []Kind{String, Int, Uint, Float, Bool, Duration}, "single values", "the value where the argument is missing"},
	{"example", true, []Kind{String, Int, Uint, Float, Bool, Duration, Time, OwnText}, "single values", "a value for the description"},
}

// Formats returns the formats that the decoder checks.
func Formats() []string { return format.Names() }

// Word documents one word of the tag on an input field.
type Word struct{ Word, Doc string }

// TagWords returns the words of the tag, for references.
func TagWords() []Word {
	var out []Word
	for _, t := range terms {
		w := Word{Word: t.name, Doc: t.doc}
		if t.value {
			w.Word += "="
		}
		if t.what != "" {
			w.Doc += "; for " + t.what
		}
		out = append(out, w)
	}
	return out
}

// constrain applies the hook tag to the field; false if it is wrong.
func (b *builder) constrain(f *Field, field *types.Var, tag string) bool {
	c := &constraint{b: b, f: f, field: field, v: f.Value, ok: true}
	if f.Value.Kind == List {
		c.v = f.Value.Elem
	}
	list, err := argrules.Split(tag)
	if err != nil {
		c.refuse(diag.BadInputTag, err)
		return false
	}
	seen := map[string]bool{}
	for _, w := range list {
		if seen[w.Key] {
			c.refuse(diag.RepeatedConstraint, w.Key)
		}
		seen[w.Key] = true
		c.key = w.Key
		c.word(w)
	}
	// Defaults and examples are checked once all limits are known.
	for _, w := range list {
		if c.ok && (w.Key == "default" || w.Key == "example") {
			c.key = w.Key
			c.given(w)
		}
	}
	c.key = ""
	if seen["required"] && seen["default"] {
		c.refuse(diag.UnusedDefault)
	}
	if seen["open"] && seen["enum"] {
		c.refuse(diag.OpenAndEnum)
	}
	c.order()
	return c.ok
}

// constraint applies one tag. v is the constrained value: the field's, or that of a list's elements.
type constraint struct {
	b     *builder
	f     *Field
	field *types.Var
	v     *Value
	// key is the current word.
	key string
	ok  bool
}

// refuse reports a word of the tag that does not fit the field.
func (c *constraint) refuse(cause diag.Cause, facts ...any) {
	c.report(cause, c.field.Name(), facts...)
}

// refuseWord reports a word that fits no field: fields that share a tag have one problem.
func (c *constraint) refuseWord(cause diag.Cause, facts ...any) { c.report(cause, "", facts...) }

func (c *constraint) report(cause diag.Cause, subject string, facts ...any) {
	c.ok = false
	pos := token.NoPos
	if c.b.src.Word != nil && c.key != "" {
		pos = c.b.src.Word(c.field, c.key)
	}
	if !pos.IsValid() {
		pos = c.field.Pos()
	}
	c.b.report(cause, pos, subject, facts...)
}

func (c *constraint) word(w argrules.Word) {
	i := slices.IndexFunc(terms, func(t term) bool { return t.name == w.Key })
	if i < 0 {
		var names []string
		for _, k := range terms {
			names = append(names, k.name)
		}
		meant := diag.Closest(ours(w.Key), names)
		switch {
		case meant == "":
			c.refuseWord(diag.UnknownConstraint, w.Key, strings.Join(names, ", "))
		case w.HasValue:
			c.refuseWord(diag.MisspeltConstraint, w.Key, meant, meant+"="+w.Value)
		default:
			c.refuseWord(diag.MisspeltConstraint, w.Key, meant, meant)
		}
		return
	}
	known := terms[i]
	kind := c.v.Kind
	if known.what == "lists" || known.name == "default" || known.name == "example" {
		kind = c.f.Value.Kind
	}
	switch {
	case known.value && w.Value == "" && w.Key != "default" && w.Key != "example":
		c.refuseWord(diag.ConstraintNoValue, w.Key)
	case !known.value && w.HasValue:
		c.refuseWord(diag.ConstraintValue, w.Key)
	case known.kinds != nil && !slices.Contains(known.kinds, kind):
		c.refuse(diag.ConstraintKind, w.Key, known.what, c.b.name(c.field.Type()))
	case c.v.Quoted && (w.Key == "min" || w.Key == "max" || w.Key == "enum"):
		c.refuse(diag.ConstraintOnQuoted, w.Key)
	default:
		c.set(w)
	}
}

// ours returns the word for a keyword of JSON Schema.
func ours(word string) string {
	word = strings.ToLower(word)
	for _, pair := range [][2]string{{"minlength", "minlen"}, {"maxlength", "maxlen"}, {"minimum", "min"}, {"maximum", "max"}, {"examples", "example"}} {
		if word == pair[0] {
			return pair[1]
		}
	}
	return word
}

func (c *constraint) set(w argrules.Word) {
	l := &c.v.Limits
	switch w.Key {
	case "required":
		c.f.Required = true
	case "description":
		if c.f.Doc == "" {
			c.f.Doc = origin.Text(w.Value)
		}
	case "open":
		if len(c.v.Enum) == 0 {
			c.refuse(diag.OpenNoConstants, c.b.name(c.field.Type()))
		}
		c.v.Enum = nil
	case "minlen":
		l.MinLen = c.count(w)
	case "maxlen":
		l.MaxLen = c.count(w)
	case "min":
		l.Min = c.number(w)
	case "max":
		l.Max = c.number(w)
	case "minitems":
		c.f.Value.MinItems = c.count(w)
	case "maxitems":
		c.f.Value.MaxItems = c.count(w)
	case "pattern":
		l.Pattern = c.pattern(w.Value)
	case "format":
		l.Format = w.Value
		if !slices.Contains(Formats(), w.Value) {
			if meant := diag.Closest(w.Value, Formats()); meant != "" {
				c.refuseWord(diag.MisspeltFormat, w.Value, meant)
			} else {
				c.refuseWord(diag.UnknownFormat, w.Value, strings.Join(Formats(), ", "))
			}
		}
	case "enum":
		c.enum(w)
	}
}
