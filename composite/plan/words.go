package plan

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Word documents one word of the tag.
type Word struct {
	Word, Doc string
	// Point: the word belongs after a point.
	Point bool
}

// Words returns the grammar of the tag, for references and error messages.
func Words() []Word {
	var out []Word
	for _, w := range fieldWords() {
		out = append(out, Word{w.written(), w.doc, false})
	}
	for _, w := range pointWords() {
		out = append(out, Word{w.written(), w.doc, true})
	}
	return out
}

// word declares one word. The parser and the references use the tables below.
type word[T any] struct {
	name, doc string
	// example is a value; "" for a word without one.
	example string
	// set applies the value, or returns its problem.
	set func(to *T, value string) *Problem
}

func (w word[T]) written() string {
	if w.example != "" {
		return w.name + "="
	}
	return w.name
}

func fieldWords() []word[Options] {
	return []word[Options]{
		{"-", "the field is no member", "", flag(func(o *Options) *bool { return &o.Ignore })},
		{"optional", "the field may be nil", "", flag(func(o *Options) *bool { return &o.Optional })},
		{"dynamic", "the member's tools are known only at run time", "", flag(func(o *Options) *bool { return &o.Dynamic })},
		{"prefix", "is put in front of the member's tool names", "users_", setPrefix},
		{"before", "comes before the named field, or with * before all others", "Memory", list(func(o *Options) *[]string { return &o.Before })},
		{"after", "comes after the named field", "Memory", list(func(o *Options) *[]string { return &o.After })},
		{"requires", "the named field must be there", "Memory", list(func(o *Options) *[]string { return &o.Requires })},
		{"order", "a number, lower first, 100 by default", "50", setOrder},
		{"only", "the member is called only at these points, A|B", "BeforeTool|AfterTool", set(func(o *Options) *[]string { return &o.Only })},
		{"without", "the member is not called at these points, A|B", "OnEvent", set(func(o *Options) *[]string { return &o.Without })},
		{"match", "the member is called only if the place matches: tool:mcp__*|bash, and likewise " + matchKinds(), "tool:mcp__*", setMatch},
	}
}

func pointWords() []word[PointUse] {
	mode := func(name string) func(*PointUse, string) *Problem {
		return either(name, "mode", func(u *PointUse) *string { return &u.Mode })
	}
	policy := func(name string) func(*PointUse, string) *Problem {
		return either(name, "fail policy", func(u *PointUse) *string { return &u.Policy })
	}
	return []word[PointUse]{
		{"failopen", "a failure at this point counts as no opinion", "", policy("failopen")},
		{"failclosed", "a failure at this point blocks", "", policy("failclosed")},
		{"timeout", "how long the member may take, 800ms or 2m, or none for no limit; then the fail policy applies, or at an observer or a wrap its context ends", "2m", setTimeout},
		{"record", "the member runs in the background, one run after the other, until the runtime closes; the turn does not wait for it", "", mode("record")},
		{"background", "a stored job calls the member later: in the next process if this one dies, and again if it fails", "", mode("background")},
		{"parallel", "the member runs concurrently with those after it at the point", "", mode("parallel")},
		{"visibility", "who may see the runs: internal, debug, audit or user", "audit", setVisibility},
	}
}

func names[T any](table []word[T]) []string {
	var out []string
	for _, w := range table {
		out = append(out, w.name)
	}
	return out
}

func find[T any](table []word[T], name string) (word[T], bool) {
	i := slices.IndexFunc(table, func(w word[T]) bool { return w.name == name })
	if i < 0 {
		return word[T]{}, false
	}
	return table[i], true
}

func matchKinds() string {
	var kinds []string
	for _, a := range attributes()[1:] {
		kinds = append(kinds, a.kind)
	}
	return strings.Join(kinds, ", ")
}

func flag(at func(*Options) *bool) func(*Options, string) *Problem {
	return func(o *Options, _ string) *Problem {
		*at(o) = true
		return nil
	}
}

func list(at func(*Options) *[]string) func(*Options, string) *Problem {
	return func(o *Options, value string) *Problem {
		*at(o) = append(*at(o), value)
		return nil
	}
}

// set takes names joined by |.
func set(at func(*Options) *[]string) func(*Options, string) *Problem {
	return func(o *Options, value string) *Problem {
		for name := range strings.SplitSeq(value, "|") {
			if name = strings.TrimSpace(name); !slices.Contains(*at(o), name) {
				*at(o) = append(*at(o), name)
			}
		}
		return nil
	}
}

// either sets one of several words that exclude each other.
func either(name, what string, at func(*PointUse) *string) func(*PointUse, string) *Problem {
	return func(u *PointUse, _ string) *Problem {
		if had := *at(u); had != "" {
			p := Problem{Code: "HG046", Word: name}
			p.Message, p.Fix = u.Name+" has the "+what+" "+had+" and also "+name, "drop one of them"
			return &p
		}
		*at(u) = name
		return nil
	}
}

func setPrefix(o *Options, value string) *Problem {
	switch {
	case !validTool(value):
		p := problem("prefix %q: only letters, digits, _ and - can stand in a tool name", value)
		p.Word, p.Fix = "prefix="+value, "prefix=users_"
		return &p
	case o.Prefix != "":
		return one(twice("prefix", "the field", o.Prefix, value))
	}
	o.Prefix = value
	return nil
}

func setOrder(o *Options, value string) *Problem {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		p := problem("order wants a number, got %q", value)
		p.Word = value
		return &p
	case o.Order != nil:
		return one(twice("order", "the field", strconv.Itoa(*o.Order), value))
	}
	o.Order = &n
	return nil
}

func setMatch(o *Options, value string) *Problem {
	patterns, p := parseMatch(value)
	for _, pattern := range patterns {
		if !slices.Contains(o.Match, pattern) {
			o.Match = append(o.Match, pattern)
		}
	}
	return p
}

func setTimeout(u *PointUse, value string) *Problem {
	d, err := time.ParseDuration(value)
	if value == noTimeout {
		d, err = time.Duration(NoTimeout), nil
	}
	switch {
	case err != nil || d <= 0 && value != noTimeout:
		p := problem("timeout wants a duration, got %q", value)
		p.Word, p.Fix = "timeout="+value, "timeout=2m"
		if _, bare := strconv.ParseUint(value, 10, 32); err == nil && d == 0 {
			p.Fix = "timeout=" + noTimeout
		} else if bare == nil {
			p.Fix = "timeout=" + value + "s"
		}
		return &p
	case u.Timeout != 0:
		return one(twice("timeout", u.Name, u.Timeout.String(), value))
	}
	u.Timeout = Duration(d)
	return nil
}

func setVisibility(u *PointUse, value string) *Problem {
	all := []string{"internal", "debug", "audit", "user"}
	switch {
	case !slices.Contains(all, value):
		p := unknownWord(value, all)
		p.Message = "visibility is " + strings.Join(all, ", ") + ", not \"" + value + "\""
		p.Word = "visibility=" + value
		return &p
	case u.Visibility != "":
		return one(twice("visibility", u.Name, u.Visibility, value))
	}
	u.Visibility = value
	return nil
}

func twice(word, of, first, second string) Problem {
	return Problem{
		Code: "HG046", Word: word + "=" + second, Fix: "drop one of them",
		Message: of + " has " + word + "=" + first + " and also " + word + "=" + second,
	}
}
