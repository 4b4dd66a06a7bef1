package scaffold

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds the name of a package, which prefixes the names of its tools; these have at most 64 characters.
const maxName = 32

// maxTools bounds the number of tools; no model chooses well among more.
const maxTools = 128

var packageName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// NewSubsystem checks the names of the options. An error says which one is wrong, why, and what to write instead.
func NewSubsystem(o Options) (*Subsystem, error) {
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	s := &Subsystem{Name: o.Name, Type: upper(o.Name), Prefix: o.Name + "_", Dynamic: o.Dynamic}
	if len(o.Tools) > maxTools {
		return nil, fmt.Errorf("%d tools are too many: at most %d", len(o.Tools), maxTools)
	}
	if o.Dynamic && len(o.Tools) == 0 {
		return nil, fmt.Errorf("a dynamic subsystem wants tools that it starts with, to be replaced later: -dynamic -tools example")
	}
	for _, name := range o.Tools {
		t, err := s.tool(name)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(s.Tools, func(other Tool) bool {
			return other.Test == t.Test || other.Method == t.Method || other.Name == t.Name
		})
		if i >= 0 {
			return nil, fmt.Errorf("the tools %s and %s would both be the method %s: leave one out",
				Quote(s.Tools[i].Asked), Quote(name), t.Method)
		}
		s.Tools = append(s.Tools, t)
	}
	return s, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name of the subsystem is missing: hookgen new notes -tools add,list")
	case len(name) > maxName:
		return fmt.Errorf("the name %s has %d bytes, at most %d are allowed: it stands in front of every tool's name",
			Quote(name), len(name), maxName)
	case strings.ContainsAny(name, `/\`):
		return fmt.Errorf("%s is a path: write the name alone, and the directory behind -dir", Quote(name))
	case token.IsKeyword(name):
		return fmt.Errorf("%s is a keyword of Go and cannot be the name of a package", Quote(name))
	case types.Universe.Lookup(name) != nil:
		return fmt.Errorf("%s is predeclared in Go: a package of that name would hide it wherever it is imported", Quote(name))
	case reserved(name) != "":
		return fmt.Errorf("%s cannot be the name of the package: %s", Quote(name), reserved(name))
	case !packageName.MatchString(name):
		return fmt.Errorf("%s is not the name of a package: lower-case letters and digits, a letter first%s", Quote(name), instead(name))
	}
	return nil
}

// reserved says what a name means to the go command; "" for nothing.
func reserved(name string) string {
	switch name {
	case "main":
		return "package main is a program"
	case "documentation":
		return "the go command leaves a package of that name out"
	case "internal", "vendor", "testdata":
		return "the go command treats directories of that name in its own way"
	}
	return ""
}

// instead suggests a valid name; "" if there is none.
func instead(name string) string {
	kept := strings.Map(func(r rune) rune {
		if r = unicode.ToLower(r); r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return -1
	}, name)
	kept = strings.TrimLeft(kept, "0123456789")
	if len(kept) < 2 || checkName(kept) != nil {
		return ""
	}
	return "; " + kept + " would do"
}

func upper(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// Quote returns any text as one short, harmless word.
func Quote(name string) string {
	const most = 80
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return fmt.Sprintf("%+q", name)
}

// Hint warns about a name that is allowed but may confuse; "" for no warning.
func (s *Subsystem) Hint() string {
	if slices.Contains(standard(), s.Name) {
		return fmt.Sprintf("the standard library has a package %s too: whoever imports both gives one of them another name", s.Name)
	}
	return ""
}

// standard are the packages of the standard library that many programs import.
func standard() []string {
	return strings.Fields(`bufio builtin bytes cmp context crypto embed encoding errors expvar flag fmt hash heap html http image io
		iter json list log maps math mime net os path plugin rand reflect regexp ring runtime slices slog sort sql strconv strings
		structs sync syscall template testing text time unicode unique unsafe url user utf8 weak xml zip`)
}
