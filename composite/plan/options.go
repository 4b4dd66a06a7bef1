package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Tag returns the options in the form of a hook tag.
func (o Options) Tag() string {
	var words []string
	flag := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	flag(o.Ignore, "-")
	flag(o.Optional, "optional")
	flag(o.Dynamic, "dynamic")
	flag(o.Prefix != "", "prefix="+o.Prefix)
	for _, list := range []struct {
		word   string
		fields []string
	}{{"before", o.Before}, {"after", o.After}, {"requires", o.Requires}} {
		for _, f := range list.fields {
			words = append(words, list.word+"="+f)
		}
	}
	if o.Order != nil {
		words = append(words, "order="+strconv.Itoa(*o.Order))
	}
	flag(len(o.Only) > 0, "only="+strings.Join(o.Only, "|"))
	flag(len(o.Without) > 0, "without="+strings.Join(o.Without, "|"))
	for _, m := range o.Match {
		words = append(words, "match="+m.String())
	}
	parts := []string{strings.Join(words, ",")}
	for _, u := range o.Points {
		if text := u.Options(); text != "" {
			parts = append(parts, u.Name+": "+text)
		}
	}
	return strings.Join(parts, "; ")
}

// Check returns the problems that a tag with the same options would have. points are all
// known points.
func (o Options) Check(points []Point) []Problem {
	tag := o.Tag()
	read, problems := ParseTag(tag, points)
	if len(problems) == 0 && !reflect.DeepEqual(read.plain(), o.plain()) {
		p := problem("the options cannot be written as the tag %q", tag)
		p.Fix = "leave out commas, semicolons, bars and blanks, and what is given twice"
		problems = []Problem{p}
	}
	return problems
}

// plain returns o in the form that parsing a tag gives: without empty lists, the kinds of
// points, and points without a policy.
func (o Options) plain() Options {
	for _, list := range []*[]string{&o.Before, &o.After, &o.Requires, &o.Only, &o.Without} {
		*list = append([]string(nil), *list...)
	}
	o.Match = append([]Pattern(nil), o.Match...)
	var said []PointUse
	for _, u := range o.Points {
		u.Kind = ""
		if u != (PointUse{Name: u.Name}) {
			said = append(said, u)
		}
	}
	o.Points, o.off, o.on = said, false, false
	return o
}

// Check returns the problems of the layer's settings, like [Options.Check].
func (l Layer) Check(points []Point) []Problem {
	var out []Problem
	for _, s := range l.Settings {
		o := Options{Without: slices.Clone(s.Without), Points: s.Points}
		for _, p := range o.Check(points) {
			p.Message = fmt.Sprintf("%s: %s: %s", l.Source, s.Member, p.Message)
			out = append(out, p)
		}
	}
	return out
}
