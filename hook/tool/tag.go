package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/grapnel-go/grapnel/composite/args"
	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/internal/argrules"
	"github.com/grapnel-go/grapnel/internal/format"
)

// limit is one end of a range: the text of the tag and its value.
type limit struct {
	text string
	n    float64
}

// terms maps each word of the tag to the kinds that allow it; nil allows all.
var terms = map[string][]kind{
	"required": nil, "description": nil,
	"minlen": {text, ownText}, "maxlen": {text, ownText}, "pattern": {text, ownText}, "format": {text, ownText},
	"min": {number}, "max": {number}, "minitems": {list}, "maxitems": {list},
	"open": {text, number}, "enum": {text, number},
	"default": {text, number, boolean, duration},
	"example": {text, number, boolean, duration, moment, ownText},
}

func (f *field) constrain(tag string) error {
	words, err := argrules.Split(tag)
	if err != nil {
		return fmt.Errorf("hook tag: %w", err)
	}
	seen := map[string]bool{}
	for _, w := range words {
		if seen[w.Key] {
			return fmt.Errorf("%s stands twice in the hook tag", w.Key)
		}
		seen[w.Key] = true
		if err := f.word(w); err != nil {
			return fmt.Errorf("%s: %w", w.Key, err)
		}
	}
	switch {
	case seen["required"] && seen["default"]:
		return errors.New("it is required, so its default is never used")
	case seen["open"] && seen["enum"]:
		return errors.New("open and enum say opposite things")
	}
	if err := f.limited().parseEnum(); err != nil {
		return err
	}
	if !f.inOrder() {
		return errors.New("the limits leave no value: the least is more than the most")
	}
	for _, w := range words { // last, because both must keep all limits
		if err := f.setDefaultOrExample(w); err != nil {
			return fmt.Errorf("%s: %w", w.Key, err)
		}
	}
	return nil
}

// limited returns the value to which limits apply: the field's, or the elements of its list.
func (f *field) limited() *value {
	if f.value.kind == list {
		return f.value.elem
	}
	return f.value
}

func (f *field) word(w argrules.Word) error {
	kinds, known := terms[w.Key]
	v := f.limited()
	if strings.HasSuffix(w.Key, "items") || w.Key == "default" || w.Key == "example" {
		v = f.value
	}
	switch {
	case !known:
		return errors.New("there is no such word; hookgen explain HG033 lists them")
	case w.HasValue && (w.Key == "required" || w.Key == "open"):
		return errors.New("it takes no value")
	case !w.HasValue && w.Key != "required" && w.Key != "open":
		return errors.New("its value is missing")
	case w.Value == "" && w.HasValue && w.Key != "default" && w.Key != "example":
		return errors.New("the value is empty")
	case kinds != nil && !slices.Contains(kinds, v.kind):
		return fmt.Errorf("it is not for %s", v.typ)
	case v.quoted && (w.Key == "min" || w.Key == "max" || w.Key == "enum"):
		return errors.New("it is for numbers, not for those in quotes")
	case (w.Key == "open" || w.Key == "enum") && v.schema.Type == "number":
		return fmt.Errorf("it is for strings and integers, not for %s", v.typ)
	}
	return f.set(v, w)
}

func (f *field) set(v *value, w argrules.Word) (err error) {
	switch s := v.schema; w.Key {
	case "required":
		f.required = true
	case "description":
		f.value.schema.Description = w.Value
	case "minlen":
		s.MinLength, err = count(w.Value)
	case "maxlen":
		s.MaxLength, err = count(w.Value)
	case "minitems":
		s.MinItems, err = count(w.Value)
	case "maxitems":
		s.MaxItems, err = count(w.Value)
	case "min":
		v.min, s.Minimum, err = v.limit(w.Value)
	case "max":
		v.max, s.Maximum, err = v.limit(w.Value)
	case "pattern":
		s.Pattern = w.Value
		v.pattern, err = regexp.Compile(w.Value)
		if bad := argrules.GoOnly(w.Value); err == nil && bad != "" {
			err = fmt.Errorf("%s means something else in the regular expressions of JSON Schema, or nothing", bad)
		}
	case "format":
		if s.Format = w.Value; !slices.Contains(format.Names(), w.Value) {
			err = fmt.Errorf("the formats are %s", strings.Join(format.Names(), ", "))
		}
	case "enum":
		v.enumTokens = strings.Split(w.Value, "|")
	}
	return err
}

func count(text string) (*int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("%q is no count of at least 0", text)
	}
	return &n, nil
}

// limit parses one end of a range, for the decoder and for the schema.
func (v *value) limit(text string) (*limit, *float64, error) {
	got, _, err := v.literal(text)
	if err != nil {
		return nil, nil, err
	}
	n, err := strconv.ParseFloat(text, 64)
	return &limit{text, asFloat(got)}, &n, err
}

// parseEnum parses the values of the enum. Call it after all limits are set: the values must keep them.
func (v *value) parseEnum() error {
	var enum []reflect.Value
	for _, token := range v.enumTokens {
		got, doc, err := v.literal(token)
		switch {
		case err != nil:
			return fmt.Errorf("enum: %w", err)
		case slices.ContainsFunc(enum, got.Equal):
			return fmt.Errorf("enum: %s stands twice", doc)
		}
		enum = append(enum, got)
		v.schema.Enum = append(v.schema.Enum, json.RawMessage(doc))
		v.schema.Minimum, v.schema.Maximum = nil, nil
	}
	v.enum = enum
	return nil
}

// setDefaultOrExample sets the default or the example, and ignores other words.
func (f *field) setDefaultOrExample(w argrules.Word) error {
	if w.Key != "default" && w.Key != "example" {
		return nil
	}
	got, doc, err := f.value.literal(w.Value)
	switch {
	case err != nil:
		return err
	case w.Key == "example":
		f.value.schema.Examples = []any{json.RawMessage(doc)}
	case f.value.null:
		return errors.New("a pointer has none: nil means that the argument is absent")
	default:
		f.fallback, f.required, f.value.schema.Default = got, false, json.RawMessage(doc)
	}
	return nil
}

// literal parses the text of a tag with the decoder of arguments. It returns the Go value and
// the JSON.
func (v *value) literal(text string) (got reflect.Value, doc string, err error) {
	doc = text
	quoted := v.quoted || v.kind != number && v.kind != boolean
	if quoted {
		b, err := json.Marshal(text)
		if err != nil {
			return got, "", err
		}
		doc = string(b)
	}
	member := message.JSON(`{"value":` + doc + `}`)
	d := args.New(hook.NewToolCall(hook.ToolCallData{Args: member}), "")
	got = reflect.New(v.typ).Elem()
	plain := *v
	plain.null = false
	o := d.Object()
	for o.Next() {
		o.Once(0)
		plain.read(&d, got)
	}
	inv := d.Bind(nil)
	switch {
	case inv.Err() != nil:
		return got, doc, fmt.Errorf("%q does not fit the field: it %s", text, inv.Err().Reason)
	case !quoted && inv.Args() != member:
		return got, doc, fmt.Errorf("%q has blanks around it", text)
	}
	return got, doc, nil
}

// inOrder reports whether no minimum exceeds its maximum.
func (f *field) inOrder() bool {
	crossed := func(low, high *int) bool { return low != nil && high != nil && *high < *low }
	l := f.limited().schema
	return !crossed(l.MinLength, l.MaxLength) && !crossed(f.value.schema.MinItems, f.value.schema.MaxItems)
}
