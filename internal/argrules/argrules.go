// Package argrules has the rules for arguments of tools that the generator and package hook/tool share: a struct of arguments means
// the same to both.
package argrules

import (
	"regexp"
	"strings"
)

const (
	// MaxDepth bounds the nesting of objects within the arguments.
	MaxDepth = 5
	// MaxFields bounds the names of one object: the decoder has a bit for each.
	MaxFields = 64
	// NamePattern matches the names of arguments that all providers accept.
	NamePattern = `^[a-zA-Z0-9_.-]{1,64}$`
)

// The forms of values that JSON has no type for.
const (
	DurationPattern = `^-?([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`
	IntegerPattern  = `^-?(0|[1-9][0-9]*)$`
	NaturalPattern  = `^(0|[1-9][0-9]*)$`
	NumberPattern   = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`
)

var name = regexp.MustCompile(NamePattern)

// ValidName reports whether an argument may have the name.
func ValidName(s string) bool { return name.MatchString(s) }

// GoOnly returns the first part of a pattern with different meanings in Go's regular expressions and in those of JSON Schema
// (ECMA-262), or "". Parts that only ECMA-262 has are not found: they do not compile in Go.
func GoOnly(text string) string {
	class := false
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch {
		case rest[0] == '\\':
			if strings.IndexByte(`dDwWbBtnrfv^$\.*+?()[]{}|/-`, rest[1]) < 0 {
				return rest[:2]
			}
			i++
		case class && rest[0] == ']':
			class = false
		case class && strings.HasPrefix(rest, "[:"):
			return "[:…:]"
		case class:
		case rest[0] == '[':
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return "] as the first of a class"
			}
			class = true
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return "(?" + rest[2:min(3, len(rest))] + "…)"
		}
	}
	return ""
}
