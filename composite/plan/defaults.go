package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Defaults are a subsystem's default options for every field of its type. The field's tag
// overrides them.
type Defaults struct {
	// Order is that of the field; 0 is none.
	Order int
	// Requires, Before and After name types, with their package's name:
	// "memory.Memory". They apply to the fields of that type in a composite.
	Requires, Before, After []string
	// Points are the policies of single points.
	Points []PointUse
	// Version is that of the subsystem; 0 is 1. It changes with the meaning of what its
	// queued calls get.
	Version int
	// Accepts is the oldest version whose queued calls it still takes; 0 is Version.
	Accepts int
}

// Takes reports whether a subsystem with these defaults takes calls that were queued under
// the version; 0 is 1.
func (d Defaults) Takes(version int) bool {
	own := max(1, d.Version)
	oldest := own
	if d.Accepts > 0 {
		oldest = d.Accepts
	}
	version = max(1, version)
	return oldest <= version && version <= own
}

var typeRef = regexp.MustCompile(`^[A-Za-z_]\w*\.[A-Z]\w*$`)

// ParseDefaults parses the options of //hook:subsystem, separated by blanks, as String
// writes them. It ignores unknown words, which belong to the generator.
func ParseDefaults(text string, points []Point) (Defaults, []Problem) {
	var d Defaults
	t := parser{points: points}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		list := strings.Split(value, ",")
		switch name {
		case "order":
			d.Order, _ = strconv.Atoi(value)
		case "version":
			d.Version = t.version(word, value)
		case "accepts":
			d.Accepts = t.version(word, value)
		case "requires", "before", "after":
			for _, ref := range list {
				if !typeRef.MatchString(ref) {
					t.add(&Problem{Code: "HG008", Word: word, Message: fmt.Sprintf("%s wants types, got %q", name, ref), Fix: name + "=memory.Memory"})
				}
			}
			to := map[string]*[]string{"requires": &d.Requires, "before": &d.Before, "after": &d.After}[name]
			*to = append(*to, list...)
		case "timeout":
			for _, entry := range list {
				point, limit, some := strings.Cut(entry, ":")
				if !some {
					t.add(&Problem{Code: "HG008", Word: word, Message: fmt.Sprintf("timeout=%s names no point", entry), Fix: "timeout=BeforeTool:2m"})
					continue
				}
				t.point(point, "timeout="+limit)
			}
		case "failopen", "failclosed":
			for _, point := range list {
				t.point(point, name)
			}
		}
	}
	if d.Accepts > max(1, d.Version) {
		t.add(&Problem{Code: "HG008", Word: "accepts=" + strconv.Itoa(d.Accepts), Message: fmt.Sprintf(
			"accepts=%d is newer than the version of the subsystem, %d", d.Accepts, max(1, d.Version)), Fix: "set version= to the newer one"})
	}
	d.Points = t.options.Points
	return d, t.problems
}

// version parses a version, a number from 1.
func (t *parser) version(word, value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxVersion {
		t.add(&Problem{Code: "HG008", Word: word, Message: fmt.Sprintf("%s is no version: versions are numbers from 1 to %d", word, maxVersion), Fix: "version=2"})
		return 0
	}
	return n
}

// maxVersion is the highest version of a subsystem.
const maxVersion = 1_000_000

// String writes the defaults in the form of //hook:subsystem, "" for none.
func (d Defaults) String() string {
	var out []string
	add := func(name string, list []string) {
		if len(list) > 0 {
			out = append(out, name+"="+strings.Join(list, ","))
		}
	}
	if d.Order != 0 {
		out = append(out, "order="+strconv.Itoa(d.Order))
	}
	if d.Version != 0 {
		out = append(out, "version="+strconv.Itoa(d.Version))
	}
	if d.Accepts != 0 {
		out = append(out, "accepts="+strconv.Itoa(d.Accepts))
	}
	add("requires", d.Requires)
	add("before", d.Before)
	add("after", d.After)
	var timeouts, open, closed []string
	for _, u := range d.Points {
		if u.Timeout != 0 {
			timeouts = append(timeouts, u.Name+":"+u.Timeout.String())
		}
		switch u.Policy {
		case "failopen":
			open = append(open, u.Name)
		case "failclosed":
			closed = append(closed, u.Name)
		}
	}
	add("timeout", timeouts)
	add("failopen", open)
	add("failclosed", closed)
	return strings.Join(out, " ")
}

// Over returns the options of a field of the subsystem's type: those of the tag, with the
// defaults for options that the tag does not set.
func (o Options) Over(d Defaults) Options {
	if o.Order == nil && d.Order != 0 {
		o.Order = &d.Order
	}
	o.Points = slices.Clone(o.Points)
	for _, use := range d.Points {
		if o.Excludes(use.Name) {
			continue
		}
		i := slices.IndexFunc(o.Points, func(u PointUse) bool { return u.Name == use.Name })
		if i < 0 {
			o.Points = append(o.Points, use)
			continue
		}
		o.Points[i] = o.Points[i].over(use)
	}
	return o
}

// related resolves the types in defaults to fields. A tag of either field overrides before
// and after; requirements add up.
func related(specs []Spec) ([]Spec, []Problem) {
	var problems []Problem
	out := slices.Clone(specs)
	at, behind := index(specs), reachable(specs)
	for i, s := range specs {
		o := &out[i].Options
		for _, f := range fieldsOf(specs, i, s.Defaults.Before) {
			if !behind[at[f]][i] && !slices.Contains(o.Before, f) {
				o.Before = append(slices.Clone(o.Before), f)
			}
		}
		for _, f := range fieldsOf(specs, i, s.Defaults.After) {
			if !behind[i][at[f]] && !slices.Contains(o.After, f) {
				o.After = append(slices.Clone(o.After), f)
			}
		}
		for _, ref := range s.Defaults.Requires {
			fields := fieldsOf(specs, i, []string{ref})
			if len(fields) == 0 {
				problems = append(problems, Problem{Code: "HG028", Fields: []string{s.Field},
					Message: fmt.Sprintf("%s requires a field of type %s, which the composite does not have", s.Field, ref),
					Fix:     fmt.Sprintf("add a field of type %s, or take %s out", ref, s.Field)})
				continue
			}
			needed := fields[0]
			for _, f := range fields {
				if !specs[at[f]].Options.Optional {
					needed = f
					break
				}
			}
			if !slices.Contains(o.Requires, needed) {
				o.Requires = append(slices.Clone(o.Requires), needed)
			}
		}
	}
	return out, problems
}

func fieldsOf(specs []Spec, self int, refs []string) []string {
	var out []string
	for i, s := range specs {
		if i != self && slices.Contains(refs, strings.TrimPrefix(s.Type, "*")) {
			out = append(out, s.Field)
		}
	}
	return out
}
