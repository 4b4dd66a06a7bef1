package sensitive

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Class is what a finding is about.
type Class string

// The classes.
const (
	Secret   Class = "secret"
	Personal Class = "personal"
)

// Finding is a place in a text: its bytes from Start to End.
type Finding struct {
	Start, End int
	Class      Class
	// Kind names the form: "github-token", "email".
	Kind string
}

// Marker is what stands in the place of the finding in a masked text.
func (f Finding) Marker() string { return "[" + string(f.Class) + ": " + f.Kind + "]" }

// Options say what a [Detector] finds. The zero value finds secrets.
type Options struct {
	// Personal finds personal data as well.
	Personal bool
	// Without are kinds that are not looked for.
	Without []string
}

// Detector finds secrets and personal data. It is safe for concurrent use.
type Detector struct {
	o Options
	// at has the families by the first byte of their beginnings.
	at    [256][]start
	inner []infix
}

type start struct {
	begin, kind string
	rest        *regexp.Regexp
}

type infix struct {
	has, kind string
	form      *regexp.Regexp
	most      int
}

// compiled are the families, compiled once.
var compiled = sync.OnceValues(func() (starts []start, inside []infix) {
	for _, f := range families {
		rest := regexp.MustCompile(`^(?:` + f.rest + `)`)
		for _, begin := range f.begins {
			starts = append(starts, start{begin, f.name, rest})
		}
	}
	for _, f := range inner {
		inside = append(inside, infix{f.has, f.name, regexp.MustCompile(f.form), f.most})
	}
	return starts, inside
})

// New returns a detector; nil is the zero options.
func New(o *Options) *Detector {
	d := &Detector{}
	if o != nil {
		d.o = *o
	}
	starts, inside := compiled()
	for _, s := range starts {
		if d.wants(s.kind) {
			d.at[s.begin[0]] = append(d.at[s.begin[0]], s)
		}
	}
	for _, f := range inside {
		if d.wants(f.kind) {
			d.inner = append(d.inner, f)
		}
	}
	return d
}

func (d *Detector) wants(kind string) bool { return !slices.Contains(d.o.Without, kind) }

// Kinds returns the kinds that a detector can find, sorted.
func Kinds() []string {
	out := []string{kindKey, kindURL, kindHeader, kindAssigned}
	for _, f := range families {
		out = append(out, f.name)
	}
	for _, f := range inner {
		out = append(out, f.name)
	}
	out = append(out, personalKinds()...)
	slices.Sort(out)
	return slices.Compact(out)
}

// Find returns what there is in the text, in its order. Findings do not overlap.
func (d *Detector) Find(text string) []Finding {
	var out []Finding
	var key keyBlock
	for base := 0; base < len(text); {
		end := len(text)
		if i := strings.IndexByte(text[base:], '\n'); i >= 0 {
			end = base + i + 1
		}
		line, l := text[base:end], line{}
		for over := false; !over; {
			rest := line[l.at:]
			over = len(rest) <= part+longest
			for _, f := range l.next(d, &key, rest[:min(len(rest), part+longest)], over) {
				f.Start, f.End = f.Start+base, f.End+base
				out = append(out, f)
			}
		}
		base = end
	}
	return joined(out, text)
}

// joined joins the lines of one private key.
func joined(all []Finding, text string) []Finding {
	out := all[:0]
	for _, f := range all {
		if n := len(out) - 1; n >= 0 && f.Kind == kindKey && out[n].Kind == kindKey && f.Start == out[n].End && text[f.Start-1] == '\n' {
			out[n].End = f.End
			continue
		}
		out = append(out, f)
	}
	return out
}

// A line is looked at in parts of this size, each with what follows it up to longest, the bound of a finding.
const (
	longest = 10 << 10
	part    = 64 << 10
)

// line is how far a line was looked at.
type line struct {
	// at is where the next part begins, and from where the last finding ends; before is the byte before at.
	at, from int
	before   byte
}

// next returns the findings that begin in the next part of the line, by their place in it. s is the part with what
// follows; over says that the line ends with it.
func (l *line) next(d *Detector, key *keyBlock, s string, over bool) (out []Finding) {
	all := d.window(s, l.before)
	if l.at == 0 && d.wants(kindKey) {
		if f, ok := key.next(s); ok {
			all = slices.DeleteFunc(all, func(o Finding) bool { return o.Start < f.End && o.End > f.Start })
			i := slices.IndexFunc(all, func(o Finding) bool { return o.Start > f.Start })
			if i < 0 {
				i = len(all)
			}
			all = slices.Insert(all, i, f)
		}
	}
	for _, f := range all {
		f.Start, f.End = f.Start+l.at, f.End+l.at
		if f.Start >= l.from && (over || f.Start < l.at+part) {
			l.from = f.End
			out = append(out, f)
		}
	}
	if !over {
		l.at, l.before = l.at+part, s[part-1]
	}
	return out
}

// window returns the findings of a part of a line, in its order, none over another. Where several
// begin at one place, a secret counts before personal data, then the longest, then the first. before is the byte before it; 0 is none.
func (d *Detector) window(s string, before byte) []Finding {
	all := d.tokens(nil, s, before)
	all = d.inside(all, s)
	all = d.credentials(all, s)
	all = d.assigned(all, s)
	if d.o.Personal {
		all = d.personal(all, s)
	}
	if len(all) < 2 {
		return all
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Or(a.Start-b.Start, -cmp.Compare(a.Class, b.Class), b.End-a.End) })
	out := all[:1]
	for _, f := range all[1:] {
		if f.Start >= out[len(out)-1].End {
			out = append(out, f)
		}
	}
	return out
}

// tokens appends tokens that begin like one of a family.
func (d *Detector) tokens(out []Finding, s string, before byte) []Finding {
	tries, run := 0, 0
	for i := 0; i < len(s); i++ {
		if i == run { // the end of a run of what tokens are made of
			for run++; run < len(s) && inToken[s[run]]; run++ {
			}
			tries = 0
		}
		inWord := isWord[before]
		before = s[i]
		starts := d.at[s[i]]
		if len(starts) == 0 || inWord {
			continue
		}
		for _, f := range starts {
			rest, ok := strings.CutPrefix(s[i:], f.begin)
			if !ok {
				continue
			}
			if tries++; tries > maxTries {
				continue
			}
			if at := f.rest.FindStringIndex(rest[:min(len(rest), longest)]); at != nil && ends(rest, at[1]) {
				end := i + len(f.begin) + at[1]
				out = append(out, Finding{i, end, Secret, f.kind})
				i = end - 1
				before = s[i]
				break
			}
		}
	}
	return out
}

// maxTries is how many beginnings are looked at in one run of what tokens are made of: no more have a token behind them, and each costs
// the rest of the run.
const maxTries = 24

// inToken has the bytes that tokens are made of.
var inToken = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-_.+/=~:", byte(c)) >= 0
	}
	return t
}()

// inside appends tokens with a text of a family in their middle.
func (d *Detector) inside(out []Finding, s string) []Finding {
	for _, f := range d.inner {
		for at := 0; ; {
			i := strings.Index(s[at:], f.has)
			if i < 0 {
				break
			}
			at += i
			from, to := max(at-f.most, 0), min(at+len(f.has)+f.most, len(s))
			if m := f.form.FindStringIndex(s[from:to]); m != nil {
				if start, end := from+m[0], from+m[1]; (start == 0 || !isWord[s[start-1]]) && ends(s, end) {
					out = append(out, Finding{start, end, Secret, f.kind})
					at = max(at+len(f.has), end)
					continue
				}
			}
			at += len(f.has)
		}
	}
	return out
}

// isWord has the letters and digits, and no other bytes.
var isWord = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return t
}()

// ends reports whether a token can end there.
func ends(s string, at int) bool { return at == len(s) || !isWord[s[at]] && s[at] != '_' }

// Mask returns the text with a marker in the place of each finding.
func (d *Detector) Mask(text string) string {
	masked, _ := d.mask(text)
	return masked
}

func (d *Detector) mask(text string) (string, []Finding) {
	all := d.Find(text)
	if len(all) == 0 {
		return text, nil
	}
	var sb strings.Builder
	at := 0
	for _, f := range all {
		sb.WriteString(text[at:f.Start])
		sb.WriteString(f.Marker())
		at = f.End
	}
	sb.WriteString(text[at:])
	return sb.String(), all
}
