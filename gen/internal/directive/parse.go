package directive

import (
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/internal/spell"
)

// parse parses a line //hook:….
func parse(line ast.Directive) (Directive, []problem) {
	d := Directive{Verb: line.Name, Pos: line.Slash}
	v, ok := verbOf(line.Name)
	if !ok {
		return d, []problem{unknownVerb(line)}
	}
	target := v.target(&d)
	if takesRest(target) {
		target.Field(0).SetString(strings.TrimSpace(line.Args))
		o := options{verb: v.name, line: line, into: target}
		o.missing(line)
		return d, o.problems
	}
	args, err := line.ParseArgs()
	if err != nil {
		return d, []problem{{cause: diag.UnreadableOptions, pos: line.ArgsPos, end: line.End(), verb: v.name, facts: []any{err}}}
	}
	d.Args = args
	o := options{verb: v.name, line: line, into: target, seen: map[string]bool{}}
	for _, a := range args {
		o.word(a)
	}
	o.missing(line)
	return d, o.problems
}

// takesRest reports whether the directive takes the rest of its line as one argument.
func takesRest(into reflect.Value) bool {
	return into.NumField() == 1 && into.Type().Field(0).Tag.Get("option") == "…rest"
}

func unknownVerb(line ast.Directive) problem {
	p := problem{cause: diag.UnknownDirective, pos: line.Slash, verb: line.Name, facts: []any{strings.Join(Verbs(), ", ")}}
	word, rest := line.Name, ""
	if i := strings.IndexFunc(line.Name, func(r rune) bool { return r < 'a' || r > 'z' }); i > 0 {
		word, rest = line.Name[:i], strings.Trim(line.Name[i:], ",;:()=-./ ")
	}
	if c := spell.Closest(word, Verbs()); c != "" {
		words := strings.TrimSpace(c + " " + rest)
		p.cause, p.facts = diag.MisspeltDirective, []any{words, strings.TrimSpace("//hook:" + words + " " + line.Args)}
		p.edit = edit{line.Slash + token.Pos(len("//hook:")), len(line.Name), words}
	}
	return p
}

// options sets the fields of a grammar struct from the words of a directive.
type options struct {
	verb     string
	line     ast.Directive
	into     reflect.Value
	seen     map[string]bool
	problems []problem
}

func (o *options) word(a ast.DirectiveArg) {
	key, value, hasValue := strings.Cut(a.Arg, "=")
	if field, ok := o.named(key); ok {
		if o.seen[key] {
			o.report(diag.RepeatedOption, a, key)
			return
		}
		o.seen[key] = true
		o.set(a, field, key, value, hasValue)
		return
	}
	if !hasValue && o.positional(a) {
		return
	}
	o.unknown(a, key)
}

// unknown reports a word that is no option, and suggests the closest one.
func (o *options) unknown(a ast.DirectiveArg, key string) {
	names := o.names()
	meant := spell.Closest(key, names)
	switch {
	case len(names) == 0:
		o.report(diag.UnexpectedOption, a, key)
	case meant == "":
		o.report(diag.UnknownOption, a, key, strings.Join(names, ", "))
	default:
		args := o.line.Args
		if at := int(a.Pos - o.line.ArgsPos); at >= 0 && at+len(key) <= len(args) && args[at:at+len(key)] == key {
			args = args[:at] + meant + args[at+len(key):]
		}
		o.report(diag.MisspeltOption, a, key, meant, "//hook:"+o.verb+" "+args).edit = o.replace(a, key, meant)
	}
}

func (o *options) named(key string) (reflect.Value, bool) {
	for i := range o.into.NumField() {
		if o.into.Type().Field(i).Tag.Get("option") == key && !strings.HasPrefix(key, "…") {
			return o.into.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// names returns the valid options, and the words of the next free position.
func (o *options) names() []string {
	var names []string
	for i := range o.into.NumField() {
		tag := o.into.Type().Field(i).Tag
		switch name := tag.Get("option"); {
		case !strings.HasPrefix(name, "…"):
			names = append(names, name)
		case name == "…word" && o.into.Field(i).String() == "":
			return append(names, strings.Fields(tag.Get("oneof"))...)
		}
	}
	return names
}

func (o *options) set(a ast.DirectiveArg, field reflect.Value, key, value string, hasValue bool) {
	if field.Kind() == reflect.Bool {
		if hasValue {
			o.report(diag.UnwantedValue, a, key).edit = o.replace(a, a.Arg, key)
			return
		}
		field.SetBool(true)
		return
	}
	if value == "" {
		o.report(diag.MissingValue, a, key)
		return
	}
	switch field.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			o.report(diag.NoDuration, a, key, value)
			return
		}
		field.SetInt(int64(d))
	case int:
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			o.report(diag.NoNumber, a, key, value)
			return
		}
		field.SetInt(int64(n))
	case []string:
		field.Set(reflect.ValueOf(strings.Split(value, ",")))
	default:
		if words := o.words(key); len(words) > 0 && !slices.Contains(words, value) {
			o.report(diag.NoWord, a, key, value, strings.Join(words, ", "), key+"="+words[0])
			return
		}
		field.SetString(value)
	}
}

// words returns the values that an option may have; none if it may have any.
func (o *options) words(key string) []string {
	for i := range o.into.NumField() {
		if tag := o.into.Type().Field(i).Tag; tag.Get("option") == key {
			return strings.Fields(tag.Get("oneof"))
		}
	}
	return nil
}

// positional stores a word that is no option in the first free position that accepts it.
func (o *options) positional(a ast.DirectiveArg) bool {
	for i := range o.into.NumField() {
		field, tag := o.into.Field(i), o.into.Type().Field(i).Tag
		switch tag.Get("option") {
		case "…args":
			field.Set(reflect.Append(field, reflect.ValueOf(a.Arg)))
			return true
		case "…word":
			if field.String() == "" && slices.Contains(strings.Fields(tag.Get("oneof")), a.Arg) {
				field.SetString(a.Arg)
				return true
			}
			if field.String() == "" {
				return false
			}
		}
	}
	return false
}

// missing reports the first position without its word.
func (o *options) missing(line ast.Directive) {
	if len(o.problems) > 0 {
		return
	}
	for i := range o.into.NumField() {
		f := o.into.Type().Field(i)
		name := f.Tag.Get("option")
		if strings.HasPrefix(name, "…") && o.into.Field(i).IsZero() {
			p := problem{cause: diag.MissingArgument, pos: line.Slash, verb: o.verb, facts: []any{strings.ToLower(f.Name), f.Tag.Get("example")}}
			if words := strings.Fields(f.Tag.Get("oneof")); len(words) > 0 {
				p.cause, p.facts[1] = diag.MissingWord, strings.Join(words, ", ")
			}
			o.problems = append(o.problems, p)
			return
		}
	}
}

// replace returns the edit that replaces the beginning of an option; none if the option is quoted.
func (o *options) replace(a ast.DirectiveArg, old, text string) edit {
	if at := int(a.Pos - o.line.ArgsPos); at < 0 || at > len(o.line.Args) || !strings.HasPrefix(o.line.Args[at:], a.Arg) {
		return edit{}
	}
	return edit{a.Pos, len(old), text}
}

// report reports an option. The result is valid until the next one is reported.
func (o *options) report(cause diag.Cause, a ast.DirectiveArg, facts ...any) *problem {
	o.problems = append(o.problems, problem{cause: cause, pos: a.Pos, end: o.end(a), verb: o.verb, facts: facts})
	return &o.problems[len(o.problems)-1]
}

// end returns the end of an option, quotes included.
func (o *options) end(a ast.DirectiveArg) token.Pos {
	text := o.line.Args[a.Pos-o.line.ArgsPos:]
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		return a.Pos + token.Pos(len(quoted))
	}
	return a.Pos + token.Pos(len(a.Arg))
}
