package schema

import (
	"regexp"
	"strings"
)

// matches reports whether a pattern that is known to compile is found in the text.
func matches(pattern, text string) bool {
	re, err := regexp.Compile(pattern)
	return err == nil && re.MatchString(text)
}

// goOnly returns the first part of a pattern that Go's regular expressions and those of JSON Schema (ECMA-262) do not read alike,
// or "". What only ECMA-262 has does not compile here in the first place.
func goOnly(text string) string {
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
