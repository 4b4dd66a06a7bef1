package message

import "strings"

// IsPattern reports whether a name in a list of names is a pattern: it has a *.
func IsPattern(name string) bool { return strings.Contains(name, "*") }

// ValidToolPattern reports whether name is a valid tool name or a pattern of such names:
// ^[a-zA-Z0-9_*-]{1,64}$.
func ValidToolPattern(name string) bool { return word(name, "_*-") }

// MatchName reports whether a name matches a pattern, in which each * stands for any text, also
// none. A pattern without * matches itself only. Case counts. It allocates nothing, and takes
// at most len(pattern) times len(name) steps.
func MatchName(pattern, name string) bool {
	p, n := 0, 0
	star, from := -1, 0 // the last * and where the text that it stands for ends so far
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p, n = p+1, n+1
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// MatchesAny reports whether a name matches one of the patterns.
func MatchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if MatchName(p, name) {
			return true
		}
	}
	return false
}
